"""The titles of themes in German, Spanish, Portuguese and French, after the English one: data only.

A title that is the same in every language is left out.
"""

from __future__ import annotations

LANGUAGES = ("english", "german", "spanish", "portuguese", "french")

_TITLES = """
Painting | Malerei | Pintura | Pintura | Peinture
Drawing | Zeichnen | Dibujo | Desenho | Dessin
Pottery | Keramik | Cerámica | Cerâmica | Poterie
Photography | Fotografie | Fotografía | Fotografia | Photographie
Art | Kunst | Arte | Arte | Art
Knitting and crochet | Stricken und Häkeln | Punto y ganchillo | Tricô e crochê | Tricot et crochet
Sewing | Nähen | Costura | Costura | Couture
Woodworking | Holzarbeiten | Carpintería | Marcenaria | Menuiserie
Calligraphy | Kalligraphie | Caligrafía | Caligrafia | Calligraphie
Jewelry making | Schmuck machen | Joyería artesanal | Joalheria artesanal | Création de bijoux
Fashion | Mode | Moda | Moda | Mode
Poetry | Poesie | Poesía | Poesia | Poésie
Writing | Schreiben | Escritura | Escrita | Écriture
Journaling | Tagebuch | Diario | Diário | Journal intime
Theater | Theater | Teatro | Teatro | Théâtre
Dance | Tanz | Baile | Dança | Danse
Comedy | Comedy | Comedia | Comédia | Comédie
Filmmaking | Filmemachen | Rodar cine | Fazer cinema | Réalisation
Museums | Museen | Museos | Museus | Musées
Architecture | Architektur | Arquitectura | Arquitetura | Architecture
Crafts | Basteln | Manualidades | Artesanato | Bricolage
Tattoos | Tattoos | Tatuajes | Tatuagens | Tatouages
Music | Musik | Música | Música | Musique
Guitar | Gitarre | Guitarra | Guitarra | Guitare
Piano | Klavier | Piano | Piano | Piano
Violin | Geige | Violín | Violino | Violon
Cello | Cello | Violonchelo | Violoncelo | Violoncelle
Drums | Schlagzeug | Batería | Bateria | Batterie
Clarinet | Klarinette | Clarinete | Clarinete | Clarinette
Saxophone | Saxofon | Saxofón | Saxofone | Saxophone
Singing | Singen | Canto | Canto | Chant
Concerts | Konzerte | Conciertos | Concertos | Concerts
Music production | Musikproduktion | Producción musical | Produção musical | Production musicale
Classical music | Klassische Musik | Música clásica | Música clássica | Musique classique
Rock music | Rockmusik | Música rock | Música rock | Musique rock
Vinyl records | Schallplatten | Vinilos | Discos de vinil | Vinyles
Books and reading | Bücher und Lesen | Libros y lectura | Livros e leitura | Livres et lecture
Fantasy | Fantasy | Fantasía | Fantasia | Fantasy
Science fiction | Science-Fiction | Ciencia ficción | Ficção científica | Science-fiction
Comics and manga | Comics und Manga | Cómics y manga | Quadrinhos e mangá | BD et mangas
Superheroes | Superhelden | Superhéroes | Super-heróis | Super-héros
Libraries | Bibliotheken | Bibliotecas | Bibliotecas | Bibliothèques
History | Geschichte | Historia | História | Histoire
Philosophy | Philosophie | Filosofía | Filosofia | Philosophie
Psychology | Psychologie | Psicología | Psicologia | Psychologie
Economics | Wirtschaft | Economía | Economia | Économie
Science | Wissenschaft | Ciencia | Ciência | Science
Space and astronomy | Weltraum und Astronomie | Espacio y astronomía | Espaço e astronomia | Espace et astronomie
Languages | Sprachen | Idiomas | Idiomas | Langues
Movies | Filme | Cine | Cinema | Cinéma
TV shows | Serien | Series de televisión | Séries de TV | Séries télévisées
Animation | Animation | Animación | Animação | Animation
Video games | Videospiele | Videojuegos | Videogames | Jeux vidéo
Game development | Spieleentwicklung | Desarrollo de videojuegos | Desenvolvimento de jogos | Création de jeux
Board games | Brettspiele | Juegos de mesa | Jogos de tabuleiro | Jeux de société
Chess | Schach | Ajedrez | Xadrez | Échecs
Puzzles | Rätsel | Rompecabezas | Quebra-cabeças | Casse-têtes
Virtual reality | Virtuelle Realität | Realidad virtual | Realidade virtual | Réalité virtuelle
Social media | Soziale Medien | Redes sociales | Redes sociais | Réseaux sociaux
Basketball | Basketball | Baloncesto | Basquete | Basket
Football | American Football | Fútbol americano | Futebol americano | Football américain
Soccer | Fußball | Fútbol | Futebol | Football
Baseball | Baseball | Béisbol | Beisebol | Baseball
Softball | Softball | Sóftbol | Softbol | Softball
Tennis | Tennis | Tenis | Tênis | Tennis
Table tennis | Tischtennis | Tenis de mesa | Tênis de mesa | Tennis de table
Volleyball | Volleyball | Voleibol | Vôlei | Volley
Boxing | Boxen | Boxeo | Boxe | Boxe
Martial arts | Kampfsport | Artes marciales | Artes marciais | Arts martiaux
Swimming | Schwimmen | Natación | Natação | Natation
Running | Laufen | Correr | Corrida | Course à pied
Charity runs and races | Benefizläufe | Carreras solidarias | Corridas beneficentes | Courses solidaires
Cycling | Radfahren | Ciclismo | Ciclismo | Vélo
Hiking | Wandern | Senderismo | Caminhadas | Randonnée
Camping | Camping | Acampadas | Acampamento | Camping
Rock climbing | Klettern | Escalada | Escalada | Escalade
Skiing and snowboarding | Ski und Snowboard | Esquí y snowboard | Esqui e snowboard | Ski et snowboard
Surfing | Surfen | Surf | Surfe | Surf
Kayaking and canoeing | Kajak und Kanu | Kayak y canoa | Caiaque e canoa | Kayak et canoë
Sailing | Segeln | Vela | Vela | Voile
Fishing | Angeln | Pesca | Pesca | Pêche
Diving | Tauchen | Buceo | Mergulho | Plongée
Skateboarding | Skateboard | Monopatín | Skate | Skate
Horse riding | Reiten | Equitación | Equitação | Équitation
Gymnastics | Turnen | Gimnasia | Ginástica | Gymnastique
Meditation | Meditation | Meditación | Meditação | Méditation
Workouts | Training | Ejercicio | Exercício | Entraînement
Sports training | Sporttraining | Entrenamiento deportivo | Treino esportivo | Entraînement sportif
Tournaments and matches | Turniere und Spiele | Torneos y partidos | Torneios e partidas | Tournois et matchs
Gardening | Gartenarbeit | Jardinería | Jardinagem | Jardinage
Plants | Pflanzen | Plantas | Plantas | Plantes
Flowers | Blumen | Flores | Flores | Fleurs
Nature | Natur | Naturaleza | Natureza | Nature
Beach | Strand | Playa | Praia | Plage
Mountains | Berge | Montañas | Montanhas | Montagnes
Forests | Wälder | Bosques | Florestas | Forêts
Lakes and rivers | Seen und Flüsse | Lagos y ríos | Lagos e rios | Lacs et rivières
Waterfalls | Wasserfälle | Cascadas | Cachoeiras | Cascades
Parks | Parks | Parques | Parques | Parcs
Sunsets and sunrises | Sonnenuntergänge | Atardeceres y amaneceres | Pores e nasceres do sol | Couchers et levers de soleil
Birdwatching | Vogelbeobachtung | Observación de aves | Observação de aves | Observation des oiseaux
Animals and wildlife | Tiere | Animales | Animais | Animaux
Environment and climate | Umwelt und Klima | Medio ambiente y clima | Meio ambiente e clima | Environnement et climat
Dogs | Hunde | Perros | Cachorros | Chiens
Cats | Katzen | Gatos | Gatos | Chats
Pets | Haustiere | Mascotas | Bichos de estimação | Animaux de compagnie
Turtles | Schildkröten | Tortugas | Tartarugas | Tortues
Guinea pigs | Meerschweinchen | Cobayas | Porquinhos-da-índia | Cochons d'Inde
Birds | Vögel | Pájaros | Pássaros | Oiseaux
Animal shelters | Tierheime | Refugios de animales | Abrigos de animais | Refuges pour animaux
Food | Essen | Comida | Comida | Nourriture
Cooking | Kochen | Cocina | Cozinha | Cuisine
Baking | Backen | Repostería | Confeitaria | Pâtisserie
Coffee | Kaffee | Café | Café | Café
Tea | Tee | Té | Chá | Thé
Wine | Wein | Vino | Vinho | Vin
Beer | Bier | Cerveza | Cerveja | Bière
Cocktails | Cocktails | Cócteles | Coquetéis | Cocktails
Ice cream | Eis | Helado | Sorvete | Glace
Chocolate | Schokolade | Chocolate | Chocolate | Chocolat
Barbecue | Grillen | Barbacoa | Churrasco | Barbecue
Vegan and vegetarian food | Vegan und vegetarisch | Comida vegana y vegetariana | Comida vegana e vegetariana | Cuisine végétale
Healthy eating | Gesunde Ernährung | Alimentación sana | Alimentação saudável | Alimentation saine
Eating out | Essen gehen | Comer fuera | Comer fora | Restaurants
Allergies | Allergien | Alergias | Alergias | Allergies
Picnics | Picknicks | Picnics | Piqueniques | Pique-niques
Health | Gesundheit | Salud | Saúde | Santé
Illness | Krankheit | Enfermedad | Doença | Maladie
Injuries and recovery | Verletzungen und Genesung | Lesiones y recuperación | Lesões e recuperação | Blessures et guérison
Mental health | Psychische Gesundheit | Salud mental | Saúde mental | Santé mentale
Therapy | Therapie | Terapia | Terapia | Thérapie
Stress | Stress | Estrés | Estresse | Stress
Sleep | Schlaf | Sueño | Sono | Sommeil
Weight | Gewicht | Peso | Peso | Poids
Blood pressure | Blutdruck | Tensión arterial | Pressão arterial | Tension artérielle
Teeth | Zähne | Dientes | Dentes | Dents
Rowing | Rudern | Remo | Remo | Aviron
Self-care | Selbstfürsorge | Autocuidado | Autocuidado | Prendre soin de soi
Hair and beauty | Haare und Schönheit | Pelo y belleza | Cabelo e beleza | Coiffure et beauté
Pregnancy and babies | Schwangerschaft und Babys | Embarazo y bebés | Gravidez e bebês | Grossesse et bébés
Smoking and quitting | Rauchen und Aufhören | Fumar y dejarlo | Fumar e parar | Tabac et arrêt
Family | Familie | Familia | Família | Famille
Children | Kinder | Niños | Crianças | Enfants
Parents | Eltern | Padres | Pais | Parents
Siblings | Geschwister | Hermanos | Irmãos | Frères et sœurs
Grandparents | Großeltern | Abuelos | Avós | Grands-parents
Friendship | Freundschaft | Amistad | Amizade | Amitié
Marriage | Hochzeit und Ehe | Bodas y matrimonio | Casamento | Mariage
Dating and relationships | Liebe und Beziehungen | Amor y pareja | Namoro e relacionamentos | Amour et couple
Divorce | Scheidung | Divorcio | Divórcio | Divorce
Adoption | Adoption | Adopción | Adoção | Adoption
Birthdays | Geburtstage | Cumpleaños | Aniversários | Anniversaires
Parties and gatherings | Feste und Treffen | Fiestas y reuniones | Festas e encontros | Fêtes et rencontres
Holidays and celebrations | Feiertage und Feste | Fiestas y celebraciones | Feriados e celebrações | Fêtes et célébrations
Loss and grief | Verlust und Trauer | Pérdida y duelo | Perda e luto | Deuil
Community | Gemeinschaft | Comunidad | Comunidade | Communauté
Religion | Religion | Religión | Religião | Religion
Goals and dreams | Ziele und Träume | Metas y sueños | Metas e sonhos | Objectifs et rêves
Creativity | Kreativität | Creatividad | Criatividade | Créativité
Career | Beruf | Carrera profesional | Carreira | Carrière
Business | Unternehmen | Negocios | Negócios | Entreprise
Finance | Finanzen | Finanzas | Finanças | Finances
Rent and housing | Miete und Wohnung | Alquiler y vivienda | Aluguel e moradia | Loyer et logement
Home renovation | Renovierung | Reformas | Reformas | Travaux
Education | Bildung | Estudios | Estudos | Études
Teaching | Unterrichten | Enseñanza | Ensino | Enseignement
Programming | Programmieren | Programación | Programação | Programmation
Technology | Technik | Tecnología | Tecnologia | Technologie
Cars | Autos | Coches | Carros | Voitures
Motorcycles | Motorräder | Motos | Motos | Motos
Volunteering | Ehrenamt | Voluntariado | Voluntariado | Bénévolat
Charity and fundraising | Spenden | Donaciones | Doações | Dons
Homelessness | Obdachlosigkeit | Personas sin hogar | Pessoas sem-teto | Sans-abri
Politics | Politik | Política | Política | Politique
Activism | Aktivismus | Activismo | Ativismo | Militantisme
Public speaking | Vorträge und Reden | Hablar en público | Falar em público | Prise de parole
Conferences and workshops | Konferenzen und Workshops | Conferencias y talleres | Conferências e oficinas | Conférences, ateliers
Road trips | Roadtrips | Viajes por carretera | Viagens de carro | Voyages en voiture
Trips and vacations | Reisen und Urlaub | Viajes y vacaciones | Viagens e férias | Voyages et vacances
Flights and airports | Flüge und Flughäfen | Vuelos y aeropuertos | Voos e aeroportos | Vols et aéroports
Hotels | Hotels | Hoteles | Hotéis | Hôtels
Cruises | Kreuzfahrten | Cruceros | Cruzeiros | Croisières
Trains | Züge | Trenes | Trens | Trains
Sightseeing | Sehenswürdigkeiten | Turismo | Turismo | Visites
Hot springs | Thermalquellen | Aguas termales | Fontes termais | Sources chaudes
Shopping | Einkaufen | Compras | Compras | Achats
Collecting | Sammeln | Colecciones | Coleções | Collections
Passport and visa | Pass und Visum | Pasaporte y visado | Passaporte e visto | Passeport et visa
Taxes | Steuern | Impuestos | Impostos | Impôts
"""

THEME_TITLES = {
    names[0]: dict(zip(LANGUAGES, names, strict=True))
    for names in (tuple(name.strip() for name in line.split("|")) for line in _TITLES.strip().split("\n"))
}
