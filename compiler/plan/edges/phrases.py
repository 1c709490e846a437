"""The phrases that state a typed edge between two names, by language: data only.

Each stands between a subject and an object as a whole. A flag says whether the object comes first (`<`), and whether the
statement is about the past (`†`). Phrases in the first person have the speaker as their subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from store.text.relations import stems


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a list, in which an underscore stands for a space."""
    return tuple(word.replace("_", " ") for word in text.split())


_ROLES = _words("""
    accountant analyst architect artist assistant baker barista bartender carpenter chef clerk coach consultant cook
    coordinator curator designer developer director doctor driver editor electrician engineer gardener intern instructor
    journalist lawyer lecturer librarian manager mechanic nurse paralegal pharmacist photographer physiotherapist pilot
    plumber postdoc principal producer professor programmer receptionist researcher scientist secretary surgeon teacher
    technician therapist translator veterinarian vet waiter waitress writer
""")
_PLACES = _words("""
    bakery bar beach bistro bookshop bookstore brewery bridge cafe café cathedral church cinema city clinic club district
    gallery garden gym hospital hostel hotel island lake library market monastery mountain museum neighborhood
    neighbourhood park port pub restaurant river school shop square stadium store street studio suburb tavern temple
    theater theatre town university valley village winery
""")
_WORKS = _words("""
    book novel song poem paper play article essay album piece screenplay memoir report
""")
_THINGS = _words("""
    bike bicycle boat camper car cat cello dog drone guitar horse house motorbike parrot piano puppy kitten rabbit
    sailboat truck turtle van violin
""")

_ROLE = rf"(?:[a-z]+ ){{0,3}}(?:{'|'.join(_ROLES)}|head of [a-z]+)"
_PLACE = rf"(?:[a-zà-ÿ-]+ ){{0,3}}(?:{'|'.join(_PLACES)})"
_THING = rf"(?:{'|'.join(_THINGS)})"
_WORK = rf"(?:{'|'.join(_WORKS)})"

# A text without a word that begins like this, or is one of the nouns, has no phrase.
STEMS = stems()
NOUNS = frozenset((*_ROLES, *_PLACES, *_THINGS, *_WORKS))

PHRASES: Final[Sequence[tuple[str, str, str]]] = (
    # English
    ("works_at", "", (rf"(?:now |still |currently )?(?:works|is working|has worked|has been working|is (?:now )?employed)"
     rf"(?: as (?:an? |the )?{_ROLE})? (?:at|for|by)")),
    ("works_at", "", rf"(?:is|became|has been) (?:an? |the |now an? )?{_ROLE} (?:at|for)"),
    ("works_at", "", (r"(?:has )?(?:started working at|got a (?:new )?job (?:at|with)|got hired (?:at|by)|was hired (?:at|by)"
     r"|took a (?:new )?job (?:at|with))")),
    ("works_at", "†", rf"(?:worked|used to work|was working)(?: as (?:an? |the )?{_ROLE})? (?:at|for)"),
    ("works_at", "†", r"(?:no longer works|doesn['’]t work anymore|stopped working) (?:at|for)"),
    ("works_at", "†", (r"(?:(?:quit|left) (?:his|her|their) (?:job|post|position) (?:at|with)"
     r"|resigned from|retired from|was laid off (?:from|by)|was fired (?:from"
     r"|by))")),
    ("located_in", "", r"(?:is|lies|sits) (?:located|situated|based|headquartered) in"),
    ("located_in", "", rf"(?:is|was) (?:an? |the |our favou?rite |my favou?rite )(?:[a-z-]+ ){{0,2}}?{_PLACE} in"),
    ("located_in", "", rf", (?:an? |the ){_PLACE} in"),
    ("owns", "", r"(?:now |still |currently )?(?:owns|co-owns|is the (?:proud |new )?owner of)"),
    ("owns", "†", r"(?:used to own|no longer owns|sold (?:his|her|their) [a-z]+,?)"),
    ("owns", "<", r"(?:is|was) (?:now )?owned by"),
    ("authored", "", (rf"(?:wrote|has written|authored|co-wrote|co-authored|composed|published|is the author of|is the writer of)"
     rf"(?: (?:an? |the |his |her |their )?(?:[a-z]+ )?{_WORK}(?: called| titled|,)?)?")),
    ("authored", "<", rf"(?:is|was) (?:an? |the )?(?:[a-z]+ )?(?:{_WORK} )?(?:written |composed |authored )by"),
    ("authored", "<", rf"(?:is|was) (?:an? |the )(?:[a-z]+ ){{0,2}}{_WORK} by"),
    ("member_of", "", r"(?:is|became|has been) (?:an? |the )?(?:[a-z]+ )?member of"),
    ("member_of", "", (r"(?:plays|sings|drums|has played|has sung)(?: the)?(?: bass| guitar| drums| piano| keyboards| violin)? "
     r"(?:for|in|with) the (?:band|team|choir|club|orchestra)")),
    ("member_of", "†", r"(?:was|used to be) (?:an? )?(?:[a-z]+ )?member of"),
    ("married_to", "", r"(?:is|has been|got|is happily|is now) married to"),
    ("married_to", "", r"is the (?:husband|wife|spouse) of"),
    ("married_to", "", r"(?:['’]s|['’]) (?:husband|wife|spouse)(?: is|,)?"),
    ("married_to", "†", r"(?:was married to|divorced|is divorced from|separated from)"),
    # Spanish
    ("works_at", "", r"(?:ahora )?(?:trabaja|está trabajando)(?: como [a-zà-ÿ]+)? (?:en|para)"),
    ("works_at", "†", r"(?:trabajó|trabajaba|ya no trabaja|dejó (?:su|el) (?:trabajo|empleo|puesto)) (?:en|para)"),
    ("located_in", "", r"(?:se encuentra|está (?:situad|ubicad)[oa]|queda) en"),
    ("owns", "", r"(?:es (?:el |la )?dueñ[oa] de|es (?:el |la )?propietari[oa] de)"),
    ("authored", "", (r"(?:escribió|compuso|es (?:el |la )?autora? de|ha escrito)(?: (?:el|la|su) (?:libro|novela|canción|poema"
     r"|artículo))?")),
    ("authored", "<", r"fue (?:escrit|compuest)[oa] por"),
    ("member_of", "", r"es miembro (?:de|del)"),
    ("married_to", "", r"está casad[oa] con"),
    # Portuguese
    ("works_at", "", (r"(?:agora )?(?:trabalha|está a trabalhar|está trabalhando)(?: como [a-zà-ÿ]+)? (?:na|no|em|para|para a"
     r"|para o)")),
    ("works_at", "†", r"(?:trabalhou|trabalhava|já não trabalha|(?:deixou|largou) o (?:emprego|trabalho)) (?:na|no|em|para)"),
    ("located_in", "", r"(?:fica|situa-se|está situad[oa]|está localizad[oa]) (?:em|no|na)"),
    ("owns", "", r"é (?:o |a )?(?:don[oa]|proprietári[oa]) (?:de|do|da)"),
    ("authored", "", r"(?:escreveu|compôs|é (?:o |a )?autora? (?:de|do|da))(?: (?:o|a) (?:livro|romance|canção|poema|artigo))?"),
    ("authored", "<", r"foi (?:escrit|compost)[oa] (?:por|pelo|pela)"),
    ("member_of", "", r"é membro (?:de|do|da)"),
    ("married_to", "", r"é casad[oa] com"),
    # German
    ("works_at", "", r"arbeitet (?:jetzt |noch )?(?:als [A-Za-zÄÖÜäöüß]+ )?(?:bei|für)(?: der| dem)?"),
    ("works_at", "†", r"(?:arbeitete|hat früher gearbeitet|arbeitet nicht mehr|kündigte) (?:bei|für)(?: der| dem)?"),
    ("located_in", "", r"(?:liegt|befindet sich|steht) in"),
    ("owns", "", r"(?:besitzt|ist (?:der |die )?(?:Besitzer|Eigentümer)(?:in)? von)"),
    ("authored", "", (r"(?:schrieb|verfasste|komponierte|ist (?:der |die )?Autor(?:in)? von)(?: (?:das|den|die) (?:Buch|Roman"
     r"|Lied|Gedicht))?")),
    ("authored", "<", r"wurde (?:geschrieben |verfasst )?von"),
    ("member_of", "", r"ist (?:ein )?Mitglied (?:bei|von|im|in|der|des)(?: der)?"),
    ("married_to", "", r"ist verheiratet mit"),
    # French
    ("works_at", "", r"travaille(?: maintenant| toujours)?(?: comme [a-zà-ÿ]+)? (?:chez|pour)"),
    ("works_at", "†", r"(?:a travaillé|travaillait|ne travaille plus|a quitté son (?:travail|emploi|poste)) (?:chez|pour)"),
    ("located_in", "", r"(?:se trouve|est situé(?:e)?) (?:à|en|au|dans)"),
    ("owns", "", r"(?:possède|est (?:le |la )?propriétaire d[eu])"),
    ("authored", "", r"(?:a écrit|a composé|est l['’]auteure? d[eu])(?: (?:le livre|le roman|la chanson|le poème))?"),
    ("authored", "<", r"a été (?:écrit|composé)e? par"),
    ("member_of", "", r"est membre d(?:e|u|e la)"),
    ("married_to", "", r"est mariée? (?:à|avec)"),
    # Italian
    ("works_at", "", r"lavora(?: come [a-zà-ÿ]+)? (?:per|da|presso|alla|alle)"),
    ("works_at", "†", r"(?:ha lavorato|lavorava|non lavora più|ha lasciato il (?:lavoro|posto)) (?:per|da|presso|alla)"),
    ("located_in", "", r"(?:si trova|è situat[oa]) (?:a|in|ad)"),
    ("owns", "", r"(?:possiede|è (?:il |la )?proprietari[oa] d(?:i|el|ella))"),
    ("authored", "", (r"(?:ha scritto|ha composto|è (?:l['’])?autor(?:e|ice) d(?:i|el|ella))(?: (?:il libro|il romanzo"
     r"|la canzone|la poesia))?")),
    ("authored", "<", r"è stat[oa] (?:scritt|compost)[oa] da"),
    ("member_of", "", r"è membro d(?:i|el|ella)"),
    ("married_to", "", r"è sposat[oa] con"),
)  # fmt: skip

# An edge that ended and the one that took its place: what stands before the first object, and between the two.
CHANGES: Final[Sequence[tuple[str, str, str]]] = (
    ("works_at", (r"(?:left|has left|quit|resigned from|was laid off (?:from|by))"
     r"(?: (?:his|her|their) (?:old )?(?:job|post|position) (?:at|with))?"),
     (rf"(?:(?:and (?:now )?|to (?:go and )?|, now )(?:works?|start(?:ed)? working)(?: as (?:an? |the )?{_ROLE})? (?:at|for)"
      r"|for a (?:new |better )?(?:job|role|position|post) (?:at|with))")),
    ("works_at", r"(?:has )?(?:switched|changed|moved) (?:jobs|employers|companies) from", r"to"),
    ("works_at", r"(?:has )?(?:moved|gone|switched) from (?:a|his|her|their) (?:old )?(?:job|post|role|position) (?:at|with)",
     r"to (?:an?|the|one)(?: new| better)?(?: job| post| role| position)? (?:at|with)"),
    ("works_at", r"dejó(?: (?:su|el) (?:trabajo|empleo|puesto) en)?",
     r"(?:para|y ahora) (?:trabajar|trabaja)(?: como [a-zà-ÿ]+)? (?:en|para)"),
    ("works_at", r"(?:deixou|saiu d[aeo])(?: o (?:trabalho|emprego) n[ao])?",
     r"(?:para|e (?:agora )?)\s*(?:trabalhar|trabalha)(?: como [a-zà-ÿ]+)? (?:na|no|em|para)"),
    ("works_at", r"wechselte von(?: der| dem)?", r"zu(?:r|m)?"),
    ("works_at", r"a quitté(?: son (?:travail|emploi|poste) chez)?", r"pour (?:aller )?travailler (?:chez|pour)"),
    ("works_at", r"ha lasciato(?: il (?:lavoro|posto) (?:da|presso|alla))?",
     r"(?:per|e ora) lavora(?:re)?(?: come [a-zà-ÿ]+)? (?:per|da|presso|alla)"),
    ("located_in", (r"(?:has )?(?:relocated|moved (?:its|the|their) (?:head )?(?:offices?|headquarters|shop|studio|store))"
     r" from"), r"to"),
)  # fmt: skip

# A statement with one of these holds beside others.
BESIDE = (
    r"\b(?:also|too|as well|besides|both|part[- ]time|second|another|side|weekends?|evenings?|freelanc\w*|también|además|segundo"
    r"|também|além|auch|nebenbei|zweite\w*|aussi|deuxième|anche|secondo)\b"
)

# "belongs to": a person belongs to a group, a thing to a person.
BELONGING = (
    r"(?:belongs to|pertenece (?:a|al)|pertence (?:a|ao|à)|gehört(?: zu| zum| zur)?"
    r"|appartient à|appartiene (?:a|al|alla))"
)
POSSESSION = rf"['’]s? (?:new |old |own )?{_THING}"

FIRST_PERSON: Final[Sequence[tuple[str, str, str]]] = (
    ("works_at", "", (rf"I(?: now| still| currently)? (?:work|have worked|have been working)(?: as (?:an? |the )?{_ROLE})? (?:at"
     rf"|for)")),
    ("works_at", "", (rf"I(?:['’]m| am)(?: now| still| currently)? (?:working|employed)(?: as (?:an? |the )?{_ROLE})? (?:at|for"
     rf"|by)")),
    ("works_at", "", rf"I(?:['’]m| am)(?: now)? (?:an? |the ){_ROLE} (?:at|for)"),
    ("works_at", "", (r"I (?:just )?(?:started working at|got a (?:new )?job (?:at|with)|got hired (?:at|by)|was hired (?:at"
     r"|by))")),
    ("works_at", "†", rf"I (?:worked|used to work)(?: as (?:an? |the )?{_ROLE})? (?:at|for)"),
    ("works_at", "†", (r"I (?:no longer work at|(?:just )?(?:quit|left) my job at"
     r"|resigned from|retired from|was laid off (?:from|by))")),
    ("owns", "", r"I(?: still)? (?:own|co-own)"),
    ("authored", "", (rf"I (?:wrote|have written|published|composed)(?: (?:an? |the |my )?(?:[a-z]+ )?{_WORK}(?: called| titled"
     rf"|,)?)?")),
    ("member_of", "", r"I(?:['’]m| am) (?:an? |the )?(?:[a-z]+ )?member of"),
    ("married_to", "", r"(?:My|my) (?:husband|wife|spouse),?"),
    ("married_to", "", r"I(?:['’]m| am| got) married to"),
    ("works_at", "", r"(?:Trabajo|trabajo)(?: como [a-zà-ÿ]+)? (?:en|para)"),
    ("married_to", "", r"(?:Mi|mi) (?:marido|mujer|esposa|esposo)"),
    ("works_at", "", r"(?:Trabalho|trabalho)(?: como [a-zà-ÿ]+)? (?:na|no|em|para)"),
    ("married_to", "", r"(?:O meu|o meu|A minha|a minha|Meu|meu|Minha|minha) (?:marido|mulher|esposa|esposo)"),
    ("works_at", "", r"(?:Ich|ich) arbeite(?: als [A-Za-zÄÖÜäöüß]+)? (?:bei|für)(?: der| dem)?"),
    ("married_to", "", r"(?:Mein|mein) Mann|(?:Meine|meine) (?:Frau|Ehefrau)"),
    ("works_at", "", r"(?:Je|je) travaille(?: comme [a-zà-ÿ]+)? (?:chez|pour)"),
    ("married_to", "", r"(?:Mon|mon) mari|(?:Ma|ma) femme"),
    ("works_at", "", r"(?:Lavoro|lavoro)(?: come [a-zà-ÿ]+)? (?:per|da|presso)"),
    ("married_to", "", r"(?:Mio|mio) marito|(?:Mia|mia) moglie"),
)  # fmt: skip

# A sentence with one of these says what may be, not what is.
DOUBT = (
    r"\b(?:if|whether|maybe|perhaps|probably|might|may(?=\s+[a-z])|could|would|should|think|thinks|thought|believes?|guess"
    r"|hopes?|hoping|wish(?:es)?|dreams?|imagin\w+|pretend\w*|rumou?r\w*|lied|jok(?:es|ed)|unless"
    r"|supposedly|apparently|not|never|quizás|tal vez|talvez"
    r"|vielleicht|wenn|peut-être|forse)\b|^s[ei]\s"
)
OPENING = (
    r"(?:^|[.!?:;,(—–-]\s*|[\"“„«]\s*|\b(?:and|but|that|because|while|where|when|y|e|und|et|que|dass)\s+"
    r"|\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Mm]i|[Mm]eine?|[Mm]on|[Mm]a|[Mm]io|[Mm]ia|[Oo] meu|[Aa] minha)\s+"
    r"(?:[a-zà-ÿ-]+\s+){1,2}"
    r"|\b(?:[Tt]he|[Ee]l|[Ll]a|[Oo]|[Aa]|[Dd]er|[Dd]ie|[Dd]as|[Ll]e|[Ii]l)\s+(?:[a-zà-ÿ-]+\s+)?)$"
)
MONTHS: Final[Sequence[frozenset[str]]] = tuple(
    frozenset(names.split())
    for names in (
        "january jan enero janeiro januar janvier gennaio",
        "february feb febrero fevereiro februar février febbraio",
        "march mar marzo março märz mars",
        "april apr abril avril aprile",
        "may mayo maio mai maggio",
        "june jun junio junho juni juin giugno",
        "july jul julio julho juli juillet luglio",
        "august aug agosto août",
        "september sep sept septiembre setembro septembre settembre",
        "october oct octubre outubro oktober octobre ottobre",
        "november nov noviembre novembro novembre",
        "december dec diciembre dezembro dezember décembre dicembre",
    )
)
