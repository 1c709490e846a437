"""The phrases that state a typed edge between two names, by language: data only.

A phrase is the whole text between a subject and an object. Flags: the object comes first (`<`), the statement is about the past
(`†`), the first name must be a person's (`p`). Phrases in the first person have the speaker as their subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compiler.plan.edges.nouns import (
    BEGINNINGS,
    PLACES,
    PLACES_DE,
    PLACES_ES,
    PLACES_FR,
    PLACES_IT,
    PLACES_PT,
    ROLES,
    ROLES_DE,
    ROLES_ES,
    ROLES_FR,
    ROLES_IT,
    ROLES_PT,
    THINGS,
    WORKS,
)
from store.text.relations import stems

_ROLE = rf"(?:[a-z]+ ){{0,3}}(?:{'|'.join(ROLES)}|head of [a-z]+)"
_PLACE = rf"(?:[a-zà-ÿ-]+ ){{0,3}}(?:{'|'.join(PLACES)})"
_THING = rf"(?:{'|'.join(THINGS)})"
_WORK = rf"(?:{'|'.join(WORKS)})"
_OWN_WORK = "(?:novel|song|poem|essay|article|screenplay|memoir|album)"
_MIDDLE = r"(?: the (?:old town|centre|center|heart|middle|outskirts) of)?"
_TIMES = r"(?: nights| evenings| weekends| part[- ]time| full[- ]time| mostly)?"


def _any(words: Sequence[str]) -> str:
    return f"(?:[a-zà-ÿ]+ )?(?:{'|'.join(words)})(?: [a-zà-ÿ]+)?"


# A text has a phrase only if one of its words begins with one of these stems or is one of the nouns.
STEMS = (*stems(), *BEGINNINGS)

PHRASES: Final[Sequence[tuple[str, str, str]]] = (
    # English
    ("works_at", "", (rf"(?:now |still |currently )?(?:works|is working|has worked|has been working|is (?:now )?employed)"
     rf"{_TIMES}(?: as (?:an? |the )?{_ROLE})? (?:at|for|by)")),
    ("works_at", "", rf"(?:is|became|has been) (?:an? |the |now an? )?{_ROLE} (?:at|for|with)"),
    ("works_at", "", r"is (?:now )?(?:the )?(?:CEO|CTO|CFO|COO|managing director) of"),
    ("works_at", "", r"(?:teaches|has taught)(?: [a-z]+){0,2} at"),
    ("works_at", "", (r"(?:has )?(?:just )?(?:(?:started|began) (?:working |a (?:new )?job )at|has a (?:new )?job (?:at|with)"
     r"|got a (?:new )?job (?:at|with)|got hired (?:at|by)|was hired (?:at|by)"
     r"|took a (?:new )?job (?:at|with))")),
    ("works_at", "†", rf"(?:worked|used to work|was working)(?: as (?:an? |the )?{_ROLE})? (?:at|for)"),
    ("works_at", "†", r"(?:no longer works|doesn['’]t work anymore|stopped working) (?:at|for)"),
    ("works_at", "†", (r"(?:(?:quit|left) (?:his|her|their) (?:job|post|position) (?:at|with)"
     r"|resigned from|retired from|was laid off (?:from|by)|was fired (?:from"
     r"|by))")),
    ("located_in", "", rf"(?:(?:is|lies) |, )(?:located|situated|based|headquartered) in{_MIDDLE}"),
    ("located_in", "", r"(?:lies|sits) in the (?:old town|centre|center|heart|middle|outskirts) of"),
    ("located_in", "", r"has its (?:main |head )?(?:office|offices|headquarters|seat) in"),
    ("located_in", "", r"is (?:an? |the )(?:[a-z-]+ ){0,2}(?:neighbou?rhood|district|suburb|quarter) of"),
    ("located_in", "", rf"(?:is|was) (?:an? |the |our favou?rite |my favou?rite )(?:[a-z-]+ ){{0,2}}?{_PLACE} in"),
    ("located_in", "", rf", (?:an? |the ){_PLACE} in"),
    ("owns", "", r"(?:now |still |currently )?(?:owns|co-owns|is (?:the |an? )?(?:proud |new |sole )?(?:co-)?owner of)"),
    ("owns", "", r", (?:the )?(?:proud |new )?(?:co-)?owner of"),
    ("owns", "†", r"(?:used to own|no longer owns|sold (?:his|her|their) [a-z]+,?)"),
    ("owns", "<", r"is (?:now )?owned by"),
    ("owns", "<†", r"(?:was owned by|used to belong to)"),
    ("authored", "", (rf"(?:wrote|has written|authored|co-wrote|co-authored|composed|published|is the author of|is the writer of)"
     rf"(?: (?:an? |the |his |her |their )?(?:[a-z]+ )?{_WORK}(?: called| titled|,)?)?")),
    ("authored", "<", rf"(?:is|was) (?:an? |the )?(?:[a-z]+ )?(?:{_WORK} )?(?:written |composed |authored )by"),
    ("authored", "<", rf"(?:is|was) (?:an? |the )(?:[a-z]+ ){{0,2}}{_WORK} by"),
    ("authored", "", rf"['’]s (?:[a-z]+ )?{_OWN_WORK},?"),
    ("authored", "<", r", written by"),
    ("member_of", "†", r"is no longer (?:an? )?(?:[a-z]+ )?member of"),
    ("member_of", "", r"(?:is|became|has been) (?:an? |the )?(?:[a-z]+ )?member of"),
    ("member_of", "", (r"(?:plays|sings|drums|has played|has sung)(?: the)?(?: bass| guitar| drums| piano| keyboards| violin)? "
     r"(?:for|in|with) the (?:band|team|choir|club|orchestra)")),
    ("member_of", "†", r"(?:was|used to be) (?:an? )?(?:[a-z]+ )?member of"),
    ("married_to", "", r"(?:is|has been|got|is happily|is now) married to"),
    ("married_to", "", r"(?:is (?:the )?|, (?:the )?)(?:husband|wife|spouse) of"),
    ("married_to", "", r", married to"),
    ("married_to", "", r"(?:has )?married"),
    ("married_to", "", r",? and (?:his|her) (?:husband|wife|spouse),?"),
    ("married_to", "", r"(?:['’]s|['’]) (?:husband|wife|spouse)(?: is|,)?"),
    ("married_to", "†", r"(?:was married to|divorced|is divorced from|separated from)"),
    # Spanish
    ("works_at", "", (r"(?:ahora )?(?:trabaja|está trabajando|empezó a trabajar|lleva [a-zà-ÿ\d]+ (?:años|meses) trabajando)"
     r"(?: actualmente)?(?: (?:como|de) [a-zà-ÿ]+)? (?:en|para)")),
    ("works_at", "", rf"es (?:el |la |una? )?{_any(ROLES_ES)} en"),
    ("works_at", "", r"da clases(?: de [a-zà-ÿ]+)? en"),
    ("works_at", "†", r"(?:antes trabajaba|trabajaba antes) (?:en|para)"),
    ("works_at", "†", r"se jubiló d(?:e|el)"),
    ("works_at", "†", r"(?:trabajó|trabajaba|ya no trabaja|dejó (?:su|el) (?:trabajo|empleo|puesto)) (?:en|para)"),
    ("located_in", "", (r"(?:se encuentra|está (?:situad|ubicad)[oa]|queda) en"
     r"(?: el (?:centro|corazón|casco antiguo) d(?:e|el))?")),
    ("located_in", "", r"tiene (?:su|la) (?:sede|oficina)(?: principal)? en"),
    ("located_in", "", rf"es una? {_any(PLACES_ES)} en"),
    ("located_in", "", r"es un (?:barrio|distrito) d(?:e|el)"),
    ("owns", "", r"(?:es |, )(?:el |la )?(?:dueñ[oa]|(?:co)?propietari[oa]) d(?:e|el)"),
    ("owns", "<", r"es propiedad d(?:e|el)"),
    ("authored", "", (r"(?:escribió|compuso|es (?:el |la )?autora? d(?:e|el)|ha escrito)(?! a )"
     r"(?: (?:el|la|su) (?:libro|novela|canción|poema"
     r"|artículo))?")),
    ("authored", "<", r"l[oa] escribió"),
    ("authored", "<", r"fue (?:escrit|compuest)[oa] por"),
    ("member_of", "", r"es (?:miembro|soci[oa]) d(?:e|el)"),
    ("member_of", "p", r"forma parte d(?:e|el)"),
    ("member_of", "†", r"(?:ya no es|dejó de ser) (?:miembro|soci[oa]) d(?:e|el)"),
    ("married_to", "", r"(?:está casad[oa]|se casó) con"),
    ("married_to", "", r", (?:la |el )?(?:mujer|marido|espos[oa]) d(?:e|el)"),
    ("married_to", "", r"y su (?:marido|mujer|espos[oa])"),
    ("married_to", "†", r"se divorció de"),
    # Portuguese
    ("works_at", "", (r"(?:agora )?(?:trabalha|está a trabalhar|está trabalhando|começou a trabalhar)(?: como [a-zà-ÿ]+)?"
     r" (?:na|no|em|para|para a|para o)")),
    ("works_at", "", rf"é (?:o |a |uma? )?{_any(ROLES_PT)} (?:na|no|em)"),
    ("works_at", "", r"dá aulas(?: de [a-zà-ÿ]+)? (?:na|no|em)"),
    ("works_at", "†", r"reformou-se d[aeo]"),
    ("works_at", "†", r"(?:trabalhou|trabalhava|já não trabalha|(?:deixou|largou) o (?:emprego|trabalho)) (?:na|no|em|para)"),
    ("located_in", "", (r"(?:fica|situa-se|está (?:situad|localizad|sediad)[oa]) (?:em|no|na)"
     r"(?: (?:centro|coração) d[aeo])?")),
    ("located_in", "", r"tem (?:a )?sede (?:em|no|na)"),
    ("located_in", "", rf"é uma? {_any(PLACES_PT)} (?:em|no|na)"),
    ("located_in", "", r"é um bairro d[aeo]"),
    ("owns", "", r"(?:é |, )(?:o |a )?(?:don[oa]|(?:co)?proprietári[oa]) (?:de|do|da)"),
    ("owns", "<", r"é propriedade d[aeo]"),
    ("authored", "", r"(?:escreveu|compôs|é (?:o |a )?autora? (?:de|do|da))(?: (?:o|a) (?:livro|romance|canção|poema|artigo))?"),
    ("authored", "<", r"foi (?:escrit|compost)[oa] (?:por|pelo|pela)"),
    ("member_of", "", r"é (?:membro|sóci[oa]) d[aeo]"),
    ("member_of", "p", r"faz parte d[aeo]"),
    ("member_of", "†", r"(?:já não é|não é mais|deixou de ser) (?:membro|sóci[oa]) d[aeo]"),
    ("married_to", "", r"(?:é casad[oa]|casou(?:-se)?|se casou) com"),
    ("married_to", "", r", (?:a |o )?(?:mulher|marido|espos[oa]) d[aeo]"),
    ("married_to", "", r"e (?:o |a )?(?:seu |sua )?(?:marido|mulher|espos[oa])"),
    ("married_to", "†", r"(?:divorciou-se|se divorciou) d[aeo]"),
    # German
    ("works_at", "", (r"arbeitet (?:jetzt |noch |abends |seit (?:[a-zäöüß]+ )?(?:Jahren|Monaten|\d{4}) )?"
     r"(?:als [A-Za-zÄÖÜäöüß]+ )?"
     r"(?:bei|beim|für|im)(?: der| dem)?")),
    ("works_at", "", rf"ist (?:jetzt |eine? )?(?:{'|'.join(ROLES_DE)}) (?:bei|beim|im)(?: der| dem)?"),
    ("works_at", "", r"unterrichtet (?:[A-ZÄÖÜ][a-zäöüß]+ )?(?:am|an der)"),
    ("works_at", "", r"ist (?:die |der )?Geschäftsführer(?:in)? (?:von|der|des)"),
    ("works_at", "†", r"(?:arbeitete|hat früher gearbeitet|arbeitet nicht mehr|kündigte) (?:bei|für)(?: der| dem)?"),
    ("located_in", "", r"(?:liegt|befindet sich|steht) (?:in|im (?:Zentrum|Herzen) von)"),
    ("located_in", "", r"hat (?:seinen|ihren) Sitz in"),
    ("located_in", "", rf"ist eine? {_any(PLACES_DE)} in"),
    ("located_in", "", r"ist ein (?:Stadtteil|Ortsteil|Viertel|Vorort) von"),
    ("owns", "", r"(?:besitzt|ist (?:der |die )?(?:Mit)?(?:[Bb]esitzer|[Ee]igentümer)(?:in)? (?:von|vom|der|des))"),
    ("authored", "", (r"(?:schrieb|verfasste|komponierte|ist (?:der |die )?Autor(?:in)? von)(?: (?:das|den|die) (?:Buch|Roman"
     r"|Lied|Gedicht))?")),
    ("authored", "<", r"wurde (?:geschrieben |verfasst )von"),
    ("member_of", "", r"ist (?:ein |seit (?:[A-Za-zä]+ )?\d{4} )?Mitglied (?:bei|beim|von|im|in|der|des)(?: der)?"),
    ("married_to", "", r", (?:die |der )?(?:Ehe)?(?:[Ff]rau|[Mm]ann) von"),
    ("married_to", "", r"und (?:ihr|sein)e? (?:Ehe)?(?:[Ff]rau|[Mm]ann)"),
    ("married_to", "", r"ist verheiratet mit"),
    # French
    ("works_at", "", r"(?:travaille|bosse)(?: maintenant| toujours)?(?: comme [a-zà-ÿ]+)? (?:chez|pour)"),
    ("works_at", "", rf"est {_any(ROLES_FR)} (?:chez|au|à la|à l['’])"),
    ("works_at", "", r"enseigne(?: (?:le |la |les |l['’])?[a-zà-ÿ]+)? (?:au|à la|à l['’])"),
    ("works_at", "†", r"travaillait avant (?:chez|pour)"),
    ("works_at", "†", r"a pris sa retraite d(?:e|u)"),
    ("works_at", "†", r"(?:a travaillé|travaillait|ne travaille plus|a quitté son (?:travail|emploi|poste)) (?:chez|pour)"),
    ("located_in", "", (r"(?:se trouve|est (?:situé|basé|implanté)e?) (?:à|en|au|dans"
     r"|dans le (?:centre|cœur|vieux centre) d(?:e|u))")),
    ("located_in", "", r"a son siège (?:à|en)"),
    ("located_in", "", rf"est une? {_any(PLACES_FR)} (?:à|en)"),
    ("located_in", "", r"est un quartier d(?:e|u)"),
    ("owns", "", r"(?:possède|(?:est |, )(?:le |la )?(?:co)?propriétaire d(?:e|u|e l['’]))"),
    ("authored", "", (r"(?:a écrit|a composé|est l['’](?:auteure?|autrice) d[eu])(?! à)"
     r"(?: (?:le livre|le roman|la chanson|le poème))?")),
    ("authored", "<", r"a été (?:écrit|composé)e? par"),
    ("authored", "<", r", écrite? par"),
    ("member_of", "", r"est membre d(?:e|u|e la|e l['’])"),
    ("member_of", "p", r"fait partie d(?:e|u|e la)"),
    ("member_of", "†", r"n['’]est plus membre d(?:e|u|e la|e l['’])"),
    ("married_to", "", r"a épousé"),
    ("married_to", "", r", (?:la |le |l['’])?(?:femme|mari|épou(?:se|x)) d(?:e|['’])"),
    ("married_to", "", r"et (?:son|sa) (?:mari|femme|épou(?:se|x))"),
    ("married_to", "†", r"a divorcé d(?:e|['’])"),
    ("married_to", "", r"est mariée? (?:à|avec)"),
    # Italian
    ("works_at", "", (r"(?:lavora|ha iniziato a lavorare)(?: di sera| part-time)?(?: come [a-zà-ÿ]+)?"
     r" (?:per|da|presso|al|alla|alle|all['’])")),
    ("works_at", "", rf"(?:è |fa (?:il |la |l['’]))(?:un['’]?a? )?{_any(ROLES_IT)} (?:al|alla|all['’]|presso)"),
    ("works_at", "", r"insegna(?: [a-zà-ÿ]+)? (?:al|alla|all['’])"),
    ("works_at", "†", r"prima lavorava (?:per|da|presso|al|alla|all['’])"),
    ("works_at", "†", (r"(?:ha lavorato|lavorava|non lavora più|ha lasciato il (?:lavoro|posto))"
     r" (?:per|da|presso|al|alla|all['’])")),
    ("located_in", "", r"(?:si trova|è situat[oa]) (?:a|in|ad|nel (?:centro|cuore) di)"),
    ("located_in", "", r"ha (?:la |la sua )?sede (?:a|in|ad)"),
    ("located_in", "", rf"è un['’]?[oa]? ?{_any(PLACES_IT)} (?:a|in|ad)"),
    ("located_in", "", r"è un quartiere d(?:i|el|ella)"),
    ("owns", "", r"(?:possiede|(?:è |, )(?:il |la )?(?:com)?proprietari[oa] d(?:i|el|ella|ell['’]))"),
    ("owns", "<", r"è di proprietà d(?:i|el|ella)"),
    ("authored", "", (r"(?:ha scritto|scrisse|ha composto|è (?:l['’])?autor(?:e|ice) d(?:i|el|ella))(?! a )"
     r"(?: (?:il libro|il romanzo"
     r"|la canzone|la poesia))?")),
    ("authored", "<", r"è stat[oa] (?:scritt|compost)[oa] da"),
    ("member_of", "", r"è (?:membro|soci[oa]) d(?:i|el|ella|ell['’])"),
    ("member_of", "p", r"fa parte d(?:i|el|ella|ell['’])"),
    ("member_of", "†", r"non è più (?:membro|soci[oa]) d(?:i|el|ella|ell['’])"),
    ("married_to", "", r"(?:è|si è) sposat[oa] con"),
    ("married_to", "", r"ha sposato"),
    ("married_to", "", r", (?:la |il )?(?:moglie|marito) d(?:i|el|ella)"),
    ("married_to", "", r"e (?:suo|sua) (?:moglie|marito)"),
    ("married_to", "†", r"ha divorziato da"),
)  # fmt: skip

# Phrases with a part after the second name: “Hugo and Marta | got married”, “hat bei Nordwind | gearbeitet”.
FRAMES: Final[Sequence[tuple[str, str, str, str]]] = (
    ("married_to", "", "and", r"(?:(?:just )?got married|are (?:happily |now )?married|have been married)(?! to)"),
    ("married_to", "†", "and", r"(?:got divorced|are divorced|have divorced)"),
    ("married_to", "", r"is", r"['’]s (?:husband|wife|spouse)"),
    ("married_to", "", "y", r"(?:se casaron|están casados)(?! con)"),
    ("married_to", "†", "y", r"(?:se divorciaron|están divorciados)"),
    ("married_to", "", r"e(?: [ao])?", r"(?:se )?(?:casaram|são casados)(?! com)"),
    ("married_to", "†", r"e(?: [ao])?", r"divorciaram-se"),
    ("married_to", "", "und", r"(?:haben (?:[a-zäöüß]+ (?:[A-Z][a-zäöüß]+ )?|\d{4} )?geheiratet|sind verheiratet)"),
    ("married_to", "†", "und", "sind geschieden"),
    ("married_to", "", "et", r"(?:se sont mariés|sont mariés)(?! avec)"),
    ("married_to", "†", "et", r"(?:ont divorcé|sont divorcés)"),
    ("married_to", "", r"e(?: la| il)?", r"(?:si sono sposati|sono sposati)(?! con)"),
    ("married_to", "†", "e", r"(?:hanno divorziato|sono divorziati)"),
    ("married_to", "", r"ist (?:seit \d{4} )?mit", "verheiratet"),
    ("married_to", "", r"hat(?: \d{4})?", "geheiratet"),
    ("married_to", "†", r"hat sich von", "scheiden lassen"),
    ("works_at", "†", r"hat (?:früher |lange |bis (?:[A-Za-zä]+ )?\d{4} )?(?:bei|beim|für)(?: der| dem)?", "gearbeitet"),
    ("works_at", "†", r"hat (?:bei|beim)(?: der| dem)?", "gekündigt"),
    ("authored", "", r"hat(?! an )", r"(?:geschrieben|verfasst|komponiert)"),
    ("authored", "<", r"wurde von", r"(?:geschrieben|verfasst|komponiert)"),
    ("member_of", "", r"ist (?:im [A-Z][a-zä]+ |\d{4} )?(?:dem|der)", "beigetreten"),
    ("member_of", "†", r"ist aus (?:dem|der)", "ausgetreten"),
)  # fmt: skip

# An edge that ended and the one that replaced it: the phrase before the first object, and the phrase between the two objects.
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
    r"|appartient (?:à|au)|appartiene (?:a|al|alla))"
)
DATIVE = "gehört"
"""The verb of “Maria gehört das Café”, which means the same as “das Café gehört Maria”."""
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
    ("works_at", "", r"I['’]ve (?:worked|been working) (?:at|for)"),
    ("owns", "", r"I(?: still)? (?:own|co-own)"),
    ("authored", "", (rf"I (?:wrote|have written|published|composed)(?: (?:an? |the |my )?(?:[a-z]+ )?{_WORK}(?: called| titled"
     rf"|,)?)?")),
    ("member_of", "", r"I(?:['’]m| am) (?:an? |the )?(?:[a-z]+ )?member of"),
    ("married_to", "", r"(?:My|my) (?:husband|wife|spouse),?"),
    ("married_to", "", r"I(?:['’]m| am| got) married to"),
    ("works_at", "", r"(?:Trabajo|trabajo)(?: como [a-zà-ÿ]+)? (?:en|para)"),
    ("works_at", "†", r"(?:Trabajé|trabajé|Trabajaba|trabajaba) (?:en|para)"),
    ("member_of", "", r"(?:Soy|soy) (?:miembro|soci[oa]) d(?:e|el)"),
    ("married_to", "", r"(?:Estoy|estoy) casad[oa] con"),
    ("married_to", "", r"(?:Mi|mi) (?:marido|mujer|esposa|esposo)"),
    ("works_at", "", r"(?:Trabalho|trabalho|Comecei a trabalhar|comecei a trabalhar)(?: como [a-zà-ÿ]+)? (?:na|no|em|para)"),
    ("works_at", "†", r"(?:Trabalhei|trabalhei|Trabalhava|trabalhava) (?:na|no|em|para)"),
    ("member_of", "", r"(?:Sou|sou) (?:membro|sóci[oa]) d[aeo]"),
    ("member_of", "†", r"(?:Já|já) não sou (?:membro|sóci[oa]) d[aeo]"),
    ("married_to", "", r"(?:Sou|sou) casad[oa] com"),
    ("married_to", "", r"(?:O meu|o meu|A minha|a minha|Meu|meu|Minha|minha) (?:marido|mulher|esposa|esposo)"),
    ("works_at", "", r"(?:Ich|ich) arbeite(?: als [A-Za-zÄÖÜäöüß]+)? (?:bei|für)(?: der| dem)?"),
    ("member_of", "", r"(?:Ich|ich) bin (?:seit \d{4} )?Mitglied (?:bei|beim|im|in)(?: der)?"),
    ("married_to", "", r"(?:Mein|mein) Mann|(?:Meine|meine) (?:Frau|Ehefrau)"),
    ("works_at", "", r"(?:Je|je) travaille(?: comme [a-zà-ÿ]+)? (?:chez|pour)"),
    ("works_at", "†", r"(?:J|j)['’]ai travaillé (?:chez|pour)"),
    ("member_of", "", r"(?:Je|je) suis membre d(?:e|u|e la|e l['’])"),
    ("married_to", "", r"(?:Je|je) suis mariée? (?:à|avec)"),
    ("married_to", "", r"(?:Mon|mon) mari|(?:Ma|ma) femme"),
    ("works_at", "", r"(?:Lavoro|lavoro)(?: come [a-zà-ÿ]+)? (?:per|da|presso|al|alla|all['’])"),
    ("works_at", "†", r"(?:Ho|ho) lavorato (?:per|da|presso|al|alla|all['’])"),
    ("member_of", "", r"(?:Sono|sono) (?:membro|soci[oa]) d(?:i|el|ella|ell['’])"),
    ("married_to", "", r"(?:Sono|sono) sposat[oa] con"),
    ("married_to", "", r"(?:Mio|mio) marito|(?:Mia|mia) moglie"),
)  # fmt: skip

# A sentence with one of these states a possibility, not a fact.
DOUBT = (
    r"\b(?:if|whether|maybe|perhaps|probably|might|may(?=\s+[a-z])|could|would|should|think|thinks|thought|believes?|guess"
    r"|hopes?|hoping|wish(?:es)?|dreams?|imagin\w+|pretend\w*|rumou?r\w*|lied|jok(?:es|ed)|unless"
    r"|supposedly|apparently|not|never|quizás|tal vez|talvez"
    r"|acaso|ojalá|creo|creía|creíamos|(?:pienso|pensaba|pensé) que|dicen|no es verdad|no sé|nunca|jamás|podría"
    r"|acho|achava|achei|pensava|pensei|julgava|dizem|será que|oxalá|tomara que|quem me dera|não sei|jamais"
    r"|vielleicht|wenn|falls|ob|dacht(?:e|en)|denk(?:e|t|en)|glaub(?:e|t|te|en)|wünschte|würden?|hätten?|könnten?|angeblich"
    r"|nicht(?! mehr)|nie|niemals|soll(?:te)?"
    r"|peut-être|croi[st]|croyai[st]|pense|pensai[st]|aimerai[st]|voudrai[st]|dirait|paraît|sais pas|on dit"
    r"|forse|credo|credevo|pensavo|magari|dicono|non so)\b|^s[ei]\s|(?:sé|sei|sais(?: pas)?|so) s[ei]\s"
)
OPENING = (
    r"(?:^|^(?:btw|fyi|so|oh|well|ok|okay|yes|yeah|today|turns out|hoy|ayer|hoje|ontem|heute|gestern|oggi|ieri)"
    r",?\s+|[.!?:;,(—–-]\s*|[\"“„«]\s*"
    r"|\b(?:and|but|that|because|while|where|when|y|e|und|et|que|dass)\s+"
    r"|\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Mm]i|[Mm]eine?|[Mm]on|[Mm]a|[Mm]io|[Mm]ia|[Oo] meu|[Aa] minha)\s+"
    r"(?:[a-zà-ÿ-]+\s+){1,2}"
    r"|\b(?:[Tt]he|[Ee]l|[Ll]a|[Oo]|[Aa]|[Dd]er|[Dd]ie|[Dd]as|[Ll]e|[Ii]l)\s+(?:[a-zà-ÿ-]+\s+)?)$"
)
