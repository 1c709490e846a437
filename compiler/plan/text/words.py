"""Capitalised words that are not names, folded: data only."""

from __future__ import annotations

from store.text.words import STOP_WORDS

_CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun weekday
weekend mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends
january february march april may june july august september october november december jan feb mar apr
jun jul aug sep sept oct nov dec spring summer autumn fall winter today tomorrow yesterday tonight montag
dienstag mittwoch donnerstag freitag samstag sonntag januar februar marz juni juli oktober dezember lunes martes
miercoles jueves viernes sabado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre
noviembre diciembre segunda terca quarta quinta sexta janeiro fevereiro marco maio junho julho setembro outubro
novembro dezembro lundi mardi mercredi jeudi vendredi samedi dimanche janvier fevrier avril mai juin juillet
aout septembre octobre decembre am pm
"""
_INTERJECTIONS = """
hi hey hello hiya howdy yo greetings dear wow whoa ooh oh ah aha aww aw haha hahaha hehe lol lmao rofl omg
yay yep yeah yea yes yup ohh umm
alright personally
nope no nah ok okay sure thanks thank thx ty congrats congratulations cheers bye goodbye goodnight morning
evening afternoon welcome sorry please absolutely totally definitely exactly indeed agreed right great good nice
cool awesome amazing fantastic wonderful lovely beautiful perfect excellent brilliant sweet super incredible
impressive gorgeous stunning glad happy sad true fun well hmm hm um uh gosh geez jeez damn darn ugh oof ouch
phew hooray bravo yum mmm hear man dude girl bro sis hola ola bom boa obrigado obrigada gracias danke hallo
bonjour merci ciao salut
"""
_NUMBERED = "level stage grade class year room platform gate unit phase chapter part section stufe klasse nivel fase"
_OPENERS = """
hab hatt gib geh komm sag schau guck nimm lass werd mocht wurd konnt
i im ive id ill me my mine myself you your yours youre youve we were weve our ours us he hes his him she shes
her hers it its they theyre their theirs them this that thats these those there theres here heres who whos whose
what whats which when where wheres why how hows if then than though although because since while until unless as
at by for from in into of off on onto out over to under up with without within and or but so nor yet also too
just only even still already again ever never always often sometimes usually maybe perhaps probably possibly
actually basically honestly hopefully luckily fortunately unfortunately sadly finally eventually recently lately
currently meanwhile anyway besides however therefore otherwise instead plus later soon once before after during
about above across against along among around behind below beneath between beyond despite down except inside
like near outside past per through throughout toward towards upon via a an the some any every each all both few
many much more most other others another such same several one two three four five six seven eight nine ten
first second third last next new old big small long short high low best am is are was be been being have has had
having do does did doing done dont doesnt didnt will would wont wouldnt can could cant couldnt shall should
shouldnt may might must let lets get gets got getting go goes going gone went come came coming make made making
take took taking taken see saw seen seeing say said says saying tell told think thought know knew known want
wanted need needed try tried trying use used using find found give gave keep kept look looked looking looks
sound sounds feel felt feels feeling seem seems hear heard remember remind reminds love loved loving liked enjoy
enjoyed hope hoping wish wait believe guess bet mean means meant ask asked work worked working play played
playing start started stop stopped help helped show showed call called meet met talk talked spend spent bring
brought buy bought eat ate drink drank read reading write wrote watch watched learn learned live lived move
moved run ran walk walked stay stayed leave left put set turn turned visit visited check checked plan planned
planning win won lose lost pay paid send sent join joined share shared sharing moved booked ordered added
visiting having nothing something anything everything someone anyone everyone nobody everybody somebody people
person thing things stuff way time times day night days nights week weeks month months year years life world
home house work job school family friend friends mom dad mum mother father sister brother son daughter kid kids
baby wife husband grandma grandpa aunt uncle cousin guys folks photo photos picture pictures pic pics image
video question answer note notes update reminder todo idea decision decided reversed decisao decidido entscheidung beschluss
entschieden beschlossen abgemacht vereinbart acordado acordamos
combinado decidimos agreed goal
goals status task tasks action actions result results problem issue warning fact subject topic agenda attendees location yes
no not nor none neither either whether whatever
whenever wherever whoever image shared caption speaker user nutzer nutzerin benutzer benutzerin anwender anwenderin
usuario usuaria utilizador utilizadora utilisateur utilisatrice assistant system human agent summary context memory
mit bei nach com avec chez o hoy ayer ahora hace ontem hoje agora heute gestern jetzt neulich bitte seit neu neue neuer neues
neuen immer wieder
nuevo nueva nuevos nuevas novo nova novos novas siempre sempre tambien tambem cuando quando segun segundo fui hable llame compre
pague tengo quiero hay falta faltan paguei comprei falei liguei tenho quero habe bin muss meine mein unsere unser unsre reunion
reuniao besprechung cambiamos compramos cambiar llamar ligar comprar anrufen llego llegaron chegou chegaram
kilo kilos gramm gram grams liter liters litre litres meter meters kilometer kilometers mile miles euro euros dollar dollars
prozent percent uhr stuck customer client vendor supplier colleague
die con sin era uno muy eso esa ese esto asi dia tres cinco nao sim sem pra essa tem vai vem deu fez ja ver ya si te un ont pas
mal nur nun war hat bis vor zur zum dort denn kein god gott dieu dios deus ano anos jahr jahre
true false null none unknown taking making keeping losing finding seeing hearing getting being knowing talking
looking thinking trying working now havent hasnt hadnt isnt arent wasnt werent aint mustnt neednt theyve
mr mrs ms dr prof sir madam rent lunch dinner breakfast coffee
"""

_PEOPLES = """
american british english scottish welsh irish canadian mexican brazilian argentine argentinian chilean colombian peruvian cuban
french german austrian swiss italian spanish portuguese catalan basque dutch belgian danish norwegian swedish finnish icelandic
polish czech slovak hungarian romanian bulgarian greek turkish croatian serbian ukrainian russian japanese chinese korean thai
vietnamese indonesian malaysian filipino indian pakistani nepali australian african asian european latin arabic hebrew persian
iranian israeli egyptian moroccan nigerian kenyan ethiopian maltese estonian latvian lithuanian slovenian bosnian albanian
macedonian belarusian armenian kazakh uzbek afghan iraqi syrian lebanese jordanian palestinian saudi yemeni algerian tunisian
libyan sudanese somali eritrean ghanaian senegalese ivorian cameroonian congolese angolan zimbabwean zambian tanzanian ugandan
rwandan bengali bangladeshi tamil punjabi gujarati urdu hindi burmese cambodian laotian singaporean taiwanese cantonese mandarin
mongolian tibetan hawaiian samoan maori fijian jamaican haitian honduran salvadoran guatemalan nicaraguan venezuelan ecuadorian
bolivian paraguayan uruguayan galician breton cornish flemish frisian bavarian sicilian sardinian tuscan parisian londoner
nepalese sinhalese balinese javanese uyghur malay khmer azerbaijani moldovan montenegrin kosovan omani
qatari emirati kuwaiti bahraini mauritian malagasy gambian namibian mozambican malawian burundian surinamese togolese beninese
guyanese faroese kurdish yoruba igbo hausa swahili xhosa amharic farsi tagalog trinidadian bahamian barbadian
luxembourgish greenlandic quechua aymara guarani
scandinavian nordic caribbean mediterranean polynesian lutheran protestant anglican methodist presbyterian jewish christian
catholic muslim buddhist hindu western eastern
deutsch portugues espanol ingles francais utc gmt tv pc ai faq diy asap rip ceo cto cfo coo hr phd url pdf
api apis sdk cli http https html json xml csv sql db dba sre cpu gpu ram ssd dns tls ssl ssh vpn ci cd pr prs qa ui ux kpi
kpis okr okrs sla slo arr mrr roi nps
iban bic iva mwst vat sms wlan wifi gps
kb mb gb tb pb mhz ghz kwh kw mw km cm mm kg mg ml usd eur gbp chf brl nok sek dkk isk pln czk huf jpy cny
inr aud nzd zar ngn kes myr sgd hkd thb krw
"""
_NOTE_LABELS = """
bug bugs fix fixed hotfix todo feature chore refactor note update reminder emergency urgent warning alert
"""
_FIRST_PERSON = """
i im ive id ill me my mine myself we were weve wed well us our ours ourselves
ich mich mir mein meine meinen meinem wir uns unser unsere eu me mim meu minha meus minhas nos nosso nossa yo mi mis conmigo
nosotros nuestro nuestra je moi mon ma mes nous notre nos io mio mia noi nostro ik mij mijn wij ons onze
"""
_VENUES = """
a an and at by co company da de del di el in inc la le les los ltd of on the und y restaurant restaurants
ristorante restaurante cafe caffe coffee house bar bars grill grille grills bistro brasserie kitchen diner
eatery cuisine cuisines food foods bakery deli delicatessen pizza pizzeria sushi ramen noodle noodles taqueria
tacos trattoria osteria tavern taverna pub brewery brewing brewpub winery wine wines lounge club steakhouse
steak seafood bbq barbecue barbeque buffet tea teahouse room rotisserie cantina chophouse roadhouse gastropub
creamery donuts juice daycare nursery preschool izakaya american asian chinese japanese thai indian mexican italian french korean
vietnamese greek turkish spanish mediterranean persian peruvian malaysian ethiopian burmese nepalese himalayan
cantonese szechuan sichuan hunan halal vegetarian vegan authentic fine fresh original famous hotel hotels inn
inns suites suite motel motels resort resorts spa lodge hostel residence residences apartments apartment luxury
collection hilton marriott hyatt wyndham sheraton doubletree ihg store stores shop shops market center centre
clinic dental dentistry salon studio spa gym fitness gallery museum dr md dds dmd
"""

_COMPANIES = """
gmbh ag kg ug ohg ev inc llc ltd plc corp corporation limited sl sa sas srl lda ltda bv nv oy ab spa group holding
"""

_NAMING = """
named called nicknamed dog cat puppy pup kitten pet horse friend sister brother cousin aunt uncle son daughter wife husband
boyfriend girlfriend partner roommate flatmate housemate bandmate teammate classmate coworker mate coach boss neighbor niece
nephew baby boy girl kid mum mom mother father dad grandma grandmother grandpa grandfather granddad stepmother stepfather
stepson stepdaughter stepsister stepbrother granddaughter grandson fiance fiancee llamado llamada chamado chamada genannt namens
perro perra gato gata cachorro cachorra loro caballo yegua conejo hund katze
kater papagei hamster madre padre mae pai amigo amiga hermano hermana irmao irma schwester bruder freund freundin chien
ami amie soeur frere teacher tutor therapist plumber electrician landlord landlady dentist nurse colleague profesor profesora
tutora fontanero medico medica dentista lehrer lehrerin hausmeister hebamme arzt arztin professora encanador professeur
neighbour nachbar nachbarin kollege kollegin chef chefin mann ehemann partnerin vater mutter tante onkel oma opa marido esposo
esposa pareja vecino vecina jefe jefa tia tio prima primo abuela abuelo vizinho vizinha chefe tia avo colega mari femme copain
copine voisin voisine patron hija hijo suegro suegra cunado cunada filha filho sogro sogra cunhado cunhada tochter sohn schwager
schwagerin
"""
_ADDRESSES = """
aunt auntie uncle miss doctor professor chef don dona dom doctora doutor doutora dottore dottoressa tante oncle tia tio zia zio
captain coach judge matron officer pastor rabbi sergeant sheriff detective lieutenant colonel kapitan pfarrer capitan capitao
capitaine padre
"""
_SHORT_TITLES = "dr dra prof rev revd capt sgt mr mrs ms"
_TITLES = "sr sra srta hr fr mme ing"
# Forms of address that are never a name alone.
_HONORIFICS = """
senhor senhora senor senora senorita frau herr madame mme monsieur mlle signor signora sr sra
"""

_THIRD_PERSON = """
he hes his him she shes her hers it its they theyre theyve their them
er sie es ihr ihre ihren ihrem ihrer sein seine seinen seinem seiner ihm ihn dessen deren dieser diese dieses
ella ellos ellas su sus le les ela ele eles elas dela dele deles delas seu sua seus suas elle il ils elles son sa ses leur
"""
# Verbs in the third person with only people as subjects.
_PERSONAL = """
wants wanted likes liked loves loved hates prefers says said told thinks asked called lives lived plays played studies teaches
feels wrote bought visited retired
agrees agreed refuses refused promised invited laughs complains complained recommends recommended suggests suggested reports
reported offers offered sends sent teaches taught cooks sings speaks texted emailed apologized insists knows forgot married
knits
cycles paints remembers worries wonders
will mag wohnt lernt meint findet sagt sagte isst liebt heisst
mochte wollte trainiert reitet rudert kocht erzahlt erzahlte fragt fragte bittet verspricht lacht singt unterrichtet studiert
empfiehlt beschwert weigert glaubt hofft
vergisst bezahlt antwortet putzt
quiere dice dijo vive prefiere pide propone cocina recomienda ensena enseno ofrece ofrecio cree piensa estudia canta invito
cuenta
conto pregunta pregunto llamo escribe escribio prometio odia adora aconseja sugiere trabaja
quer diz disse mora prefere pediu cozinha recomenda ensina ensinou ofereceu acha estuda convidou perguntou ligou escreve
escreveu
prometeu odeia sugere contou trabalha
recommande enseigne propose croit pense etudie chante demande appelle promet deteste adore travaille habite
"""
# Nouns at the beginning of a sentence, before `of` and a person: `Casamento da Luísa`.
_OCCASIONS = """
casamento aniversario boda cumpleanos reuniao reunion visita festa fiesta entrega pedido proposta propuesta pagamento pago
consulta
cita viagem viaje contrato orcamento presupuesto encomenda contato contacto telefone telefono email endereco direccion filho
filha
hijo hija mae madre pai padre irmao irma hermano hermana esposa marido dono dueno duena gerente chefe jefe jefa medico medica
aula
clase prova examen resultado conselho consejo ideia receita receta conta cuenta factura fatura
wedding birthday meeting visit feedback invoice contact number address quote
"""
# Verbs in the third person with a person or thing as their subject, so that the word before them is a name.
_PREDICATES = """
is was has had wants wanted likes liked loves loved hates prefers says said told thinks called asked works worked lives lived
moves moved leaves left joins joined starts started owns leads runs manages handles covers needs knows goes went got comes came
will plays played studies teaches turned turns feels takes took made makes gave gives brought bought visits visited wrote writes
retires retired isnt wasnt doesnt didnt hasnt hadnt does lets slept threw drove
ist war hat hatte will mag kommt kam geht ging wohnt zieht lernt spielt spielte arbeitet heisst kann muss soll sagt sagte meint
findet ruft rief macht braucht isst trinkt bekommt bekam lebt fahrt leitet ubernimmt schreibt hilft wurde wird liebt kennt
feiert
vertragt frisst besucht
es era esta estaba tiene tenia quiere dice dijo viene vino va fue vive trabaja llama llamo prefiere necesita lleva propone avisa
aviso pide ha habia sabe puede empieza empezo trajo cobra hace hizo cumple gusta
estava tem tinha quer diz disse vem veio vai foi mora trabalha ligou precisa leva propos avisou pede faz fez sabe pode comecou
trouxe gosta virou saiu chega
est etait a avait veut dit vient vit travaille prefere aime sait peut fait pense demande propose parle chante habite arrive prend
commence conseille raconte
found lost met knew hit kept broke ate quoted cleans drives insures delivers charges closes opens sells sold covers costs
supports runs ran uses writes reads owns sits sleeps
verlangt bietet holt fahrt kummert plant nimmt nahm bringt brachte holt holte liefert lieferte kostet schliesst offnet verkauft
schlaft sitzt steht liegt lag darf will bleibt blieb
duerme toca vende cuesta cierra abre llega llego sale salio entrega paga pago queda quedo sigue
dorme toca vende custa fecha abre chega chegou sai saiu entrega paga pagou fica ficou
"""

# Irregular past forms of English verbs.
_PASTS = """
began bent bit bled blew bred broke built burnt caught chose clung cost crept cut dealt dug drank drew dreamt drove fed fell
fought flew fled forgave forgot froze grew held heard hid hurt hung knelt laid lay led leant leapt learnt lent let lit meant paid
proved put read rode rose rang sank sang sat saw sent set shone shook shot shrank shut slid slept slung spat sped spelt spent
spilt spoke sprang spun stank stole stood stuck stung struck swam swept swore swung taught thought threw tore trod understood woke
won wore wept withdrew wound
"""
FIRST_PERSON = frozenset(_FIRST_PERSON.split())
SECOND_PERSON = frozenset(
    [
        "you",
        "your",
        "yours",
        "youre",
        "youve",
        "yourself",
        "du",
        "dein",
        "deine",
        "voce",
        "seu",
        "sua",
        "tu",
        "tus",
        "toi",
        "vous",
        "votre",
    ]
)
THIRD_PERSON = frozenset(_THIRD_PERSON.split())
OCCASIONS = frozenset(_OCCASIONS.split())
PERSONAL = frozenset(_PERSONAL.split())
PREDICATES = frozenset((_PREDICATES + _PERSONAL).split())
PASTS = frozenset(_PASTS.split())
INTERJECTIONS = frozenset(_INTERJECTIONS.split())
NAMING = frozenset(_NAMING.split())
SHORT_TITLES = frozenset(_SHORT_TITLES.split())
TITLES = SHORT_TITLES | frozenset(_TITLES.split())
HONORIFICS = frozenset(_HONORIFICS.split())
# Forms of address after a name: `Aoki-san`.
HONOURED = "san|kun|chan|sama|sensei"
ADDRESSES = HONORIFICS | frozenset(_ADDRESSES.split())
NAME_OPENERS = frozenset(["New", "Big", "Van"])
# They open names except at the start of a sentence: `at La Serena` has one, `De Madrid a Lisboa` has none.
INNER_OPENERS = frozenset(["De", "Di", "Von", "La", "Le", "El"])
GENERIC = frozenset((_VENUES + _COMPANIES).split())
INSERTED = frozenset(["and", "by", "hotel", "hotels", "inn", "of", "suites", "the"])
ALWAYS_CAPITAL = frozenset(
    (_CALENDAR + " i im ive id ill mr mrs ms dr prof rev revd capt sgt sir madam ok omg lol").split()
)
CONNECTORS = frozenset(
    [
        "of",
        "the",
        "de",
        "da",
        "do",
        "dos",
        "das",
        "del",
        "della",
        "di",
        "du",
        "des",
        "la",
        "le",
        "van",
        "von",
        "der",
        "den",
        "&",
    ]
)
# Words that a number belongs to: `an RYA Level 2 course` names the RYA.
NUMBERED = frozenset(_NUMBERED.split())
NO_NAMES = frozenset((_CALENDAR + _INTERJECTIONS + _OPENERS + _PEOPLES).split()) | STOP_WORDS
# Labels of notes, before a colon: `Bug: the queue was full`.
NOTE_LABELS = frozenset(_NOTE_LABELS.split())
