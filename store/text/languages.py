"""Guesses the language of a short text: by its script, and by the function words of ten languages in Latin script."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from store.text.texts import fold

UNKNOWN: Final = ""
_READ_CHARS: Final = 600
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3041-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_WORDS: Final = {
    "en": """
        the a an of to in on at is are was were and my our your his her their i we you he she it they not from for with
        by has have had will would that this what when where who which how do does did be been after before about as
    """,
    "de": """
        der die das den dem des ein eine einen einem ist sind war und mein meine unser unsere ich wir sie er es nicht
        von vom zum zur im am mit für auf bei hat haben wird werden wann wo wer was wie welche nach aus zu sich auch
        noch dass
    """,
    "pt": """
        o os as um uma de do da dos das em no na nos nas e é são foi meu minha nosso nossa eu nós ele ela não com para
        por ao à que quando onde quem qual quais quanto tem têm está às pela pelo seu sua já depois
    """,
    "es": """
        el los las un una unos de del en y es son fue mi mis nuestro nuestra yo nosotros él ella no con para por al que
        cuándo dónde quién qué cuál cuánto tiene tienen está se su sus ya hay después lo le
    """,
    "fr": """
        le les un une des du de en et est sont mon ma mes notre nos je nous il elle ne pas avec pour par au aux que
        quand où qui quel quelle combien a ont se son sa ses dans sur chez c'est j'ai l'an ce cette
    """,
    "it": """
        il lo gli un una di del della dei delle in nel nella e è sono mio mia nostro nostra io noi lui lei non con per
        da dal che quando dove chi quale quanto ha hanno si suo sua al alla ci abbiamo ho cosa
    """,
    "nl": """
        de het een van in op is zijn was en mijn ons onze ik wij we hij zij niet met voor bij naar dat wat wanneer waar
        wie welke hoe heeft hebben wordt te aan om er ook nog uit je
    """,
    "pl": """
        w na z do od i jest są był była mój moja moje nasz nasza ja my on ona nie się że co kiedy gdzie kto jaki który
        ile ma mają po dla przez jak o u ze będzie mnie
    """,
    "sv": """
        en ett den det de i på är var och min mitt mina vår jag vi han hon inte med för av till som vad när var vem
        vilken hur har hade ska att om från sig på efter eller
    """,
    "tr": """
        bir ve bu şu o ben biz sen siz benim bizim ne zaman nerede kim hangi kaç nasıl için ile de da mi mı mu mü değil
        var yok çok daha sonra gibi kadar her en
    """,
}
_LANGUAGES_OF: Final = {
    word: frozenset(language for language, words in _WORDS.items() if word in words.split())
    for words in _WORDS.values()
    for word in words.split()
}
_POSSESSIVES: Final = """
    my your his her its our their mine some any
    mein meine meinen meinem meiner meines dein deine unser unsere unseren unserem unserer sein seine ihr ihre einer eines
    meu minha meus minhas teu tua seu sua nosso nossa nossos nossas uns umas
    mis nuestro nuestra nuestros nuestras unos unas
    mon mes notre nos leur leurs
    mio mia mie miei nostro nostra nostri nostre dei degli
    mijn onze ons hun zijn haar
    mój moja moje mojego mojej mojemu mojym moim moją moich nasz nasza nasze naszego naszej
    můj moje moji mého mému mojí mojich náš naše našeho naší
    min mitt mina vår vårt våra din dina mit mine vores
    мой моя моё мое мои моего моей моему моим мою моих наш наша наше наши нашего нашей нас мне меня
    мій моє мого моєї моєму моїм моїх наш наша нашого нашої мене мені
    benim bizim senin bana bize beni
    मेरा मेरी मेरे हमारा हमारी हमारे मुझे मैं
    μου μας σου του της
    שלי שלנו שלו שלה
    saya kami kita tôi của chúng
"""
FUNCTION_WORDS: Final = frozenset(map(fold, (*_LANGUAGES_OF, *_POSSESSIVES.split())))
"""Words that say little about a text's subject, folded: function words of ten languages, possessives of twenty-five."""


@lru_cache(maxsize=4_096)
def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the most likely language of a text's beginning, of sixteen; empty if there is no evidence.

    A function word of several languages counts as an equal share for each.
    """
    read = text[:_READ_CHARS]
    for language, signs in _SCRIPTS:
        if signs.search(read):
            return language
    shares = dict.fromkeys(_WORDS, 0.0)
    for word in _WORD.findall(read.casefold()):
        known = _LANGUAGES_OF.get(word, ())
        for language in known:
            shares[language] += 1 / len(known)
    second, first = sorted(shares.values())[-2:]
    return max(shares, key=shares.__getitem__) if first > second else UNKNOWN
