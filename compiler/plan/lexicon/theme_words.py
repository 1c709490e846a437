"""Activities, interests and subjects that people return to, with the words for them in several languages: data only.

A line holds a title and its forms, folded as plain keys: a space separates forms, an underscore stands for a space within one.
A form of several words wins over one of its words. Words that often mean something else are left out;
forms without a title are phrases in which a form means something else. A number in a form is written 0.
A form with a question mark has other meanings too, and counts only if its sentence shows that the theme is meant.
"""

from __future__ import annotations

from compiler.plan.lexicon.figures_of_speech import FIGURES_OF_SPEECH

_ARTS = """
Painting: paint paints painted painting paintings painter watercolor watercolors watercolour acrylics easel canvas?
  pintura pinturas pintar pintando malerei malen gemalt peinture peindre
Drawing: drawing? drawings? sketch? sketches? sketching sketchbook doodle doodles doodling dibujo dibujar desenho desenhar
  zeichnen zeichnung dessin dessiner
Pottery: pottery ceramics ceramic clay kiln ceramica alfareria olaria topferei topfern keramik poterie
Photography: photography photographer photographers photoshoot photoshoots photo_shoot photo_shoots my_camera
  new_camera fotografia fotografo fotografieren fotografie photographie photographe
Art: art arts artwork artworks artist artists artistic art_show art_gallery arte artista kunst kunstler
Knitting and crochet: knitting knit knits knitted crochet crochets crocheting crocheted yarn tejer ganchillo croche tricot
  stricken hakeln tricoter
Sewing: sewing sews sewed embroiders quilting quilt quilts embroidery needlework coser costura costurar nahen couture broderie
Woodworking: woodworking woodwork carpentry woodshop wood_carving carpinteria carpintaria marcenaria tischlern
  schreinern menuiserie
Calligraphy: calligraphy hand_lettering caligrafia kalligraphie calligraphie
Scrapbooking: scrapbook scrapbooks scrapbooking
Jewelry making: jewelry_making making_jewelry beading beadwork
Origami: origami
Fashion: fashion fashionable outfit outfits wardrobe streetwear runway? moda
Poetry: poetry poem poems poet poets poesia poema poemas poeta gedicht gedichte poesie poeme
Writing: writing? writer writers screenplay screenplays screenwriting manuscript blog blogging blog_post blog_posts
  novel_writing creative_writing writing_a writing_my writing_skills short_stories screenwriter my_writing escritor
  escribir escrever schreiben ecrire
Journaling: journaling journalling diary bullet_journal diario tagebuch
Theater: theater theatre theatres theaters acting? drama_club broadway stage_play improv improvisation teatro
  theaterstuck
Dance: dance dances dancing dancer dancers danced ballet salsa tango ballroom zumba hip_hop_dance baile bailar danza
  danca dancar tanzen tanz danse danser
Comedy: comedy comedian comedians stand_up_comedy standup_comedy comedy_show
Filmmaking: filmmaking filmmaker filmmakers film_festival short_film script_reading directing_a
Museums: museum museums museo museos museu museus musee musees
Architecture: architecture architect architectural arquitectura arquitetura architektur
Crafts: crafts handmade diy diy_project diy_projects arts_and_crafts manualidades artesanato basteln
  bricolage
Tattoos: tattoo tattoos tattooed tatuaje tatuajes tatuagem tatouage
"""
_MUSIC = """
Music: music musician musicians song songs album albums playlist playlists musica cancion canciones cancoes musik lied
  lieder musique chanson chansons
Guitar: guitar guitars guitarist guitar_exam guitar_exams guitarra gitarre guitare
Piano: piano pianist piano_exam piano_exams klavier
Violin: violin violinist violin_exam violin_exams fiddle violino geige violon
Cello: cello cellist cellists cello_exam cello_exams violoncello violoncelo
Drums: drums drumming drummer drum_kit bateria? schlagzeug batterie?
Clarinet: clarinet
Saxophone: saxophone sax
Singing: singing sing sings sang singer singers choir karaoke vocals cantar cantando coro singen chor gesang chanter chorale
Concerts: concert concerts gig? gigs? live_music music_festival music_festivals concierto conciertos show_ao_vivo
  konzert konzerte festival_de_musica
Music production: music_production producing_music producing_beats making_beats record_label recording_studio mixtape
Classical music: classical_music orchestra symphony opera musica_clasica musica_classica
Jazz: jazz
Hip hop: hip_hop rap rapper rappers
Rock music: rock_music rock_band rock_bands rock_n_roll
Vinyl records: vinyl vinyls vinyl_records record_player
Podcasts: podcast podcasts podcasting
"""
_READING = """
Books and reading: book books novel novels author authors novela novelas novelist bookstore bookshop bookshelf
  bookcase bookworm libro libros livro livros livraria buch bucher livre? livres librairie love_reading loves_reading
  enjoys_reading enjoy_reading into_reading finished_reading started_reading currently_reading reading_list book_club
  bookclub avid_reader lectura leitura lecture?
Fantasy: fantasy fantasy_books fantasy_novels fantasy_novel fantasy_literature fantasy_series dungeons_and_dragons
Science fiction: science_fiction sci_fi scifi ciencia_ficcion ficcao_cientifica
Comics and manga: comics comic_book comic_books graphic_novel graphic_novels manga mangas marvel_comics
Superheroes: superhero superheroes superheroine superhelden superheroe superheroi supereroi
Libraries: library libraries biblioteca bibliothek bibliotheque
History: history? historical? historian historia geschichte histoire
Philosophy: philosophy philosopher philosophers philosophical filosofia philosophie
Psychology: psychology psychologist psychologists psicologia psychologie
Economics: economics economist economy? economia?
Science: science? scientist scientists scientific? physics? biology? ciencia wissenschaft physik?
Space and astronomy: astronomy stargazing telescope planets galaxies nebula meteor_shower constellations spaceship
  astronomia astronomie sternwarte
Languages: learning_spanish learning_french learning_german learning_japanese learning_italian learning_korean
  learning_portuguese language_class language_classes language_learning duolingo language_exchange foreign_language
  foreign_languages idioma idiomas sprachkurs deutschkurs sprachschule cours_de_langue
"""
_SCREEN = """
Movies: movie movies film films cinema movie_night movie_theater movie_marathon pelicula peliculas cine filme filmes
  kino
TV shows: tv_show tv_shows tv_series television netflix sitcom sitcoms soap_opera soap_operas binge_watch binge_watching
  binge_watched
  documentary documentaries serie_de_tv fernsehserie
Anime: anime animes
Animation: animation animations animated? animator
Video games: video_game video_games videogame videogames gaming gamer gamers console? consoles? game_console playstation xbox
  nintendo esports game_dev multiplayer videojuego videojuegos videospiel videospiele videospielen jeux_video
  computer_game computer_games
Game development: game_development game_design game_designer game_developer developing_a_game developing_a_video_game
Board games: board_game board_games tabletop card_games card_game juegos_de_mesa jogos_de_tabuleiro brettspiel
  brettspiele jeux_de_societe
Chess: chess ajedrez xadrez schach echecs
Puzzles: puzzle puzzles jigsaw crossword crosswords sudoku escape_room
Virtual reality: virtual_reality vr_headset vr_game vr_games vr_gaming
Streaming: streamer streamers twitch? live_stream live_streaming livestream
Social media: social_media instagram tiktok followers? influencer influencers content_creation content_creator
  redes_sociales redes_sociais
"""
_SPORT = """
Basketball: basketball basketballs hoops b_ball nba baloncesto basquete basquetebol basketballspiel
Football: football touchdown quarterback nfl super_bowl
Soccer: soccer futbol futebol fussball champions_league world_cup
Baseball: baseball mlb beisbol
Softball: softball softbol
Tennis: tennis tenis
Table tennis: table_tennis ping_pong tischtennis
Volleyball: volleyball voleibol
Golf: golf golfing
Hockey: hockey nhl
Cricket: cricket_match cricket_game cricket_team
Rugby: rugby
Boxing: boxing boxer kickboxing boxeo boxen boxe
Martial arts: martial_arts karate judo taekwondo jiu_jitsu kung_fu self_defense artes_marciales kampfsport
Swimming: swim swims swimming swam swimmer nadar nadando natacion natacao schwimmen geschwommen schwimmbad nager
  natation piscine
Running: running? went_for_a_run going_for_a_run my_run a_morning_run my_runs long_run
  longest_run ran_0_km ran_0_kilometres ran_0_miles run_0_km went_running go_running
  running_shoes running_group running_club jogging jog jogged marathon? marathons?
  half_marathon 5k_run 10k_run runner? runners? trail_running morning_run goes_running training_run maraton maratona joggen
  lauftraining course_a_pied
Charity runs and races: charity_run charity_runs charity_race charity_races charity_event charity_events
  charity_tournament
Cycling: mountain_bike mountain_bikes mountain_biking cycling bike bikes biking biked bicycle bicycles cyclist bike_ride
  bike_rides bicicleta bici ciclismo fahrrad
  radfahren radtour velo cyclisme
Hiking: hike hikes hiking hiked hiker hikers trail trails trekking senderismo caminhada trilha trilhas wandern
  wanderung wanderungen randonnee
Camping: camping camp_site campsite campfire campfires tent tents camped camping_trip camping_trips acampar acampada
  acampamento zelten campen
Rock climbing: rock_climbing climbing_gym climbing_wall climbing_club climbing_lessons climbing_class climber
  bouldering rock_climb mountaineering escalada klettern
  kletterhalle escalade
Skiing and snowboarding: skiing ski skis snowboarding snowboard ski_resort esqui esquiar skifahren snowboarden
Surfing: surfing? surf? surfed surfboard surfer surfers surfen
Kayaking and canoeing: kayak kayaking canoe canoeing canoes rafting paddleboard paddleboarding kajak canoa
Sailing: sailing sailboat yacht vela? segeln voile?
Fishing: fishing fished pesca pescar angeln peche
Diving: diving? scuba scuba_diving snorkeling snorkelling snorkel buceo mergulho tauchen plongee
Skateboarding: skateboarding skateboard skatepark skateboards
Horse riding: horseback horseback_riding horse_riding horses equestrian equitacion equitacao reiten equitation
Gymnastics: gymnastics gymnast gimnasia turnen
Yoga: yoga yoga_class yoga_classes yoga_studio aerial_yoga
Pilates: pilates
Meditation: meditation meditate meditating meditated mindfulness meditacion meditar meditacao achtsamkeit
Rowing: rowing rowed_0 rower rowers rudern aviron
Workouts: workout workouts working_out gym exercise? exercising weightlifting weight_training deadlift deadlifts bench_press
  kettlebell dumbbells strength_training lifting_weights personal_trainer fitness bootcamp boot_camp boot_camps crossfit
  gimnasio academia_de_ginastica fitnessstudio training_im_fitness salle_de_sport
Sports training: training_camp training_session training_sessions practice_session my_coach our_coach the_coach? coaching?
  entrenador treinador entraineur
Tournaments and matches: tournament tournaments championship championships finals? playoff playoffs torneo torneio
  turnier tournoi
Teammates and team spirit: teammate teammates team_spirit teamwork team_bonding team_bond teamkollegen
Sponsorships and endorsements: endorsement endorsements sponsor sponsors sponsorship sponsorships brand_deal
  brand_deals
"""
_NATURE = """
Gardening: gardening gardener my_garden our_garden her_garden his_garden vegetable_garden home_garden jardineria jardinagem
  huerta huerto horta gemusegarten krautergarten hochbeet hochbeete
  gartenarbeit jardinage
Plants: plant? plants? houseplant houseplants succulent succulents seedlings planta? plantas pflanze pflanzen plante?
  plantes
Flowers: flower flowers sunflower sunflowers roses? bouquet tulips flores flor? blumen blume fleurs
Nature: nature? in_nature with_nature into_nature of_nature to_nature nature_has outdoors great_outdoors wilderness naturaleza
  natureza natur?
  nature_walk
Beach: beach beaches seaside playa playas praia praias strand plage plages
Mountains: mountain mountains montana montanas montanha montanhas berge gebirge montagne montagnes
Forests: forest forests rainforest bosque bosques floresta wald foret
Lakes and rivers: lake lakes river rivers lago lagos? rio_grande see_im seeufer lac
Waterfalls: waterfall waterfalls cascada cachoeira wasserfall cascade
Parks: park parks national_park national_parks parque parques parc
Sunsets and sunrises: sunset sunsets sunrise sunrises atardecer por_do_sol sonnenuntergang coucher_de_soleil
Birdwatching: birdwatching bird_watching birding
Animals and wildlife: wildlife animals wild_animals zoo safari aquarium animales animais tiere animaux
Environment and climate: climate_change environmental sustainability sustainable recycling eco_friendly conservation
  solar_panels renewable_energy medio_ambiente meio_ambiente umwelt environnement
Dogs: dog_training obedience_training dog_trainer dog_park dog_parks dog_walking walking_the_dog dog dogs puppy
  puppies pup pups? doggo doggy perro perros perrito cachorro cachorros cachorrinho hund hunde welpe chien chiens chiot
Cats: cat cats kitten kittens kitty gato gatos gatito gatinho katze katzen kater chaton
Pets: pet pets mascota mascotas bichinho haustier haustiere animal_de_compagnie
Turtles: turtle turtles tortoise
Guinea pigs: guinea_pig guinea_pigs hamster hamsters
Fish tank: fish_tank goldfish
Birds: parrot parrots parakeet
Animal shelters: animal_shelter animal_shelters pet_shelter dog_shelter refugio_de_animales abrigo_de_animais tierheim
Snow and storms: snowfall snowstorm heatwave heat_wave thunderstorm clima_frio
"""
_FOOD = """
Food: food? foods? favorite_food favourite_food comfort_food street_food fast_food italian_food mexican_food chinese_food
  thai_food indian_food japanese_food korean_food french_food greek_food spanish_food cuisine? foodie comida?
  italian_cuisine local_cuisine haute_cuisine essen? nourriture?
Cooking: cook cooks cooking cooked recipe recipes chef? cooking_class cooking_classes culinary cocina? cocinar receta
  recetas cozinhar cozinha? receita receitas kochen gekocht rezept rezepte cuisiner recette recettes
  clases_de_cocina clase_de_cocina curso_de_cocina libro_de_cocina aulas_de_cozinha curso_de_cozinha
Baking: bake bakes baking baked cake cakes cookies cupcakes pastry pastries sourdough hornear bolo bolos backen
  gebacken kuchen patisserie gateau
Coffee: espresso latte cappuccino cold_brew coffee_shop coffee_shops coffee_beans pour_over kaffee
Tea: green_tea herbal_tea matcha tea_time cup_of_tea
Wine: wine wines winery vineyard wine_tasting vino vinos vinho vinhos wein weine vin vins
Beer: beer beers brewery craft_beer cerveza cervezas cerveja cervejas bier biere
Cocktails: cocktail cocktails mixology bartender coctel coquetel
Ice cream: ice_cream gelato frozen_yogurt helado sorvete eiscreme
Chocolate: chocolate chocolates schokolade chocolat
Pizza: pizza pizzas
Sushi: sushi
Pasta: pasta spaghetti lasagna ravioli
Tacos: taco tacos taqueria
Barbecue: barbecue bbq grilling grill_party churrasco asado grillen
Vegan and vegetarian food: vegan vegetarian pescatarian plant_based vegano vegetariano vegetarisch vegan_food dairy_free
Healthy eating: healthy_eating healthy_food healthy_meals healthy_meal eating_healthy healthier? diet diets nutrition
  nutritionist meal_prep salad? salads? alimentacion_sana alimentacao_saudavel ernahrung
Eating out: restaurant restaurants restaurante restaurantes brunch dinner_out dine_out diner
Picnics: picnic picnics piquenique picknick pique_nique
"""
_HEALTH = """
Allergies: allergy allergies allergic alergia alergias alergico alergica allergie allergien allergisch allergique
Health: health family_doctor health_issues health_scare doctor doctors surgery medical_checkup checkup check_up medication
  salud saude gesundheit arzt sante medecin medico
Illness: flu the_flu sore_throat cough coughing ear_infection sinus_infection stomach_bug food_poisoning got_sick been_sick
  im_sick feeling_sick feel_sick gripe grippe erkaltet erkaltung resfriado
Blood pressure: blood_pressure hypertension tension_arterial pressao_arterial blutdruck
Teeth: dentist dentists dental_appointment toothache root_canal wisdom_tooth wisdom_teeth dentista zahnarzt zahnarztin dentiste
Injuries and recovery: injury injuries injured sprained sprain ankle_injury knee_injury knee_pain back_pain shoulder_pain
  neck_pain meniscus tendonitis tendinitis sciatica physio physiotherapist physical_therapy physiotherapy rehab?
  lesion lesao verletzung blessure
Mental health: mental_health anxiety depression? depressed? panic_attack burnout mental_wellbeing mental_well_being
  salud_mental saude_mental
Therapy: therapy therapist therapists counseling counselling counselor counselors psicoterapia terapia terapeuta
  therapie
Stress: stress stressed stressful stress_relief overwhelmed? estres estresse stressig
Sleep: sleep insomnia sleeping_better sleep_schedule sleeps_0_hours sleeps_0_0_hours sleeps_about_0_hours sleeps_about_0_0_hours
  slept_0_hours slept_0_0_hours slept_badly slept_poorly sleeping_badly sleeping_poorly trouble_sleeping trouble_falling_asleep
  dormir schlafen schlaf sommeil
Weight: weight? weight_0_kg weight_0_0_kg weight_is_0_kg weight_is_0_0_kg weight_0_lbs weight_0_lb i_weigh_0 i_weighed_0
  he_weighs_0 she_weighs_0 user_weighs_0 lose_weight losing_weight weight_loss lost_weight overweight bajar_de_peso perder_peso
  abnehmen
Self-care: self_care me_time spa massage massages skincare skin_care autocuidado selbstfursorge
Hair and beauty: haircut hairstyle hair_color makeup blonde salon hair_salon
Pregnancy and babies: pregnant pregnancy newborn baby_shower ultrasound embarazo embarazada gravidez gravida schwanger
  schwangerschaft enceinte grossesse
Smoking and quitting: smoking quit_smoking cigarettes cigarette vaping fumar rauchen fumer
"""
_PEOPLE = """
Family: family families? family_time relatives family_trip family_gathering familia familias familie famille
Children: parenting parenthood kids children my_son my_daughter ninos hijos filhos criancas kinder enfants
Parents: parents? my_mom my_mother my_father my_dad my_parents her_parents his_parents mis_padres mi_madre mi_padre meus_pais
  minha_mae meu_pai meine_eltern meine_mutter mein_vater mes_parents ma_mere mon_pere
Siblings: my_sister my_brother my_brothers my_sisters her_sister his_sister her_brother his_brother siblings
  younger_brother hermano hermana irmao irma bruder schwester geschwister mon_frere ma_soeur
Grandparents: grandmother grandfather grandma grandpa grandparents granny abuela abuelo abuelos avo avos oma opa
  grosseltern grandmere grandpere
Friendship: friendship friendships best_friend best_friends close_friends close_friend old_friends old_friend
  new_friends making_friends amistad amizade freundschaft amitie
Marriage: married marriage marriages wedding weddings wedding_anniversary engaged? engagement_ring boda matrimonio
  casamento hochzeit verheiratet mariage
Dating and relationships: dating date_night girlfriend boyfriend love_life breakup break_up broke_up
  crush? novia novio namorada namorado freundin beziehung petite_amie
Divorce: divorce divorced divorcio scheidung
Adoption: adoption adopt adopted adopting adoption_agency adoption_agencies adoptive adopcion adocao adoptieren
Birthdays: birthday birthdays birthday_party cumpleanos aniversario_de_idade geburtstag anniversaire
Parties and gatherings: party? parties? get_together get_togethers gathering gatherings potluck fiesta fiestas festa
  festas feier soiree
Holidays and celebrations: christmas thanksgiving halloween easter hanukkah ramadan eid diwali new_years_eve new_years
  4th_of_july easter_trail egg_trail navidad natal pascoa pascua weihnachten ostern silvester noel paques
Loss and grief: grief grieving passed_away funeral mourning death_of duelo luto trauer deuil condolences
Community: community? communities? the_community a_community local_community community_work community_service
  community_support community_project community_projects
  community_event community_events community_center community_meeting community_meetings sense_of_community
  neighborhood? comunidad? comunidade? nachbarschaft
LGBTQ+ life: lgbtq lgbtq+ lgbtqia+ lgbt transgender gender_identity pride_parade coming_out? coming_out_story coming_out_as
  came_out_as queer nonbinary
Self-acceptance: self_acceptance authentic_self authenticity authentically true_self self_discovery
  be_myself
Religion: faith church? churches? to_church at_church prayer praying mosque bible religion religious iglesia? igreja?
  kirche? moschee eglise?
"""
_MIND = """
Goals and dreams: goals? ambitions? aspirations? big_dream big_dreams dream_of life_goal life_goals new_years_resolution
Creativity: creativity self_expression creative_outlet creative_process creative_energy get_creative getting_creative be_creative
  being_creative creatividad criatividade kreativitat creativite
"""
_WORK = """
Career: career? careers? job_interview job_search job_hunt job_hunting new_job dream_job resume? promotion? promoted?
  job_offer lost_his_job lost_her_job lost_my_job laid_off internship carrera_profesional entrevista_de_trabajo
  emprego vorstellungsgesprach carriere
Business: business? businesses startup startups entrepreneur entrepreneurship own_business small_business
  clothing_store online_store investors customers? clients? business_plan negocio negocios empresa unternehmen? gewerbe
  entreprise
Marketing: marketing advertising ad_campaign ad_campaigns branding
Finance: finance? finances personal_finance budgeting stocks? crypto bitcoin savings mortgage finanzas financas finanzen
  geldanlage
Rent and housing: rent_is the_rent my_rent his_rent her_rent our_rent their_rent monthly_rent landlord? lease mortgage_broker
  mortgage_offer rent_for_a flat_viewing flat_viewings house_viewing house_viewings viewing_flats buying_a_flat buying_a_house
  apartment? apartments? new_house new_home new_place house_hunting moved_into moving_into moving_out alquiler aluguel
  mietvertrag wohnung wohnungssuche appartement loyer
Home renovation: renovation renovations renovating renovated renovate remodeling remodel kitchen_remodel
  home_improvement reforma reformas renovierung travaux
Education: education school? high_school? middle_school? college? university? schoolwork school_work for_school school_days
  college_student college_students college_class college_classes im_in_college im_in_school in_college_now law_school
  medical_school nursing_school grad_school graduate_school my_school my_college my_university for_university degree?
  graduate graduated graduation? semester exam exams homework
  thesis scholarship estudios universidad universidade escuela? escola? faculdade? schule? universitat studium prufung
  ecole? universite examen
Mentoring: mentor mentors mentoring mentorship
Teaching: teaching teacher teachers tutoring tutor tutors profesor profesora professor professora lehrer lehrerin
  unterrichten enseignant
Programming: coding_bootcamp coding_boot_camp programming coding code_review software? software_engineer? developer? developers?
  python javascript
  app_development hackathon programacion programacao programmieren programmation
Technology: technology gadget gadgets laptop computer? computers? smartphone artificial_intelligence machine_learning
  chatgpt robotics robots tecnologia technologie ordenador computador
Cars: car cars vehicle vehicles auto_engineering car_engine car_show mechanic? mechanics the_mechanic my_mechanic his_mechanic
  her_mechanic our_mechanic coche coches carro carros voiture?
  voitures autowerkstatt kfz_werkstatt das_auto unser_auto mein_auto auto_in_der_werkstatt
  auto_aus_der_werkstatt auto_zur_werkstatt
Motorcycles: motorcycle motorcycles motorbike motocicleta motorrad
Volunteering: volunteer volunteers volunteering volunteered voluntario voluntarios voluntariado ehrenamt ehrenamtlich
  benevole benevolat
Charity and fundraising: charity charities fundraiser fundraisers fundraising donation donations donate donated
  food_drive toy_drive caridad spenden spende donativo doacao doacoes
Homelessness: homeless homeless_shelter homeless_shelters homelessness sin_hogar obdachlos sans_abri
Veterans and military: veteran veterans military army navy soldier soldiers veteranos soldaten
Firefighting: firefighter firefighters firefighting fire_fighting fire_brigade fire_department
Politics: politics political election elections elected campaigning run_for_office running_for_office policymaking
  politica eleicoes elecciones wahlen politik politique
Activism: activism activist activists protest protests human_rights equality social_justice civil_rights advocacy
  derechos_humanos direitos_humanos menschenrechte
Public speaking: public_speaking gave_a_speech gave_a_talk speech speeches presentation? presentations?
Conferences and workshops: conference conferences workshop workshops seminar seminars convention conventions
  conferencia taller? oficina_de konferenz tagung atelier?
"""
_TRAVEL = """
Road trips: road_trip road_trips roadtrip roadtrips
Trips and vacations: vacation vacations trip_to trips_to my_trip our_trip trip? trips? solo_trip trip_abroad
  backpacking backpacked itinerary bucket_list?
  travel_plans study_abroad traveling travelling traveled travelled travels viaje viajes viagem viagens reise reisen
  voyage voyages im_ausland spring_break summer_break honeymoon getaway vacaciones ferias urlaub vacances
Flights and airports: flight flights airport airline airlines plane_ticket business_class jet_lag vuelo vuelos
  aeropuerto voo aeroporto flug fluge flughafen aeroport
Hotels: hotel hotels resort resorts airbnb hostel hoteles hoteis
Cruises: cruise cruises cruise_ship crucero cruzeiro kreuzfahrt croisiere
Trains: trains? train_ride train_trip tren trem zugfahrt bahnfahrt
Sightseeing: sightseeing landmark landmarks castle? castles? city_tour guided_tour
Hot springs: hot_spring hot_springs
Shopping: shopping thrift_store thrift_shop flea_market mall compras einkaufen_gehen
Collecting: collecting collector my_collection his_collection her_collection book_collection collectibles memorabilia
  coleccion colecao sammlung
Passport and visa: passport visa residence_permit pasaporte passaporte reisepass aufenthaltstitel
Taxes: taxes tax_return irs impuestos impostos steuern steuererklarung impots
"""

_GROUPS = {
    "Arts and crafts": _ARTS,
    "Music": _MUSIC,
    "Books and learning": _READING,
    "Films and games": _SCREEN,
    "Sport and outdoors": _SPORT,
    "Nature and animals": _NATURE,
    "Food": _FOOD,
    "Health": _HEALTH,
    "Family and community": _PEOPLE,
    "Hopes": _MIND,
    "Work and causes": _WORK,
    "Travel": _TRAVEL,
    "": FIGURES_OF_SPEECH,
}
# The titles of the groups, used as headings of a person's areas of life.
AREAS = tuple(_GROUPS)
THEME_GROUPS = tuple(tuple(part.replace("\n  ", " ").strip().split("\n")) for part in _GROUPS.values())
# Groups whose words also stand for an amount: a mountain of work, a family of five.
MEASURE_GROUPS = frozenset(map(AREAS.index, ("Nature and animals", "Family and community", "Hopes")))
# Themes that are often mentioned in passing, whatever the subject: kin, friends and hopes.
EVERYONES = frozenset(
    ["Family", "Children", "Parents", "Siblings", "Grandparents", "Friendship", "Community", "Goals and dreams"]
)
# Themes that are often only the motif of a picture.
SCENERY = frozenset(
    ["Nature", "Beach", "Mountains", "Forests", "Lakes and rivers", "Waterfalls", "Sunsets and sunrises", "Flowers"]
)
# Groups of everyday life, shared by most people: food, work, travel, health; unlike painting.
EVERYDAY_GROUPS = frozenset(
    map(
        AREAS.index,
        ("Nature and animals", "Food", "Health", "Family and community", "Hopes", "Work and causes", "Travel"),
    )
)
