"""Words for times: months, days and periods, by language. Data only."""

from __future__ import annotations

from typing import Final

from store.text.texts import fold

MONTH_NAMES: Final = (
    "january jan januar jänner janeiro enero janvier gennaio januari января январь stycznia ocak يناير जनवरी",
    "february feb februar fevereiro febrero février febbraio februari февраля февраль lutego şubat فبراير फरवरी",
    "march mar märz marzo março mars maart марта март marca mart مارس मार्च",
    "april apr abril avril aprile апреля апрель kwietnia nisan أبريل ابريل अप्रैल",
    "may mai mayo maio maggio mei мая май maja mayıs مايو मई",
    "june jun juni junho junio juin giugno июня июнь czerwca haziran يونيو जून",
    "july jul juli julho julio juillet luglio июля июль lipca temmuz يوليو जुलाई",
    "august aug agosto août augustus августа август sierpnia ağustos أغسطس अगस्त",
    "september sep sept setembro septiembre septembre settembre сентября сентябрь września eylül سبتمبر सितंबर",
    "october oct oktober okt outubro octubre octobre ottobre октября октябрь października ekim أكتوبر अक्टूबर",
    "november nov novembro noviembre novembre ноября ноябрь listopada kasım نوفمبر नवंबर",
    "december december dezembro diciembre décembre dicembre декабря декабрь grudnia aralık ديسمبر दिसंबर",
)
"""The names of each month, January first."""

DAY_NAMES: Final = (
    "monday mon mondays montag segunda-feira lunes lundi lunedì maandag понедельник poniedziałek pazartesi الاثنين सोमवार",
    "tuesday tue tues dienstag terça-feira martes mardi martedì dinsdag вторник wtorek salı الثلاثاء मंगलवार",
    "wednesday wed mittwoch quarta-feira miércoles mercredi mercoledì woensdag среда среду środa çarşamba الأربعاء बुधवार",
    "thursday thu thurs donnerstag quinta-feira jueves jeudi giovedì donderdag четверг czwartek perşembe الخميس गुरुवार",
    "friday fri freitag sexta-feira viernes vendredi venerdì vrijdag пятница пятницу piątek cuma الجمعة शुक्रवार",
    "saturday samstag sonnabend sábado samedi sabato zaterdag суббота субботу sobota cumartesi السبت शनिवार",
    "sunday sonntag domingo dimanche domenica zondag воскресенье niedziela الأحد रविवार",
    "today heute hoje hoy aujourd'hui oggi vandaag сегодня dziś bugün اليوم आज",
    "yesterday gestern ontem ayer ieri gisteren вчера wczoraj dün أمس",
    "tomorrow morgen amanhã mañana demain domani завтра jutro yarın غدا",
)
"""The names of each day of the week, Monday first, then of today, yesterday and tomorrow."""

_STRETCHES = """
day days week weeks weekend weekends month months year years
tag tage tagen woche wochen wochenende wochenenden monat monate monaten jahr jahre jahren
dia dias semana semanas mês meses ano anos mes año años jour jours semaine semaines week-end mois an ans année années
giorno giorni settimana settimane mese mesi anno anni dag dagen weken maand maanden jaar jaren
dagar vecka veckor helg helgen månad månader år день дня дней дни неделя неделю недели недель выходные месяц месяца месяцев
год года лет dzień dni tydzień tygodnie tygodniu tygodni weekendzie miesiąc miesiące miesięcy rok roku lata lat
gün hafta sonu ay yıl
週末 今日 明日 昨日 今週 来週 先週 今月 来月 先月 今年 来年 去年 月曜 火曜 水曜 木曜 金曜 土曜 日曜 曜日
周末 今天 明天 昨天 后天 前天 这周 下周 上周 星期 明年 年后
오늘 내일 어제 주말 이번 다음 지난 올해 작년 내년 요일
"""

CALENDAR_WORDS: Final = frozenset(fold(" ".join((*MONTH_NAMES, *DAY_NAMES, _STRETCHES))).split())
"""All of them, folded, with words for periods; for scripts without spaces as pairs of characters."""
