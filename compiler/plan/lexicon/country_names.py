"""The names of countries in English, German, Spanish, Portuguese and French, one country a line: data only.

Countries with the same name in all of them, and names that are words or names of persons too (Georgia, Jordan), are left out.
"""

from __future__ import annotations

_NAMES = """
United States, USA, U.S.A., U.S., United States of America, Vereinigte Staaten, Estados Unidos, États-Unis, EE.UU., EUA
United Kingdom, UK, U.K., Great Britain, Großbritannien, Reino Unido, Gran Bretaña, Grã-Bretanha, Royaume-Uni, Grande-Bretagne
Germany, Deutschland, Alemania, Alemanha, Allemagne
France, Frankreich, Francia, França
Spain, Spanien, España, Espanha, Espagne
Italy, Italien, Italia, Itália, Italie
Switzerland, Schweiz, Suiza, Suíça, Suisse
Austria, Österreich, Áustria, Autriche
Netherlands, Niederlande, Países Bajos, Países Baixos, Pays-Bas, Nederland
Belgium, Belgien, Bélgica, Belgique
Denmark, Dänemark, Dinamarca, Danemark
Norway, Norwegen, Noruega, Norvège
Sweden, Schweden, Suecia, Suécia, Suède
Finland, Finnland, Finlandia, Finlândia, Finlande
Iceland, Islandia, Islândia, Islande
Ireland, Irland, Irlanda, Irlande
Poland, Polen, Polonia, Polônia, Polónia, Pologne
Czech Republic, Czechia, Tschechien, Chequia, República Checa, Tchéquia, Tchéquie
Hungary, Ungarn, Hungría, Hungria, Hongrie
Greece, Griechenland, Grecia, Grécia, Grèce
Turkey, Türkei, Türkiye, Turquía, Turquia, Turquie
Croatia, Kroatien, Croacia, Croácia, Croatie
Romania, Rumänien, Rumanía, Romênia, Roménia, Roumanie
Russia, Russland, Rusia, Rússia, Russie
Ukraine, Ucrania, Ucrânia
Japan, Japón, Japão, Japon
South Korea, Südkorea, Corea del Sur, Coreia do Sul, Corée du Sud
India, Indien, Índia, Inde
Brazil, Brasilien, Brasil, Brésil
Mexico, Mexiko, México, Mexique
Morocco, Marokko, Marruecos, Marrocos, Maroc
Egypt, Ägypten, Egipto, Egito, Égypte
South Africa, Südafrika, Sudáfrica, África do Sul, Afrique du Sud
New Zealand, Neuseeland, Nueva Zelanda, Nova Zelândia, Nouvelle-Zélande
Colombia, Kolumbien, Colômbia, Colombie
Scotland, Schottland, Escocia, Escócia, Écosse
England, Inglaterra, Angleterre
Thailand, Tailandia, Tailândia, Thaïlande
"""

COUNTRY_NAMES = tuple(tuple(name.strip() for name in line.split(",")) for line in _NAMES.strip().split("\n"))
