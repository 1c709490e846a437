"""Words that change a fact, by language: negations, months, days of the week and spelled-out numbers. Data only, folded.

English, German, Portuguese, Spanish and French negations come from `store.text.words`. That table must not grow, because stored
signatures depend on it; the other languages are added here.
"""

from __future__ import annotations

import re

from store.text.calendar_words import DAY_NAMES, MONTH_NAMES
from store.text.texts import fold
from store.text.words import NEGATIONS as KNOWN_NEGATIONS

_MORE_NEGATIONS = """
nor hardly barely unable neither nowhere keinerlei nirgends nirgendwo keinesfalls nunca nenhures personne guere ninguna
niente nulla nessuno nessun nessuna senza mica neanche nemmeno neppure
niet geen nooit niets niemand zonder nergens
inte ikke ikkje ej aldrig aldri ingen inget inga intet ingenting utan uten uden
ei eivat emme ette eika koskaan ilman
nie nigdy nic nikt bez ani zaden zadna zadne
neni nejsou nema nikdy nikdo nic zadny zadna
nem soha senki semmi nelkul sem ne nincs
nu niciodata nimeni nimic fara
degil yok hic hicbir asla olmadan
δεν δε μην μη οχι ποτε κανεις κανενας τιποτα χωρις ουτε
не нет никогда ничего никто ни без нельзя ні ніколи нічого ніхто немає няма никога
לא אין אף בלי אל מעולם
لا لم لن ليس ليست ليسوا لست غير بدون دون كلا ولا ولم ولن وليس فلا نه نیست نمی هرگز بدون
नहीं मत न ना बिना कभी না নয় নেই இல்லை لیس نہیں مت
안 못 없다 없음 없이 아니 아니다 아니라
khong chua chang dung tidak bukan jangan belum tanpa tak hapana hindi huwag
"""

_NUMBERS = (
    (0, "zero null nul cero ноль нуль sıfır صفر शून्य"),
    (2, "two twice zwei zwo zweite zweiten dois duas deux deuxième twee два две второго dwa iki اثنان دو दो"),
    (3, "three third drei dritte dritten três tres trois troisième tre drie три третьего trzy üç ثلاثة तीन"),
    (4, "four fourth vier vierte vierten quatro cuatro quatre quatrième quattro четыре cztery dört أربعة चार"),
    (5, "five fifth fünf fünfte fünften cinco cinq cinquième cinque vijf пять пятого pięć beş خمسة पांच"),
    (6, "six sixth sechs sechste sechsten seis sixième zes шесть sześć altı ستة छह"),
    (7, "seven seventh sieben siebte siebten sete siete sept septième sette zeven семь siedem yedi سبعة सात"),
    (8, "eight eighth acht achte achten oito ocho huit huitième otto восемь osiem sekiz ثمانية आठ"),
    (9, "nine ninth neun neunte neunten nove nueve neuf neuvième negen девять dziewięć dokuz تسعة नौ"),
    (10, "ten tenth zehn zehnte zehnten dez diez dix dixième dieci tien десять dziesięć عشرة दस"),
    (11, "eleven eleventh elf elfte onze undici одиннадцать jedenaście"),
    (12, "twelve twelfth dozen zwölf zwölfte doze doce douze dodici twaalf двенадцать dwanaście"),
    (13, "thirteen thirteenth dreizehn treze trece treize tredici dertien тринадцать trzynaście"),
    (14, "fourteen fourteenth vierzehn catorze catorce quatorze quattordici veertien четырнадцать czternaście"),
    (15, "fifteen fifteenth fünfzehn quinze quince quindici vijftien пятнадцать piętnaście"),
    (16, "sixteen sixteenth sechzehn dezesseis dieciséis seize sedici zestien шестнадцать szesnaście"),
    (17, "seventeen seventeenth siebzehn dezessete diecisiete diciassette zeventien семнадцать siedemnaście"),
    (18, "eighteen eighteenth achtzehn dezoito dieciocho diciotto achttien восемнадцать osiemnaście"),
    (19, "nineteen nineteenth neunzehn dezenove diecinueve diciannove negentien девятнадцать dziewiętnaście"),
    (20, "twenty twentieth zwanzig vinte veinte vingt venti twintig двадцать dwadzieścia yirmi عشرون बीस"),
    (30, "thirty thirtieth dreißig dreissig trinta treinta trente trenta dertig тридцать trzydzieści otuz ثلاثون तीस"),
    (40, "forty fortieth vierzig quarenta cuarenta quarante quaranta veertig сорок czterdzieści kırk أربعون चालीस"),
    (
        50,
        "fifty fiftieth fünfzig cinquenta cincuenta cinquante cinquanta vijftig пятьдесят pięćdziesiąt elli خمسون पचास",
    ),
    (60, "sixty sixtieth sechzig sessenta sesenta soixante sessanta zestig шестьдесят altmış ستون साठ"),
    (70, "seventy seventieth siebzig setenta settanta zeventig семьдесят yetmiş سبعون सत्तर"),
    (80, "eighty eightieth achtzig oitenta ochenta ottanta tachtig восемьдесят seksen ثمانون अस्सी"),
    (90, "ninety ninetieth neunzig noventa novanta negentig девяносто doksan تسعون नब्बे"),
    (100, "hundred hundert cem cento cien ciento cent honderd сто sto yüz مائة مئة सौ"),
    (1000, "thousand tausend mil mille duizend тысяча тысяч tysiąc ألف हज़ार"),
    (10**6, "million millionen milhão millón milione miljoen миллион milion milyon مليون"),
    (10**9, "billion milliarde milliarden miliardo miljard миллиард milyar مليار"),
)

NEGATIONS = KNOWN_NEGATIONS | frozenset(map(fold, _MORE_NEGATIONS.split()))
"""Words that negate their clause, folded and without apostrophes ("dont")."""

NEGATION_RUNS = re.compile(
    "ない|なかった|なく|ません|ずに|なし|ぬ(?=[。、]|$)|[不无無没沒非未别別勿莫]|않|못하|없|아니|ไม่|ບໍ່|មិន|မ(?=[က-အ])"
)
"""Negations within words, in scripts without spaces or with negations joined to the verb."""

MONTHS = {fold(word): number for number, words in enumerate(MONTH_NAMES, 1) for word in words.split()}
"""Month numbers by name."""

DAYS = {fold(word): number for number, words in enumerate(DAY_NAMES, 1) for word in words.split()}
"""Weekday numbers by name, 1 for Monday; 8, 9 and 10 are today, yesterday and tomorrow."""

NUMBERS = {fold(word): number for number, words in _NUMBERS for word in words.split()}
"""Numbers by name, without those that are common words in another language: one, first, second, due, dos, once, sei."""

MAY_BE_NO_DATE = frozenset(["may", "march", "mar", "mars", "sep", "dec", "mon", "wed", "fri", "mart", "mei"])
"""Names of months and days that are also common words; they are dates only when capitalised."""
