"""Words that tell who bears a name, besides those for kin in `kin_words`: data only."""

from __future__ import annotations

# Further relatives: one kind a line, in all languages.
RELATIVES = """
cousin: cousin cousine vetter kusine primo prima primos cugino cugina
niece: niece nichte sobrina sobrinha nièce nipote
nephew: nephew neffe sobrino sobrinho neveu
mother-in-law: mother-in-law schwiegermutter suegra sogra belle-mère suocera
father-in-law: father-in-law schwiegervater suegro sogro beau-père suocero
sister-in-law: sister-in-law schwägerin cuñada cunhada belle-sœur cognata
brother-in-law: brother-in-law schwager cuñado cunhado beau-frère cognato
grandson: grandson enkel nieto neto petit-fils
granddaughter: granddaughter enkelin nieta neta petite-fille
"""
BEASTS = """
dog puppy pup beagle terrier poodle labrador cat kitten tomcat horse pony mare parrot rabbit hamster tortoise goat donkey hen
hund hündin welpe katze kater pferd stute papagei kaninchen schildkröte
perro perra cachorro gato gata caballo yegua loro conejo tortuga
cão cachorra cadela cavalo égua papagaio coelho tartaruga
chien chienne chiot chat chatte chaton cheval jument perroquet lapin tortue
cane cagna cucciolo gatto gatta cavallo cavalla pappagallo coniglio
"""
# What somebody is to the owner who is no relative of theirs.
STRANGERS_ENGLISH = """
colleague coworker co-worker boss manager client customer patient supplier contractor landlord landlady neighbour neighbor teacher
tutor coach trainer doctor dentist therapist nurse plumber electrician mechanic builder gardener cleaner lawyer accountant
friend pal receptionist secretary freelancer designer engineer developer midwife waiter waitress baker butcher farmer priest
pastor professor tenant pupil captain assistant
babysitter nanny barber hairdresser vet intern trainee recruiter student drummer guitarist singer driver postman
"""
STRANGERS = """
freund freundin schüler schülerin freiberufler freiberuflerin
kollege kollegin chef chefin kunde kundin patient patientin vermieter vermieterin nachbar nachbarin lehrer lehrerin trainer
trainerin arzt ärztin zahnarzt zahnärztin handwerker klempner elektriker mechaniker anwalt anwältin praktikant praktikantin
amigo amiga alumno alumna secretario secretaria recepcionista camarero camarera
colega jefe jefa cliente cliente vecino vecina maestro maestra profesor profesora entrenador entrenadora médico médica fontanero
electricista abogado abogada empleado empleada becario becaria casero casera
aluno aluna secretária secretário paciente técnico técnica
chefe vizinho vizinha professor professora treinador treinadora advogado advogada empregado empregada estagiário estagiária
senhorio senhoria
ami amie élève
collègue patron patronne client cliente voisin voisine professeur professeure entraîneur médecin plombier avocat avocate
propriétaire stagiaire
"""
# Possessives of the owner of a note in the third person, at the start of a sentence: `Her brother Stefan works in Grimma.`
THEIRS = "his her their sein seine seinen seiner ihr ihre ihren ihrer su sus sua seu suas seus son sa ses suo"
CALLED = "called named namens llamado llamada chamado chamada appelé appelée chiamato chiamata"
# Somebody's partners who are no husband or wife, and several children at once.
PARTNERS = """
boyfriend girlfriend fiancé fiancée partner partnerin lebensgefährte novio novia pareja namorado namorada companheiro companheira
copain copine fidanzato fidanzata
"""
CHILDREN = """
twins kids children sons daughters boys girls zwillinge kinder söhne töchter gemelos mellizos hijos hijas gêmeos gêmeas filhos
filhas jumeaux jumelles enfants gemelli figli
"""
