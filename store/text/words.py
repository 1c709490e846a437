"""Word lists: guard words (numbers, dates, negations) and stop words for search.

Data only, case-folded, without apostrophes ("dont"). A word is a guard if leaving it out would change a fact, and a stop
word only if it is noise in every language: "la", "us" and "mit" are not, being a city, a country and a school.
"""

from __future__ import annotations

import re

_NEGATIONS = """
no not never none nobody nothing neither nor without cannot cant wont dont doesnt didnt isnt arent wasnt werent
hasnt havent hadnt
wouldnt couldnt shouldnt mustnt neednt aint unable hardly barely
nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder
não nao nunca jamais nada ninguém ninguem nenhum nenhuma sem nem
jamás nadie ningún ninguno ninguna sin tampoco ni
ne pas rien aucun aucune sans non nest nétait nai nas na navait
"""

_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half quarter once
twice both
first second third fourth fifth sixth seventh eighth ninth tenth last
null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig dreissig vierzig fünfzig
hundert tausend million
halb erste ersten zweite zweiten dritte dritten letzte letzten
dois duas três tres quatro cinco seis sete oito nove dez onze doze vinte trinta cem mil milhão meio primeiro
primeira segundo segunda
dos cuatro siete ocho nueve diez doce veinte treinta cien ciento millón medio primero primera tercero tercera
deux trois quatre cinq sept huit neuf dix douze vingt trente cent mille moitié premier première deuxième
troisième
"""

_DATES = """
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow tonight
januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag
heute gestern morgen
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro hoje ontem amanhã
enero febrero marzo mayo junio julio septiembre octubre noviembre diciembre lunes martes miércoles jueves
viernes sábado domingo
hoy ayer mañana
janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi
vendredi samedi dimanche
aujourdhui hier demain
"""

_STOPS = """
a about after again all also am an and any are as at be because been before being between both but by can could
did do does doing
down during each few for from further had has have having he her here hers herself him himself his how i if in
into is it its itself
just me more most my myself of off on once only or other our ours ourselves out over own same she should so some
such than that the
their theirs them themselves then there these they this those through to too under until up very was we were
what when where which
while who whom why will with would you your yours yourself
der das und ist im von zu dem des ein eine einen einem einer eines auf für sich auch wie bei oder aber nach aus
wir ihr sie
ich wird sind wurde wer wo wann warum welche welcher welches
os um uma que é da das em na nos nas por para com ao aos à às se seu sua seus suas ou foi ser são está ele ela
quem onde quando qual quais
el los las una unos unas de del al en su sus lo es fue quién dónde cuándo cuál qué cómo
le une du et est qui dans sur avec ce cette ces il ils elles au aux où quand quel quelle ses leur leurs je tu
nous vous
です ます でし まし した して いる あり ある か は が を に で と も の から まで すか どこ いつ だれ なに 何で
"""

NEGATIONS = frozenset(_NEGATIONS.split())
"""Negations, in English, German, Portuguese, Spanish and French."""

GUARD_WORDS = frozenset(f"{_NEGATIONS} {_NUMBERS} {_DATES}".split())
"""Words whose change would change a fact, in English, German, Portuguese, Spanish and French."""

GUARD_RUNS = re.compile(
    "[零〇一二三四五六七八九十百千万億兆]+|[月火水木金土日]曜|昨日|今日|明日|ません|な[いくかし]|ずに|[無非不未没沒別别]"
)
"""The same for Japanese and Chinese, which are written without spaces."""

STOP_WORDS = frozenset(_STOPS.split())
"""Words left out of a question, in the same languages and Japanese. Never names or negations."""
