"""Recognises messages that only thank or acknowledge, in nineteen languages.

The form of "большое спасибо" is that of a short question, and the English embedder does not know what it means.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from store.text.texts import fold

_READ_CHARS: Final = 80
_WORDS: Final = """
    ok okay thanks thank thx perfect great cool awesome excellent wonderful understood gracias vale perfecto genial estupendo
    entendido obrigado obrigada valeu perfeito ótimo beleza entendi merci parfait génial compris danke dankeschön klar
    verstanden prima toll grazie perfetto ottimo benissimo capito bedankt dank dankjewel begrepen oké tack toppen perfekt
    dzięki dziękuję świetnie rozumiem teşekkürler teşekkür sağol tamam harika anladım спасибо хорошо отлично понятно ладно
    понял поняла прекрасно замечательно супер ок дякую зрозуміло شكرا حسنا ممتاز رائع تمام مفهوم धन्यवाद शुक्रिया बढ़िया अच्छा
    ठीक समझ תודה מעולה ευχαριστώ ありがとう ありがとうございます ありがとうございました 了解 了解です 了解しました わかりました
    分かりました 承知しました なるほど 고마워 고마워요 고맙습니다 감사합니다 알겠습니다 좋아요 谢谢 謝謝 多谢 非常感谢 好的
    明白了 知道了 太好了 收到
"""
_BESIDE: Final = """
    you so much very a lot many again muchas muy muito beaucoup très vielen sehr alles mille molto je wel bardzo çok ederim
    большое очень вам тебе дуже جزيلا جدا है बहुत गया गई רבה πολύ どうも 네 정말 你 您 super
"""


def _folded(text: str) -> frozenset[str]:
    """Return the folded words of a text, which marks and symbols separate. In Hindi, vowels are marks inside of words."""
    kept = (" " if unicodedata.category(sign)[0] in "PSZC" else sign for sign in text)
    return frozenset(fold("".join(kept)).split())


_ACKNOWLEDGING: Final = _folded(_WORDS)
_ALL: Final = _ACKNOWLEDGING | _folded(_BESIDE)


def only_acknowledges(text: str) -> bool:
    """Return whether a message consists of thanks and acknowledgements alone, and is no question."""
    if len(text) > _READ_CHARS or not {"?", "？", "؟"}.isdisjoint(text):
        return False
    words = _folded(text)
    return words <= _ALL and not words.isdisjoint(_ACKNOWLEDGING)
