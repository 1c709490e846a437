"""Postal addresses of many countries, as maps write them, and the city in each."""

from __future__ import annotations

import pytest

from compiler.plan.places.address_words import COUNTRIES
from compiler.plan.places.addresses import city_of_address, is_address
from compiler.plan.text.markdown import plain_key
from tests.support.each import each

ADDRESSES = {
    "900 E 11th St, Austin, TX 78702, USA": "Austin",
    "1100 S Lamar Blvd, Austin, TX 78704-1234": "Austin",
    "151 3rd St, San Francisco, CA 94103, United States": "San Francisco",
    "1 Ferry Building #3, San Francisco, CA 94111, USA": "San Francisco",
    "Westfield, 10250 Santa Monica Blvd, Los Angeles, CA 90067, USA": "Los Angeles",
    "20 W 34th St., New York, NY 10001, USA": "New York",
    "350 5th Ave, New York, United States": "New York",
    "405 Lexington Ave, New York, New York 10174": "New York",
    "400 Broad St, Seattle, Washington 98109, United States": "Seattle",
    "1600 Pennsylvania Avenue NW, Washington, DC 20500": "Washington",
    "99 Queen St W, Toronto, ON M6J 1G1, Canada": "Toronto",
    "1085 Queen St E, Toronto, Ontario M4M 1K3, Canada": "Toronto",
    "110 Rue Notre-Dame O, Montréal, QC H2Y 1T1, Canada": "Montréal",
    "845 Avison Way, Vancouver, BC V6G 3E2": "Vancouver",
    "16 Rue Saint-Stanislaus, Québec, QC G1R 4G7, Canada": "Québec",
    "Av. Álvaro Obregón 130, Roma Nte., Cuauhtémoc, 06700 Ciudad de México, CDMX, Mexico": "Ciudad de México",
    "C. Macedonio Alcalá 507, Ruta Independencia, Centro, 68000 Oaxaca de Juárez, Oax., Mexico": "Oaxaca de Juárez",
    "Calle 60 491, Parque Santa Lucia, Centro, 97000 Mérida, Yuc., México": "Mérida",
    "5 de Mayo 39, Centro, 76000 Santiago de Querétaro, Qro., Mexico": "Santiago de Querétaro",
    "Blvd. Kukulcan Km 9, Zona Hotelera, 77500 Cancún, Q.R., Mexico": "Cancún",
    "Av. Paulista, 1578 - Bela Vista, São Paulo - SP, 01310-200, Brazil": "São Paulo",
    "R. Visc. de Pirajá, 22 - Ipanema, Rio de Janeiro - RJ, 22410-000, Brasil": "Rio de Janeiro",
    "Largo do Pelourinho, s/n - Pelourinho, Salvador - BA, 40026-280, Brazil": "Salvador",
    "Praça da Liberdade, 680 - Funcionários, Belo Horizonte - MG, 30140-010, Brazil": "Belo Horizonte",
    "Av. Corrientes 1234, C1043AAZ Cdad. Autónoma de Buenos Aires, Argentina": "Buenos Aires",
    "Av. Libertador Bernardo O'Higgins 227, 8330000 Santiago, Región Metropolitana, Chile": "Santiago",
    "Cra. 7 #71-21, Bogotá, Colombia": "Bogotá",
    "Cl. 10 #3-16, La Candelaria, Bogotá, Cundinamarca, Colombia": "Bogotá",
    "Cra. 43A #6 Sur-145, El Poblado, Medellín, Antioquia, Colombia": "Medellín",
    "Calle del Cuartel #36-77, Provincia de Cartagena, Cartagena, Bolívar, Colombia": "Cartagena",
    "10 Downing St, London SW1A 2AA, UK": "London",
    "30 St Mary Axe, London EC3A 8BF, United Kingdom": "London",
    "Castlehill, Edinburgh EH1 2NG, United Kingdom": "Edinburgh",
    "Castle St, Cardiff CF10 3RB, Wales": "Cardiff",
    "Broad St, Oxford, Oxfordshire OX1 3BG, England": "Oxford",
    "Abbey Churchyard, Bath BA1 1LZ, UK": "Bath",
    "1 Grafton Street, Dublin 2, D02 Y006, Ireland": "Dublin",
    "R. do Poço dos Negros 103, 1200-336 Lisboa, Portugal": "Lisboa",
    "Rua Ferreira Borges, 3.º Esq., 1350-129 Lisboa, Portugal": "Lisboa",
    "R. dos Mercadores 36, 4050-374 Porto, Portugal": "Porto",
    "Largo da Portagem, 3000-337 Coimbra": "Coimbra",
    "5 Av. Anatole France, 75007 Paris, France": "Paris",
    "20 Pl. Bellecour, 69002 Lyon, France": "Lyon",
    "Quai du Port, 13002 Marseille, Provence-Alpes-Côte d'Azur, France": "Marseille",
    "57 Rue de Varenne, 75700 Paris Cedex 07, France": "Paris",
    "Weserstraße 58, 12045 Berlin, Germany": "Berlin",
    "Marienplatz 8, 80331 München, Deutschland": "München",
    "Speicherstadt, Am Sandtorkai 36, D-20457 Hamburg, Germany": "Hamburg",
    "1 Chome-1-2 Oshiage, Sumida City, Tokyo 131-0045, Japan": "Tokyo",
    "4 Chome-2-8 Shibakoen, Minato City, Tokyo 105-0011": "Tokyo",
    "Nijojocho, Nakagyo Ward, Kyoto, 604-8301, Japan": "Kyoto",
    "1 Chome-1 Kitasanjonishi, Chuo Ward, Sapporo, Hokkaido 060-0003, Japan": "Sapporo",
    "4 Chome-2-28 Hase, Kamakura, Kanagawa 248-0016, Japan": "Kamakura",
    "〒600-8216 京都府京都市下京区東塩小路町": "京都",
    "東京都渋谷区道玄坂2-1": "東京",
    "Piazza del Duomo, 20122 Milano MI, Italy": "Milano",
    "Via dei Fori Imperiali, 00186 Roma RM, Italia": "Roma",
    "Via Roma 10, 50123 Firenze FI, Toscana, Italy": "Firenze",
    "C. de Ruiz de Alarcón, 23, 28014 Madrid, Spain": "Madrid",
    "Carrer de Mallorca, 401, L'Eixample, 08013 Barcelona, Spain": "Barcelona",
    "Abandoibarra Etorb., 2, 48009 Bilbao, Bizkaia, España": "Bilbao",
    "Museumstraat 1, 1071 XX Amsterdam, Netherlands": "Amsterdam",
    "Coolsingel 40, 3011 AD Rotterdam, Nederland": "Rotterdam",
    "Bennelong Point, Sydney NSW 2000, Australia": "Sydney",
    "Swanston St & Flinders St, Melbourne VIC 3000, Australia": "Melbourne",
    "Stephansplatz 3, 1010 Wien, Austria": "Wien",
    "Bahnhofstrasse 1, 8001 Zürich, Switzerland": "Zürich",
    "Grand Place 5, 1000 Bruxelles, Belgium": "Bruxelles",
    "Djurgårdsvägen 6, 115 21 Stockholm, Sweden": "Stockholm",
    "Halmtorvet 29, 1700 København V, Denmark": "København",
    "Karl Johans gate 31, 0159 Oslo, Norway": "Oslo",
    "plac Defilad 1, 00-901 Warszawa, Poland": "Warszawa",
    "Staroměstské nám. 1, 110 00 Praha 1, Czechia": "Praha",
    "Rajpath, India Gate, New Delhi, Delhi 110001, India": "New Delhi",
    "Apollo Bandar, Colaba, Mumbai, Maharashtra 400001, India": "Mumbai",
    "1 Beach Rd, Singapore 189673": "Singapore",
    "161 Sajik-ro, Jongno-gu, Seoul, South Korea": "Seoul",
    "Athina 105 58, Greece": "Athina",
    "Cankurtaran, Sultan Ahmet Mahallesi, 34122 Fatih/İstanbul, Türkiye": "İstanbul",
    "19 Dock Rd, Victoria & Alfred Waterfront, Cape Town, 8001, South Africa": "Cape Town",
    "Victoria St West, Auckland CBD, Auckland 1010, New Zealand": "Auckland",
    "4 Jingshan Front St, Dongcheng, Beijing, China, 100009": "Beijing",
    "Невский проспект, 28, Санкт-Петербург, Россия, 191186": "Санкт-Петербург",
}


@each(("address", "city"), ADDRESSES.items())
def test_city_is_read_from_an_address(address: str, city: str) -> None:
    assert city_of_address(address) == city


def test_addresses_of_many_countries_are_covered() -> None:
    assert len(ADDRESSES) >= 60
    countries = {plain_key(one.split(",")[-1]) for one in ADDRESSES} & COUNTRIES
    assert len(countries) >= 25, "as an address says itself, where it does"


@pytest.mark.parametrize(
    "text", ["", ",", ", , ,", "12", "Main Street 5", "somewhere", "\x00,\x00,\ud800", "," * 10_000, "1 " * 5_000]
)
def test_text_that_is_no_address_has_no_city(text: str) -> None:
    assert city_of_address(text) == ""


@pytest.mark.parametrize("text", ["A quiet place, cheap, and friendly.", "Eggs, 12 of them, milk", "João, Rui, Priya"])
def test_prose_with_commas_is_no_address(text: str) -> None:
    assert not is_address(text)


def test_summary_that_ends_in_an_address_has_its_city() -> None:
    assert is_address("Noodle bar at 99 Queen St W, Toronto, ON M6J 1G1, Canada.")
