"""German common nouns and the words around them, folded: data, and the predicates over it.

In German every noun has a capital, so that a capital does not mark a name. A longer word that ends in a noun of at least four
letters is a compound, and a common noun too (`Wasseranschluss`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import ADDRESSES, CONNECTORS

_NOUNS = """
leute diele dielen parkett parzelle premiere vorstellung kostum regal regale estrich putz fliese fliesen buhne orchester schrank
schranke leiter mauer
abend abfahrt abfall abgabe abmachung absage abschied abschluss absprache abstand abteilung adresse ag akku akten alarm alltag
alter amt anbieter anfang anfrage angebot angst anhang anker anlage anmeldung annahme anruf anschluss ansicht ansprechpartner
ansprechpartnerin antrag antwort anzahl anzug apfel apotheke apparat appetit arbeit arbeitgeber arbeitstag arbeitszeit arm
artikel arzt arzte arztin arzttermin aufgabe auftrag auge augen ausflug ausgabe auskunft ausland ausnahme ausweis auszeit auto
autos bach backer backerei bad bahn bahnhof balkon band bank bart basis batterie bau bauch baum baume beamer bedarf befehl
befund beginn begriff behandlung bein beispiel beitrag bekannte belag beleg berg bericht beruf bescheid beschluss besitzer
besitzerin besprechung bestand bestellung besuch betrag betreuung betrieb bett bewerber bewerbung bier bild bilder bildschirm
birne blatt block blume blumen blut boden bohne bohrer boot brand braten brauch brief brille brot brotchen bruch brucke bruder
brust buch bucher buchung buro butter chef chefin chor computer dach dame dank datei daten datum dauer decke deckel dienst
dienstag dienstplan ding dinge diskussion doku dorf dose druck drucker durst dusche ecke ehe ei eier eigentum eigentumer
eigentumerin eimer einfahrt eingang einkauf einladung einsatz eis eisen elektriker eltern ende energie ente entscheidung
entwurf erbe erde erfahrung erfolg ergebnis erkaltung ernte ersatz ersatzteil essen etage euro euros fach fahre fahrer
fahrerin fahrkarte fahrplan fahrrad fahrt fall falle familie farbe fass fehler feier feierabend feiertag feld fenster ferien
fernseher fertigung fest feuer fieber figur film filter finger firma fisch flache flasche flaschen fleisch flieger flug flugel
flughafen flur fluss folge forderung form formular foto fotos frage fragen frau freitag freizeit freund freunde freundin
freundinnen friseur frist frucht fruhling fruhstuck fuhrer fuhrung funktion fuss futter gabel gang garage garantie garten gast
gaste gebaude gebuhr geburt geburtstag gedachtnis gefahr gefuhl gegend gehalt geheimnis gehirn geige geld gelegenheit gemeinde
gemuse gepack gerat gerate gericht geruch geschaft geschaftsfuhrer geschaftsfuhrerin geschenk geschichte geschirr geschwister
gesicht gesprach gesundheit getrank gewicht gewinn gewitter gips glas glaser gluck gott grad gras grenze griff grill grippe
grosse grosseltern grund gruppe gurke hafen hahn halle hals halt hand handler handtuch handy hase haufen haus hausarzt
hausaufgaben hausmeister haut heft heim heimat heizung hemd herbst herd herr herrn herz hilfe himmel hinweis hitze hobby
hochzeit hof holz honig hose hotel huhn hund hunde hunger husten hut idee impfung information inhaber inhaberin inhalt insel
interesse internet jacke jahr jahre jahren jahres jugend junge jungen kabel kaffee kafig kalender kalte kamera kamin kampf
kanal kanne kappe karte karten kartoffel kartoffeln kase kasse kassierer kasten kater katze katzen kauf kaution keks keller
kellner kenntnis kern kette keuchhusten kiefer kind kinder kindergarten kindern kino kirche kiste kita klage klasse klavier
kleid kleidung klima klingel klinik klub knie knochen knopf koch koffer kohle kollege kollegen kollegin konto kontrolle
konzert kopf kopie korb korper kosten kraft kran kranke krankenhaus krankheit kreis kreuz krieg krise kuche kuchen kugel kuh
kuhlschrank kunde kunden kundigung kundin kunst kurs kurve kuss labor lack laden lager lampe land landung lange larm lauf
laune leben lebensmittel leber leder lehre lehrer lehrerin leiter leiterin leitung licht liebe lied lieferant lieferung liste
loch loffel lohn losung luft lust machine mais mal maler mangel mann manner mantel markt maschine mass material mauer maus
medikament medikamente mehl meinung meister menge mensch menschen messe messer meter miete mieter mietvertrag milch minute
minuten mitarbeiter mitarbeiterin mitglied mittag mittagessen mitte mittel mobel moglichkeit moment monat monate monaten mond
montag morgen motor mull mund munze musik muskel mut mutter mutze nachbar nachbarin nachbarn nachfolger nachfolgerin
nachmittag nachricht nachrichten nacht nachteil nadel nagel nahe name namen nase natur nebel neffe netz nichte niere norden
note notfall nudeln nummer nuss nusse ober obst ofen ohr ohren oktober ol oma onkel opa ordner ordnung ort osten ostern paar
pacht packung paket papier park partei partner partnerin pass passwort pate patient pause person personal pfand pfanne pfeffer
pferd pflanze pflanzen pflaster pflege pflicht pfund physio pilz plan plane platz post praxis preis preise prise probe problem
probleme produkt produktion programm projekt prospekt prozent prozess prufung pulver punkt puppe quelle quittung rabatt rad
rahmen rand rasen rat rathaus rauch raum rechner rechnung rechnungen recht rede regal regel regen region reifen reihe
reinigung reis reise rente reparatur rest restaurant rezept richtung ring risiko rock rohr rolle rose rucken rucksack ruf ruhe
saal sache sachen sack saft saison salat salz sand satz sauce schach schade schaden schal schale schatten scheibe schein schere
schicht schiff schild schinken schlaf schlag schlaganfall schlange schloss schluss schlussel schmerz schmerzen schnee schrank
schraube schritt schuh schuhe schuld schule schuler schulter schussel schutz schwester schwimmbad see seele seife seil seite
sekunde sekunden sendung serie sessel sicht sieg signal silber sinn situation sitz sitzung sohn sommer sonne sorge sorte spass
spatz spaziergang speise spiegel spiel spiele spielplatz spinne sport sprache stadt stall stamm stand statt staub steckdose
stein stelle steuer steuerberater steuern stift stimme stock stoff stolz storung strafe strand strasse strecke streit strom
stuck stucke student studium stuhl stunde stunden sturm suche suden suppe system tabelle tablette tabletten tafel tag tage
tagen tal tank tante tanz tasche tasse tat tatsache tausch team tee teig teil teile telefon teller temperatur teppich termin
termine test text theke thema tier tierarzt tiere tipp tisch tischler tochter tod toilette tomate tomaten ton topf tor torte
tour training traum treffen trend treppe tropfen tuch tur turen turm tute typ ubung uhr umgebung umsatz umzug unfall
unternehmen unterricht unterschied unterschrift untersuchung urlaub ursache vater veganer vegetarier verband verdacht verein
verfahren vergangenheit vergleich verhalten verkauf verkaufer verkehr verlag verlust vermieter vermieterin versand verspatung
versuch vertrag vertrage vertrauen verwaltung video viertel vogel volk vorfall vorgang vorhang vormittag vorname vorrat
vorschlag vorsicht vorspiel vorteil vortrag waage wagen wahl wald wand wanne ware wasche wasser wechsel wecker weg weihnachten
wein weise welle welt werbung werk werkstatt werkzeug wert westen wetter wetterbericht wind winter wirtschaft woche wochen
wochenende wohnung wohnzimmer wolke wolle wort wunde wunsch wurst wurzel zahl zahlung zahn zahnarzt zahne zange zaun zecke
zeichen zeile zeit zeitung zelt zentrum zettel zeug zeuge ziel zimmer zins zoll zucker zufall zug zugang zukunft zunge zustand
zutat zutaten zweck zweig zwiebel zwilling
"""
# Ends of many surnames and places (`Holmberg`, `Neustadt`).
_NAME_ENDS = """
berg feld bach stadt mann heim wald hof dorf stein land hafen brand wein haus baum kamp ring eisen kreuz turm hahn grund bruch
blatt winter sommer silber huhn mais born vogel koch kern wolke horn eder
"""
# Nouns that are forms of themes; a compound with one belongs to the theme.
_THEMES = """
back badminton basketball buch chor chorsingen film flote foto fussball garten geige gitarre handball hockey judo karate
klavier kletter koch konzert kunst lauf malerei museum musik orchester reiten ruder schach schlagzeug schwimm schwimmen segel
skat ski strick tanz tennis theater topfer trompete turnen volleyball wander yoga
"""
# Words that prove German alone, and words that prove it only together.
_STRONG = """
aber auch auf aus bei beim bis bleibt damit dass diesmal durch fehlt fährt gegen gibt hast immer konnte können liefert liegt
läuft morgens möchten muss müssen nachts nächsten schickt schon sehr soll steht trotzdem über unter verlangt vielleicht während
wurden zahlt zwischen dass diese dieser dieses ein eine einem einen einer für gehen geht gestern haben hatten heisst
heißt heute ich ihm ihn ist jetzt kein keine keinem keinen kommt meine meinen mich mir mit mochte möchte nach nicht noch oder
ohne schon seit sich sie sind statt und uns unser unsere unseren vom wegen weil wenn werde werden wieder wir wird wurde zum
zur über hält inzwischen mindestens jede jeden stunden wochen tagen frühjahr geschlafen ungefähr
"""
_WEAK = """
ab am das dem den der des die hat ihr im ins mehr nie nur vor war zu zur
"""
_BEFORE_NOUNS = """
acht alle alte alten am andere anderem anderen anderer anderes ans beide beiden beim das dein deine deinem deinen deiner dem
den der des die diese diesen dieser dieses drei ein eine einem einen einer eines einige erste ersten fünf halbe ihr ihre ihrem
ihren ihrer ihres im ins jede jeden jeder jedes kein keine keinen letzte letzten mehr mein meine meinem meinen meiner meines
neue neuen neuer neues neun nächste nächsten sechs sein seine seinem seinen seiner seines sieben unser unsere unserem unseren
unserer viele vier vom zehn zum zur zwei zwölf
"""
_PEOPLE_BY_OFFICE = """
kollege kollegin chef chefin nachbar nachbarin vermieter vermieterin freund freundin bruder schwester kunde kundin lieferant
steuerberater hausarzt zahnarzt tierarzt trainer lehrer lehrerin hebamme partner partnerin nachfolger nachfolgerin
ansprechpartner ansprechpartnerin mann tochter sohn schwiegermutter schwiegervater cousin cousine neffe nichte enkel enkelin
ehemann ehefrau schwager schwagerin schwiegersohn schwiegertochter patenkind hund katze kater stute papagei kaninchen hamster
wellensittich meerschweinchen pferd pony
"""
# Ends of other such nouns: `Großhändler`.
_OFFICE_ENDS = """
handler lieferant arzt arztin berater beraterin anwalt anwaltin trainerin lehrer lehrerin pfleger pflegerin techniker
technikerin vermieter leiter leiterin trainer meister meisterin praktikant praktikantin therapeut therapeutin
kollege kollegin nachbar nachbarin chef chefin freund freundin
"""
# A kind of thing before its name, and parents, whose words are titles too: `den Roman Blue River`, `ihre Mutter Ulrike`.
KINDS_BEFORE = frozenset(
    ["roman", "buch", "film", "lied", "firma", "projekt", "dienst", "kunden", "verein", "mutter", "vater"]
)
# Before these, `Frau` is a wife: `seine Frau Ulrike`.
_SPOUSES_OF = ("sein", "ihr", "mein", "dein")
_LONG = 6
_SHORTEST_HEAD = 4
_LONGEST_SURNAME = 7
_SHORTEST_SINGULAR = 4
_SHORTEST_MODIFIER = 3
_SHORTEST_ABSTRACT = 7
_ADJECTIVE_ENDS = ("e", "en", "er", "es", "em")
_LETTERS = re.compile("[äöüß]")
_ENGLISH_WORDS = frozenset(
    ["the", "and", "of", "is", "with", "to", "for", "a", "from", "at", "his", "her", "my", "i", "it"]
)
_SHORTEST_PROFESSION = 9
_PLURALS = ("e", "en", "n", "s")
_SUFFIXES = (
    *("ungen", "ung", "heit", "heiten", "keit", "keiten", "schaft", "schaften"),
    *("tion", "tionen", "itat", "ismus", "nis", "nisse"),
)
_SURNAMES = frozenset(["kellner", "fuhrer", "meister", "backer", "handler", "friseur"])
_NO_NOUNS = frozenset(["oma", "opa", "tante", "onkel", "herr", "herrn", "frau", "mai", "mass"])

GERMAN_NOUNS = frozenset(_NOUNS.split()) - _NO_NOUNS
_HEADS = tuple(sorted(noun for noun in GERMAN_NOUNS - set(_NAME_ENDS.split()) if len(noun) >= _SHORTEST_HEAD))
_TELLING = frozenset(noun for noun in GERMAN_NOUNS - COMMON_WORDS if len(noun) >= _LONG)
_OFFICES = frozenset(_PEOPLE_BY_OFFICE.split())
_FULL_NAME_WORDS = 2
_WOMENS_OFFICES = ("erin", "orin", "istin")
_WOMENS_ENDS = (*_WOMENS_OFFICES, "arin", "eurin", "ologin")
_OFFICE_HEADS = tuple(_OFFICE_ENDS.split())
_OF_THEMES = frozenset(_THEMES.split())
_STRONG_WORDS = frozenset(_STRONG.split())
_WEAK_WORDS = frozenset(_WEAK.split())
_DETERMINERS = frozenset(_BEFORE_NOUNS.split())


def is_german(words: Iterable[str]) -> bool:
    """Return whether the words, in lower case, are German: one is in no other language, two are typical of German, or one is and
    another has a German letter, without a frequent English word.
    """
    every = frozenset(words)
    weak, telling = len(_WEAK_WORDS & every), len(_TELLING & every)
    is_spelled = bool(weak) and _ENGLISH_WORDS.isdisjoint(every) and any(map(_LETTERS.search, every))
    return not _STRONG_WORDS.isdisjoint(every) or weak > 1 or telling > 1 or is_spelled


def determines(word: str) -> bool:
    """Return whether a German common noun follows the word, in lower case, more often than a name: an article, a number."""
    return word.isdigit() or word in _DETERMINERS


def word_before(tokens: Sequence[str], at: int) -> str:
    """Return the token before the one at `at` in a German text, in lower case; before an adjective, the determiner: `einen`, of
    `einen alten Schrank`.
    """
    before, first = (tokens[place].lower() if place >= 0 else "" for place in (at - 1, at - 2))
    is_adjective = at > 0 and tokens[at - 1].islower() and before.endswith(_ADJECTIVE_ENDS)
    return first if is_adjective and first.isalpha() and determines(first) else before


def is_german_noun(key: str) -> bool:
    """Return whether the folded word is one of these nouns, or a plural of one."""
    return key in GERMAN_NOUNS or any(
        key.endswith(end) and len(key) - len(end) >= _SHORTEST_SINGULAR and key.removesuffix(end) in GERMAN_NOUNS
        for end in _PLURALS
    )


def is_german_theme(key: str) -> bool:
    """Return whether the folded word is a German noun that compounds of a theme are made of."""
    return key in _OF_THEMES


def is_no_surname(key: str) -> bool:
    """Return whether the folded word is one of these nouns and never a surname: a theme's (`Schach`), a long one, a compound of
    two (`Hustensaft`), or a woman's profession (`Buchhalterin`).
    """
    if key in _OF_THEMES or (len(key) >= _LONGEST_SURNAME and key in GERMAN_NOUNS - _SURNAMES):
        return True
    if len(key) >= _SHORTEST_PROFESSION and key.endswith(_WOMENS_ENDS):
        return True
    heads = (one for one in _HEADS if len(one) >= _LONGEST_SURNAME and key.endswith(one) and one not in _SURNAMES)
    return any(is_german_noun(key.removesuffix(head)) for head in heads)


def is_german_compound(key: str) -> bool:
    """Return whether the folded word ends in one of these nouns or in a suffix of abstract nouns."""
    if len(key) >= _SHORTEST_ABSTRACT and key.endswith(_SUFFIXES):
        return True
    return key.endswith(_HEADS) and any(
        key.endswith(head) and len(key) - len(head) >= _SHORTEST_MODIFIER for head in _HEADS
    )


def name_in(words: Sequence[str], keys: Sequence[str], *, is_initial: bool) -> tuple[int, int]:
    """Return the start and end of the name in a German run: after leading nouns, articles and offices, before trailing nouns."""
    start, end = 0, len(words)
    while is_initial and start < end - 1 and determines(words[start].lower()):
        start += 1
    if 0 < start < end - 1 and is_before_name(words[start - 1].lower(), keys[start]):
        start += 1
    joint = next((at for at in range(start + 1, end - 1) if words[at].lower() in CONNECTORS), 0)
    if joint and all(is_german_noun(noun) or is_german_compound(noun) for noun in map(_last_word, keys[start:joint])):
        start = joint + 1
    if end - start > _FULL_NAME_WORDS and keys[start].endswith(_WOMENS_OFFICES):
        start += 1
    while start < end - 1 and is_office(keys[start]):
        start += 1
    is_name = keys[start] not in ADDRESSES and not is_german_noun(keys[start])
    # `Obwohl Jonas da Dienst hat`, and not `Maria da Silva`.
    if is_name and words[end - 2 : end - 1] == ["da"] and end - 2 > start and _is_noun(keys[end - 1]):
        end -= 2
    last = end
    while is_name and end - 1 > start and is_no_surname(keys[end - 1]):
        end -= 1
    while last > end > start + 1 and words[end - 1].lower() in CONNECTORS:
        end -= 1
    return start, end


def is_office(key: str) -> bool:
    """Return whether the folded word is an office or a relative, which stands before its bearer: `Nachbar Emre`."""
    return key in _OFFICES or key.endswith(_OFFICE_HEADS)


def stands_before(key: str) -> bool:
    """Return whether the folded word stands before the name of what it means: an office, a relative or a kind of thing."""
    return is_office(key) or key in KINDS_BEFORE


def is_before_name(word: str, key: str) -> bool:
    """Return whether the folded word `key` after a word in lower case is a kind of thing or a wife, and a name may follow."""
    return determines(word) and (key in KINDS_BEFORE or (key == "frau" and word.startswith(_SPOUSES_OF)))


def is_thing(key: str) -> bool:
    """Return whether the folded word is such a noun or a compound of one, also in the plural, and none for a person."""
    return not is_office(key) and (
        is_german_noun(key) or any(is_german_compound(key.removesuffix(end)) for end in _PLURALS)
    )


def _is_noun(key: str) -> bool:
    return is_german_noun(key) or is_german_compound(key)


def _last_word(key: str) -> str:
    return key.rpartition(" ")[2]


def without_noun(word: str) -> str:
    """Return the name in a hyphenated compound: `Kiebitz` for `Kiebitz-Abschaltung`; else the word."""
    name, hyphen, noun = word.rpartition("-")
    key = plain_key(noun)
    return name if hyphen and name and (is_german_noun(key) or is_german_compound(key)) else word
