"""The nouns of the phrases that state typed edges, by language: roles of people, kinds of places, works and things.

Nouns of languages other than English are patterns, because their endings vary.
"""

from __future__ import annotations

import re


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a list, in which an underscore stands for a space."""
    return tuple(word.replace("_", " ") for word in text.split())


ROLES = _words("""
    accountant analyst architect artist assistant baker barista bartender carpenter chef clerk coach consultant cook
    coordinator curator designer developer director doctor driver editor electrician engineer gardener intern
    instructor journalist lawyer lecturer librarian manager mechanic nurse paralegal pharmacist photographer
    physiotherapist pilot plumber postdoc principal producer professor programmer receptionist researcher scientist
    secretary surgeon teacher technician therapist translator veterinarian vet waiter waitress writer
""")
PLACES = _words("""
    bakery bar beach bistro bookshop bookstore brewery bridge cafe café cathedral church cinema city clinic club
    district gallery garden gym hospital hostel hotel island lake library market monastery mountain museum
    neighborhood neighbourhood park port pub restaurant river school shop square stadium store street studio suburb
    tavern temple theater theatre town university valley village winery
""")
WORKS = _words("""
    book novel song poem paper play article essay album piece screenplay memoir report
""")
THINGS = _words("""
    bike bicycle boat camper car cat cello dog drone guitar horse house motorbike parrot piano puppy kitten rabbit
    sailboat truck turtle van violin
""")

ROLES_ES = _words("""
    abogad[oa] camarer[oa] cociner[oa] contable director(?:a)? enfermer[oa] ingenier[oa] maestr[oa] médic[oa]
    profesora?
""")
ROLES_PT = _words("""
    advogad[oa] contabilista cozinheir[oa] diretora? empregad[oa]_de_mesa enfermeir[oa] engenheir[oa] médic[oa]
    professora?
""")
ROLES_DE = _words("""
    Ärztin Arzt Buchhalter(?:in)? Entwickler(?:in)? Ingenieur(?:in)? Kellner(?:in)? Koch Köchin Krankenschwester
    Lehrer(?:in)? Pfleger(?:in)? Verkäufer(?:in)?
""")
ROLES_FR = _words("""
    avocate? comptable cuisini(?:er|ère) enseignante? infirmi(?:er|ère) ingénieure? médecin professeure?
    serveu(?:r|se)
""")
ROLES_IT = _words("""
    avvocat[oa] camerier[ea] contabile cuoc[oa] infermier[ea] ingegnere insegnante medico professor(?:e|essa)
""")
PLACES_ES = _words("""
    bar barrio biblioteca café escuela hospital hotel iglesia librería mercado museo panadería parque playa
    restaurante taberna teatro tienda
""")
PLACES_PT = _words("""
    bairro bar biblioteca café escola hospital hotel igreja livraria loja mercado museu padaria parque praia
    restaurante tasca teatro
""")
PLACES_DE = _words("""
    Bäckerei Bar Bibliothek Buchhandlung Café Hotel Kirche Kneipe Krankenhaus Laden Markt Museum Park Restaurant
    Schule Strand Theater Viertel
""")
PLACES_FR = _words("""
    bar bibliothèque boulangerie café école église hôpital hôtel librairie magasin marché musée parc plage quartier
    restaurant théâtre
""")
PLACES_IT = _words("""
    bar biblioteca caffè chiesa hotel libreria mercato museo negozio ospedale panetteria parco quartiere ristorante
    scuola spiaggia teatro trattoria
""")

_OTHERS = (
    *(ROLES_ES, ROLES_PT, ROLES_DE, ROLES_FR, ROLES_IT),
    *(PLACES_ES, PLACES_PT, PLACES_DE, PLACES_FR, PLACES_IT),
)
NOUNS = frozenset((*ROLES, *PLACES, *THINGS, *WORKS))
BEGINNINGS = tuple(re.split(r"[\[(?]", word, maxsplit=1)[0].lower() for words in _OTHERS for word in words)
"""The beginnings of the nouns of other languages, in lower case."""
