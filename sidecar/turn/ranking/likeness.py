"""Decides whether a memory is like the question at all, however few memories there are to choose from.

The best of a few memories always looks relevant next to the others. So its likeness to the question is compared with that of
neutral sentences in many languages, because an embedder finds any two texts alike in a language that it hardly knows. A question
that is not about the user's own life ("How do I boil an egg?") requires more likeness. Turns of the same thread and documents
have no such bar.

If the neutral sentences are alike to any question, or the question's script is not Latin, the embedder does not know its language
and cosines tell little. Then the likeness is the sum of three log odds: the memory's relevance among the others, how far the
question is about the user's own life, and the share of its words that the memory holds in any form. A message that leans on a
thread in such a language is judged by the thread's words too: "Wer war das?" has no word in common with any memory.

A memory of high relevance passes the bar even so: "How is the starter fed?" is about the user's life if a memory says how. How
sensitive a memory is lowers or raises its bar (see `sensitivity`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.embedding.vector_parts import MINILM, MULTILINGUAL
from sidecar.turn.items import Item, Source
from sidecar.turn.ranking.worth import Spend

FEATURE: Final = "likeness"
"""The name of the feature: an item's cosine with the question, less the mean cosine of the four neutral sentences most like the
question, less a fifth of the share of the question's words that the item holds (common words make any two texts look alike), less
`aloofness`, plus `sensitivity.lenience`. In a language that the embedder does not know, it is `likenesses_by_words`.
"""

LEAST_LIKENESS: Final = {Spend.FRUGAL: 0.2, Spend.BALANCED: 0.0, Spend.FULL: None}
"""The least likeness of a recalled memory or page, for the built-in embedders; None is no bar. `python -m bench privacy` measures
how many private memories pass.
"""

_PERSONAL: Final = frozenset({Source.MEMORY, Source.WIKI})
_NEAREST: Final = 4
_COVERAGE_SLOPE = 0.2  # how much a cosine rises with the share of words in common
_MOSTLY_LED = 0.65
_THREAD_ALOOFNESS = 0.08
# Backgrounds: 98 of 100 English questions are below the first, and 92 of 100 questions in other languages above the second.
_KNOWN, _UNKNOWN = 0.3, 0.4
_RELEVANCE_WEIGHT, _WORDS_WEIGHT, _MOST_PERSONAL, _PERSONAL_IN_THREAD = 0.5, 6.0, 2.5, 1.5
_LEAST_ODDS, _ODDS_PER_LIKENESS = 3.4, 12.0
_TELLING_SHARE = 0.2  # a memory is much shorter than a thread, so it holds a fifth of the thread's words at best
_NOT_LATIN: Final = re.compile("[^\\W\\d_\u0000-\u024f\u1e00-\u1eff]")
_LETTER: Final = re.compile(r"[^\W\d_]")

_Vectors = NDArray[np.float64]


class Bar(NamedTuple):
    """The extra likeness to a question that a text needs: `least` for any question, plus `slope` for each unit by which the log
    odds that the question is about the user's own life are below `personal_from`.
    """

    personal_from: float
    slope: float
    least: float


BARS: Final = {MINILM: Bar(2.5, 0.07, 0.02), MULTILINGUAL: Bar(2.5, 0.12, 0.06)}
"""The bars by embedder. Among bars that 2 of 100 private memories of `bench/spend/privacy.json` pass, these keep the most
answers. MiniLM's also keeps the most memories that answer LoCoMo's questions.
"""


def background(parts: _Vectors, sentences: _Vectors) -> tuple[float, ...]:
    """Return for each part of a question the mean of its four highest cosines with neutral sentences."""
    return tuple(np.sort(parts @ sentences.T, axis=1)[:, -_NEAREST:].mean(axis=1).round(4).tolist())


def levels(parts: _Vectors, sentences: _Vectors) -> tuple[dict[str, float], ...]:
    """Return for each part of a question, by language, how far its cosines with neutral sentences in that language are below
    those in its own language.

    Even a multilingual embedder finds texts of the same language more alike.
    """
    cosines = (parts @ sentences.T).reshape(len(parts), len(LANGUAGES), -1)
    by_language = np.sort(cosines, axis=2)[:, :, -_NEAREST:].mean(axis=2)
    below = (np.array(background(parts, sentences))[:, None] - by_language).clip(0.0).round(4)
    return tuple(dict(zip(LANGUAGES, row, strict=True)) for row in below.tolist())


def likenesses(cosines: _Vectors, coverage: _Vectors, led: _Vectors, backgrounds: Sequence[float]) -> _Vectors:
    """Return each text's likeness, the best over the parts, given the parts' `backgrounds`; NaN without a vector.

    `led` is the share of the question that the typed edges to each text hold, 0 to 1; from 0.65 on it is the least likeness.
    """
    count = len(backgrounds)
    above = (cosines[:count] - np.array(backgrounds)[:, None] - _COVERAGE_SLOPE * coverage[:count]).max(axis=0)
    likeness = np.where(led >= _MOSTLY_LED, np.maximum(above, led), above)
    return np.asarray(np.where(np.isnan(cosines[0]), np.nan, likeness), np.float64)


def aloofness(personal: float, leaning: float, *, embedder: str = MINILM) -> float:
    """Return the deduction from every likeness of a message, given the log odds `personal` that it is about the user's own life.

    The numbers are in the embedder's `Bar`. To the extent that the message leans on its thread, the deduction is 0.08 instead,
    since such a message cannot be judged by itself.
    """
    bar = BARS[embedder]
    standalone = bar.least + bar.slope * max(0.0, bar.personal_from - personal)
    return (1 - leaning) * standalone + leaning * _THREAD_ALOOFNESS


def blindness(message: str, background: float) -> float:
    """Return how little an embedder trained on English knows the language of a message, 0 to 1, given the message's background.

    It is 1 if most letters are not Latin: for scripts without a language in `SENTENCES` the background tells nothing.
    """
    if 2 * len(_NOT_LATIN.findall(message)) > len(_LETTER.findall(message)):
        return 1.0
    return min(1.0, max(0.0, (background - _KNOWN) / (_UNKNOWN - _KNOWN)))


def likenesses_by_words(
    relevances: Sequence[float], shares: Sequence[float], personal: float, leaning: float
) -> _Vectors:
    """Return each text's likeness in a language that the embedder does not know, given its share of the question's words:

    (0.5 * log odds of its relevance + personal + 6 * share - 3.4) / 12

    `personal` are the log odds that the message is about the user's own life, clipped to -2.5 to 2.5. To the extent that the
    message leans on its thread, 1.5 takes their place.
    """
    relevant = np.clip(np.array(relevances, np.float64), 1e-6, 1 - 1e-6)
    standalone = min(_MOST_PERSONAL, max(-_MOST_PERSONAL, personal))
    by_relevance = _RELEVANCE_WEIGHT * np.log(relevant / (1 - relevant))
    odds = by_relevance + (1 - leaning) * standalone + leaning * _PERSONAL_IN_THREAD
    return np.asarray((odds + _WORDS_WEIGHT * np.array(shares) - _LEAST_ODDS) / _ODDS_PER_LIKENESS, np.float64)


def with_thread(own_shares: _Vectors, thread_shares: _Vectors, weight: float) -> _Vectors:
    """Return each text's share of a question's words, given its share of the words of the question in its thread.

    A fifth of the latter counts as all of them, times the thread's `weight`, 0 to 1. Measured on talks in German, Spanish and
    French: of the shares that let few private memories pass, this keeps the most answers.
    """
    return np.asarray(np.maximum(own_shares, weight * np.minimum(1.0, thread_shares / _TELLING_SHARE)), np.float64)


def likenesses_by_relevance(relevances: Sequence[float], blind: float = 0.0) -> _Vectors:
    """Return a lower bound for the likenesses of memories of these relevances: 4 * relevance - 3 - `blind`.

    So a relevance of .75 always passes for `balanced` and .8 for `frugal`, unless the embedder hardly knows the language (see
    `blindness`). Of 390 private memories offered to another question in English, one had a relevance of .7 and none of .8.
    """
    return 4 * np.array(relevances, np.float64) - 3 - blind


def unlike(item: Item, spend: Spend) -> str:
    """Return the reason why an item is too unlike the question to be recalled; empty if it is not, or its likeness is unknown."""
    least = LEAST_LIKENESS[spend]
    if least is None or item.source not in _PERSONAL:
        return ""
    likeness = item.features.likeness if item.features else None
    return f"its likeness of {likeness:.3f} is below {least:g}" if likeness is not None and likeness < least else ""


LANGUAGES: Final = (
    "en", "de", "pt", "es", "fr", "it", "nl", "pl", "sv", "ru", "tr", "ja", "zh", "ko", "ar", "hi"
)  # fmt: skip
"""The languages of `SENTENCES`, in the same order."""

SENTENCES: Final = (
    "The neighbours painted their fence green last weekend.",
    "She keeps her old letters in a wooden box.",
    "The new manager wants a report by Friday.",
    "He is afraid of dogs since he was a child.",
    "We bought bread and apples at the market.",
    "The train was late again this morning.",
    "My cousin plays the trumpet in a band.",
    "Please remember to close the windows at night.",
    "Die Nachbarn haben letztes Wochenende ihren Zaun grün gestrichen.",
    "Sie bewahrt ihre alten Briefe in einer Holzkiste auf.",
    "Der neue Chef will bis Freitag einen Bericht.",
    "Er hat seit seiner Kindheit Angst vor Hunden.",
    "Wir haben auf dem Markt Brot und Äpfel gekauft.",
    "Der Zug kam heute Morgen wieder zu spät.",
    "Mein Cousin spielt Trompete in einer Band.",
    "Bitte denk daran, nachts die Fenster zu schließen.",
    "Os vizinhos pintaram a cerca de verde no fim de semana passado.",
    "Ela guarda as cartas antigas numa caixa de madeira.",
    "O novo chefe quer um relatório até sexta-feira.",
    "Ele tem medo de cães desde criança.",
    "Comprámos pão e maçãs no mercado.",
    "O comboio atrasou-se outra vez esta manhã.",
    "O meu primo toca trompete numa banda.",
    "Lembra-te de fechar as janelas à noite.",
    "Los vecinos pintaron la valla de verde el fin de semana pasado.",
    "Ella guarda sus cartas viejas en una caja de madera.",
    "El nuevo jefe quiere un informe para el viernes.",
    "Tiene miedo a los perros desde niño.",
    "Compramos pan y manzanas en el mercado.",
    "El tren volvió a llegar tarde esta mañana.",
    "Mi primo toca la trompeta en una banda.",
    "Acuérdate de cerrar las ventanas por la noche.",
    "Les voisins ont peint leur clôture en vert le week-end dernier.",
    "Elle garde ses vieilles lettres dans une boîte en bois.",
    "Le nouveau chef veut un rapport pour vendredi.",
    "Il a peur des chiens depuis son enfance.",
    "Nous avons acheté du pain et des pommes au marché.",
    "Le train était encore en retard ce matin.",
    "Mon cousin joue de la trompette dans un groupe.",
    "Pense à fermer les fenêtres la nuit.",
    "I vicini hanno dipinto il recinto di verde lo scorso fine settimana.",
    "Lei conserva le vecchie lettere in una scatola di legno.",
    "Il nuovo capo vuole una relazione entro venerdì.",
    "Ha paura dei cani da quando era bambino.",
    "Abbiamo comprato pane e mele al mercato.",
    "Il treno era di nuovo in ritardo stamattina.",
    "Mio cugino suona la tromba in una banda.",
    "Ricordati di chiudere le finestre di notte.",
    "De buren hebben vorig weekend hun hek groen geverfd.",
    "Ze bewaart haar oude brieven in een houten kist.",
    "De nieuwe chef wil voor vrijdag een rapport.",
    "Hij is sinds zijn kindertijd bang voor honden.",
    "We kochten brood en appels op de markt.",
    "De trein was vanmorgen weer te laat.",
    "Mijn neef speelt trompet in een band.",
    "Denk eraan 's nachts de ramen te sluiten.",
    "Sąsiedzi pomalowali w zeszły weekend płot na zielono.",
    "Ona trzyma stare listy w drewnianym pudełku.",
    "Nowy szef chce raportu do piątku.",
    "On od dziecka boi się psów.",
    "Kupiliśmy na targu chleb i jabłka.",
    "Pociąg znowu spóźnił się dziś rano.",
    "Mój kuzyn gra na trąbce w zespole.",
    "Pamiętaj, żeby zamykać okna na noc.",
    "Grannarna målade sitt staket grönt förra helgen.",
    "Hon sparar sina gamla brev i en trälåda.",
    "Den nya chefen vill ha en rapport till fredag.",
    "Han har varit rädd för hundar sedan barndomen.",
    "Vi köpte bröd och äpplen på torget.",
    "Tåget var försenat igen i morse.",
    "Min kusin spelar trumpet i ett band.",
    "Kom ihåg att stänga fönstren på natten.",
    "Соседи в прошлые выходные покрасили забор в зелёный цвет.",
    "Она хранит старые письма в деревянной коробке.",
    "Новый начальник хочет отчёт к пятнице.",
    "Он с детства боится собак.",
    "Мы купили на рынке хлеб и яблоки.",
    "Поезд сегодня утром опять опоздал.",
    "Мой двоюродный брат играет на трубе в группе.",
    "Не забывай закрывать окна на ночь.",
    "Komşular geçen hafta sonu çitlerini yeşile boyadı.",
    "Eski mektuplarını tahta bir kutuda saklıyor.",
    "Yeni müdür cumaya kadar bir rapor istiyor.",
    "Çocukluğundan beri köpeklerden korkuyor.",
    "Pazardan ekmek ve elma aldık.",
    "Tren bu sabah yine gecikti.",
    "Kuzenim bir grupta trompet çalıyor.",
    "Geceleri pencereleri kapatmayı unutma.",
    "隣の人は先週末、柵を緑色に塗りました。",
    "彼女は古い手紙を木の箱にしまっています。",
    "新しい課長は金曜日までに報告書を求めています。",
    "彼は子供のころから犬が怖いです。",
    "市場でパンとりんごを買いました。",
    "今朝も電車が遅れました。",
    "いとこはバンドでトランペットを吹いています。",
    "夜は窓を閉めるのを忘れないでください。",
    "邻居上周末把篱笆漆成了绿色。",
    "她把旧信放在一个木盒子里。",
    "新来的经理星期五要一份报告。",
    "他从小就怕狗。",
    "我们在市场买了面包和苹果。",
    "今天早上火车又晚点了。",
    "我表弟在乐队里吹小号。",
    "晚上请记得关窗户。",
    "이웃들이 지난 주말에 울타리를 초록색으로 칠했습니다.",
    "그녀는 오래된 편지를 나무 상자에 보관합니다.",
    "새 부장은 금요일까지 보고서를 원합니다.",
    "그는 어릴 때부터 개를 무서워합니다.",
    "우리는 시장에서 빵과 사과를 샀습니다.",
    "오늘 아침에도 기차가 늦었습니다.",
    "내 사촌은 밴드에서 트럼펫을 붑니다.",
    "밤에는 창문을 닫는 것을 잊지 마세요.",
    "طلى الجيران سياجهم باللون الأخضر في نهاية الأسبوع الماضي.",
    "تحتفظ برسائلها القديمة في صندوق خشبي.",
    "يريد المدير الجديد تقريرا قبل يوم الجمعة.",
    "هو يخاف من الكلاب منذ طفولته.",
    "اشترينا الخبز والتفاح من السوق.",
    "تأخر القطار مرة أخرى هذا الصباح.",
    "يعزف ابن عمي على البوق في فرقة.",
    "تذكر أن تغلق النوافذ ليلا.",
    "पड़ोसियों ने पिछले सप्ताहांत अपनी बाड़ हरे रंग से रंगी।",
    "वह अपने पुराने पत्र लकड़ी के डिब्बे में रखती है।",
    "नए प्रबंधक को शुक्रवार तक रिपोर्ट चाहिए।",
    "वह बचपन से कुत्तों से डरता है।",
    "हमने बाज़ार से रोटी और सेब खरीदे।",
    "आज सुबह ट्रेन फिर देर से आई।",
    "मेरा चचेरा भाई एक बैंड में तुरही बजाता है।",
    "रात को खिड़कियाँ बंद करना याद रखना।",
)
"""Neutral sentences, about nothing in particular: the same eight in sixteen languages."""
