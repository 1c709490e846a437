"""Neutral sentences, about nothing in particular, with their vectors: what any two texts have in common (`likeness`).

The vectors stand in `neutral_sentences.npy`, in half precision, because computing them takes longer than all else at a start. It
is `np.save(FILE, Multilingual().encode(SENTENCES).astype(np.float16))`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.embedding.vector_parts import MINILM, MINILM_DIMENSIONS, MINILM_LENGTH, MULTILINGUAL

FILE: Final = Path(__file__).with_suffix(".npy")
"""The multilingual embedder's vectors of `SENTENCES`, 128 rows of 768 numbers. MiniLM's are a part of them."""

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


@cache
def vectors_of(embedder: str) -> NDArray[np.float64]:
    """Return a built-in embedder's vectors of `SENTENCES`, a row each. Raises KeyError for other embedders."""
    table: NDArray[np.float64] = np.load(FILE).astype(np.float64)
    return {MULTILINGUAL: table, MINILM: table[:, :MINILM_DIMENSIONS] / MINILM_LENGTH}[embedder]
