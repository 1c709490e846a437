"""Countries, regions and street words as addresses spell them, folded: data only."""

from __future__ import annotations

_COUNTRIES = """
usa|us|u s a|united states|united states of america|estados unidos|canada|mexico|brazil|brasil|argentina|chile
colombia|peru|uruguay|ecuador|bolivia|costa rica|panama|cuba|guatemala|uk|united kingdom|england|scotland|wales
northern ireland|great britain|ireland|portugal|spain|espana|france|germany|deutschland|austria|osterreich
switzerland|schweiz|suisse|italy|italia|netherlands|nederland|the netherlands|holland|belgium|belgique|belgie
luxembourg|denmark|danmark|norway|norge|sweden|sverige|finland|suomi|iceland|island|poland|polska|czechia
czech republic|cesko|slovakia|hungary|magyarorszag|romania|bulgaria|greece|hellas|turkey|turkiye|croatia
slovenia|serbia|estonia|latvia|lithuania|ukraine|russia|japan|nippon|日本|china|中国|taiwan|hong kong|south korea
korea|india|thailand|vietnam|viet nam|malaysia|indonesia|philippines|singapore|australia|new zealand
south africa|morocco|maroc|egypt|kenya|nigeria|israel|united arab emirates|uae|saudi arabia|qatar|jordan|lebanon
nepal|sri lanka|pakistan|bangladesh|malta|cyprus|monaco|россия|украина|беларусь|ελλαδα|대한민국
"""
_REGIONS = """
alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|georgia|hawaii|idaho|illinois
indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri
montana|nebraska|nevada|new hampshire|new jersey|new mexico|new york|north carolina|north dakota|ohio|oklahoma
oregon|pennsylvania|rhode island|south carolina|south dakota|tennessee|texas|utah|vermont|virginia|washington
west virginia|wisconsin|wyoming|district of columbia|alberta|british columbia|manitoba|new brunswick|nova scotia
ontario|quebec|saskatchewan|prince edward island|new south wales|queensland|tasmania|victoria|south australia
western australia|northern territory|maharashtra|karnataka|tamil nadu|kerala|delhi|uttar pradesh|west bengal
telangana|gujarat|rajasthan|goa|punjab|haryana|antioquia|cundinamarca|valle del cauca|atlantico|bolivar
magdalena|santander|quindio|risaralda|caldas|boyaca|tolima|hokkaido|kanagawa|okinawa|aichi|hyogo|miyagi|ishikawa
ibaraki|tochigi|gunma|shiga|mie|ehime|kagawa|iwate|yamanashi|saitama prefecture|bavaria|bayern|hessen|hesse
sachsen|saxony|baden wurttemberg|nordrhein westfalen|north rhine westphalia|rheinland pfalz|ile de france
provence alpes cote d azur|auvergne rhone alpes|occitanie|bretagne|normandie|nouvelle aquitaine|grand est
catalonia|cataluna|catalunya|andalusia|andalucia|comunidad de madrid|pais vasco|bizkaia|gipuzkoa|galicia
comunitat valenciana|lombardy|lombardia|lazio|tuscany|toscana|veneto|sicily|sicilia|piedmont|piemonte|campania
emilia romagna|liguria|puglia|noord holland|north holland|zuid holland|south holland|utrecht province
noord brabant|gelderland|limburg|minas gerais|bahia|parana|pernambuco|ceara|santa catarina|rio grande do sul
distrito federal|jalisco|oaxaca state|quintana roo|yucatan|nuevo leon|baja california|baja california sur
guanajuato state|estado de mexico|greater london|greater manchester|west midlands|merseyside|county dublin
co dublin|kent|surrey|essex|cornwall|devon|dorset|somerset|norfolk|suffolk|cumbria|east sussex|west sussex
west yorkshire|north yorkshire|south yorkshire|tyne and wear|lisbon district|porto district|faro district
region metropolitana|santiago metropolitan region|western cape|gauteng|kwazulu natal
"""
_STREETS_FIRST = """
rua r av ave avda avenida avenue calle c cl carrer cra kr carrera rue via viale piazza piazzale corso largo lgo
plaza pl place praca praça praceta travessa tv estrada rodovia alameda al blvd boulevard quai chemin cours
passage paseo passeig p po ronda jalan jl calz calzada carretera autopista prolongacion privada diagonal diag
transversal strada ulica ul trg kossuth unit suite ste apt floor level shop local piso andar loja no nr s/n
"""
_STREETS_LAST = """
st street ave avenue av blvd boulevard rd road ln lane dr drive way pl place ct court sq square hwy highway pkwy
parkway ter terrace cres crescent row mews quay walk trail alley broadway esplanade circle cir loop plaza mall
utca ter tér ut út u ulice gade gata gatan vej vei soi daero gil ro jie lu
"""
_STREET_ENDINGS = (
    "strasse",
    "straße",
    "straat",
    "laan",
    "plein",
    "platz",
    "allee",
    "weg",
    "gasse",
    "gatan",
    "gata",
    "vagen",
    "damm",
    "ufer",
    "gracht",
    "kade",
)


def _listed(text: str) -> frozenset[str]:
    return frozenset(one.strip() for line in text.split("\n") for one in line.split("|") if one.strip())


COUNTRIES = _listed(_COUNTRIES)
REGIONS = _listed(_REGIONS)
STREETS_FIRST = frozenset(_STREETS_FIRST.split())
STREETS_LAST = frozenset(_STREETS_LAST.split())
STREET_ENDINGS = _STREET_ENDINGS
CITY_STATES = frozenset(["singapore", "monaco", "hong kong", "luxembourg"])
