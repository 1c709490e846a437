"""Words for the relations between two things, by type of edge, in six languages, and the edge types that a text's words ask for.

The compile looks for statements only in texts that have such a word; a turn follows the edges that the words of its message
ask for. A `*` after a word means that any ending may follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from store.text.texts import fold

STATED: Final[Mapping[str, str]] = {
    "works_at": """work* employ* job* hired resign* retire* laid fired head* quit
        trabaj* trabalh* arbeit* wechselte kündigte gekündigt travaill* lavor* teach* taught start* began ceo cto cfo coo managing
        unterricht* gearbeitet geschäftsf* clases jubil* aulas reform* enseign* bosse retraite insegna*""",
    "located_in": """locat* localiz* situa* situé* based headquarter* encuentra* ubicad* queda* fica* liegt* befindet* steht
        trouve* trova* relocat* moved lies sits office* seat neighbo* district suburb quarter sede oficina sitz siège
        siege basé* implant* stadtteil ortsteil vorort""",
    "owns": """own* co-own* belong* sold dueñ* dono* dona* propri* propiet* coprop* comprop* miteig* mitbes* pertenec* pertence*
        besitz* eigent* gehör* possède* possiede*
        apparti*""",
    "authored": """wrote* writ* author* autor* auteur* autric* compos* publish* escri* escrev* compôs* schrieb*
        geschrieben verfass* komponier* écrit* scrit* scriss* novel""",
    "member_of": """member* plays* sings* drums* miembro* membro* mitglied* membre* soci* sóci* parte partie beigetreten
        ausgetreten""",
    "married_to": """marri* husband* wife* spouse* divorc* separated* casad* verheirat* marié* sposat* marido* mujer* mulher*
        mann* frau* mari* femme* marito* moglie* espos* épou* casó casou casaron casaram sposato geheiratet verheiratet scheid*
        ehe* geschieden""",
}
"""Words of statements of an edge, by edge type."""

ASKED: Final[Mapping[str, str]] = {
    "works_at": """work works worked working workplace employ* employer* job jobs company companies firm firms business office
        colleague* coworker* boss career shop store
        trabaja* trabajo trabajan empleo emplea emplean empleador* empleado empleada
        tienda negocio empresa empresas compañía oficina colega* jefe jefa
        trabalha* trabalho emprego emprega* loja negócio companhia escritório patrão chefe
        arbeite* arbeitsplatz arbeitgeber* firma unternehmen büro kolleg* angestellt* beschäftig* laden geschäft
        travaille* travail emploi emploie* employé* employeur* magasin boutique entreprise société bureau collègue*
        lavora* lavoro impiego impiega* negozio azienda ditta società ufficio collega colleghi""",
    "located_in": """where whereabouts located located situated based city cities town place country neighbourhood neighborhood
        dónde donde ciudad lugar encuentra queda ubicad* situad* barrio pueblo
        onde cidade lugar fica situa* localiza* bairro vila
        wo stadt ort liegt befindet steht gelegen viertel stadtteil dorf
        où ville lieu trouve situé* quartier village
        dove città luogo trova situat* quartiere paese""",
    "owns": """own owns owned owner owners owning belong belongs belonging possess* shop store business
        dueñ* propietari* pertenec* posee poseen tienda negocio
        dono dona donos donas proprietári* pertenc* possui loja negócio
        besitz* eigentümer* inhaber* gehör* laden geschäft
        possède* propriétaire* appart* magasin boutique
        possied* proprietari* appart* negozio""",
    "authored": """wrote write writes written writing writer author* compos* publish* book books novel* song* poem* article*
        escribió escribe escrib* escrito escrita escritor* autor autora libro libros novela* canción poema*
        escreveu escreve* escrit* livro livros romance* canção
        schrieb schreib* geschrieben verfass* autorin buch bücher roman romane lied gedicht
        écrit* écriv* auteur* livre livres chanson* poème*
        scritto scritta scrive scrisse autore autrice libri romanzo canzone poesia""",
    "member_of": """member* membership club clubs band bands choir team teams orchestra society group groups ensemble
        play plays sing sings belong belongs belonging
        miembro* socio socia coro banda equipo grupo conjunto pertenec* toca canta
        membro* sócio sócia clube equipa time pertenc*
        mitglied* verein vereine chor orchester mannschaft gruppe gehör* spielt singt
        membre* chorale équipe groupe appart* chante
        membri squadra gruppo appart* suona""",
    "married_to": """married marry marries husband* wife wives spouse* partner
        casad* casó casou casar marido mujer esposa esposo cónyuge
        mulher cônjuge
        verheiratet ehemann ehefrau mann frau gatte gattin
        mari femme époux épouse marié mariée
        marito moglie sposat* coniuge""",
    "mentions": """mention* mencion* erwähn* menziona*""",
    "derived_from": """derive* derived origin* deriva* stammt abgeleitet dérive*""",
}
"""Words of questions about an edge, by edge type. A word of several types asks for any of them."""

PLACE_QUESTIONS: Final = "where whereabouts dónde donde onde wo où dove"
"""Words that ask for a place, or for the object of the verb beside them: a company also answers “where does she work?”."""

PAST: Final = """
    used formerly former previously earlier once before ex antes antigu* anterior* solía früher ehemalig* vorher damals
    antig* costumava autrefois avant ancien* précédent* prima precedent*
"""
"""Words of questions about the past."""


def stems(types: Iterable[str] = STATED) -> tuple[str, ...]:
    """Return the beginnings of the words that state edges of the types, as written."""
    return tuple(word.rstrip("*") for kind in types for word in STATED[kind].split())


@lru_cache(maxsize=512)
def asked_types(words: tuple[str, ...]) -> Mapping[str, frozenset[int]]:
    """Return the types of edges that folded words ask for, each with the indexes of its words."""
    found = {kind: frozenset(_places(words, kind)) for kind in ASKED}
    return {kind: places for kind, places in found.items() if places}


def may_mean_another(word: str) -> bool:
    """Return whether a folded word for a place may also mean the relation of another word in the message."""
    return word in _PLACE_QUESTIONS


def asks_past(words: Sequence[str]) -> bool:
    """Return whether one of the folded words asks about the past."""
    return any(_matches(word, *_PAST) for word in words)


def _places(words: Sequence[str], kind: str) -> Iterable[int]:
    return (place for place, word in enumerate(words) if _matches(word, *_ASKED[kind]))


def _matches(word: str, whole: frozenset[str], beginnings: tuple[str, ...]) -> bool:
    return word in whole or word.startswith(beginnings)


def _split(words: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the folded whole words and beginnings of a list."""
    every = words.split()
    whole = frozenset(fold(word) for word in every if not word.endswith("*"))
    return whole, tuple(fold(word[:-1]) for word in every if word.endswith("*"))


_ASKED = {kind: _split(words) for kind, words in ASKED.items()}
_PAST = _split(PAST)
_PLACE_QUESTIONS, _ = _split(PLACE_QUESTIONS)
