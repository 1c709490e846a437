"""The names of countries in English, German, Spanish, Portuguese and French, one country a line: data only.

Left out are countries with the same name in all five, and names that are also words or names of persons (Georgia, Jordan).
"""

from __future__ import annotations

from compiler.plan.lexicon.theme_titles import LANGUAGES

_NAMES = """
United States, USA, United States of America | Vereinigte Staaten | Estados Unidos, EE.UU. | Estados Unidos, EUA | États-Unis
United Kingdom, UK, U.K., Great Britain | Großbritannien | Reino Unido, Gran Bretaña | Reino Unido, Grã-Bretanha | Royaume-Uni
Germany | Deutschland | Alemania | Alemanha | Allemagne
France | Frankreich | Francia | França | France
Spain | Spanien | España | Espanha | Espagne
Italy | Italien | Italia | Itália | Italie
Switzerland | Schweiz | Suiza | Suíça | Suisse
Austria | Österreich | Austria | Áustria | Autriche
Netherlands, Nederland | Niederlande | Países Bajos | Países Baixos | Pays-Bas
Belgium | Belgien | Bélgica | Bélgica | Belgique
Denmark | Dänemark | Dinamarca | Dinamarca | Danemark
Norway | Norwegen | Noruega | Noruega | Norvège
Sweden | Schweden | Suecia | Suécia | Suède
Finland | Finnland | Finlandia | Finlândia | Finlande
Iceland | Island | Islandia | Islândia | Islande
Ireland | Irland | Irlanda | Irlanda | Irlande
Poland | Polen | Polonia | Polônia, Polónia | Pologne
Czech Republic, Czechia | Tschechien | Chequia, República Checa | Tchéquia | Tchéquie
Hungary | Ungarn | Hungría | Hungria | Hongrie
Greece | Griechenland | Grecia | Grécia | Grèce
Turkey, Türkiye | Türkei | Turquía | Turquia | Turquie
Croatia | Kroatien | Croacia | Croácia | Croatie
Romania | Rumänien | Rumanía | Romênia, Roménia | Roumanie
Russia | Russland | Rusia | Rússia | Russie
Ukraine | Ukraine | Ucrania | Ucrânia | Ukraine
Japan | Japan | Japón | Japão | Japon
South Korea | Südkorea | Corea del Sur | Coreia do Sul | Corée du Sud
India | Indien | India | Índia | Inde
Brazil | Brasilien | Brasil | Brasil | Brésil
Mexico | Mexiko | México | México | Mexique
Morocco | Marokko | Marruecos | Marrocos | Maroc
Egypt | Ägypten | Egipto | Egito | Égypte
South Africa | Südafrika | Sudáfrica | África do Sul | Afrique du Sud
New Zealand | Neuseeland | Nueva Zelanda | Nova Zelândia | Nouvelle-Zélande
Colombia | Kolumbien | Colombia | Colômbia | Colombie
Scotland | Schottland | Escocia | Escócia | Écosse
England | England | Inglaterra | Inglaterra | Angleterre
Thailand | Thailand | Tailandia | Tailândia | Thaïlande
"""

COUNTRY_NAMES = tuple(
    dict(zip(LANGUAGES, (tuple(name.strip() for name in names.split(",")) for names in line.split("|")), strict=True))
    for line in _NAMES.strip().split("\n")
)
"""Each country's names by language, the usual one first."""
