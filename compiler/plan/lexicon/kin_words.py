"""Words for one's own kin in six languages: data only."""

from __future__ import annotations

# After the colon, the possessives of the first person that may precede a word for kin; before it, the feminine and the masculine
# one with which a name begins.
POSSESSIVES = {
    "english": "my my: my our user's users",
    "german": "meine mein: mein meine meiner meinen meinem meines unser unsere unserer unseren unserem unseres",
    "french": "ma mon: ma mon notre",
    "spanish": "mi mi: mi nuestra nuestro",
    "portuguese": "minha meu: minha meu nossa nosso",
    "italian": "mia mio: mia mio nostra nostro",
}
# Kinds of kin, f or m, and the words for them in each language.
KIN = """
mother f
  english mum mom mother mam mummy mommy mama | german mutter mama mutti mami | french mère mere maman
  spanish madre mamá mama mami | portuguese mãe mae mamãe mamã | italian madre mamma
father m
  english dad father daddy papa | german vater papa vati | french père pere papa
  spanish padre papá papa | portuguese pai papai papá | italian padre papà babbo
grandmother f
  english grandma grandmother granny gran nan nana | german oma großmutter omi | french grand-mère mamie mémé
  spanish abuela yaya | portuguese avó vovó | italian nonna
grandfather m
  english grandpa grandfather grandad granddad | german opa großvater opi | french grand-père papy pépé
  spanish abuelo yayo | portuguese avô vovô | italian nonno
sister f
  english sister | german schwester | french sœur soeur | spanish hermana | portuguese irmã irma | italian sorella
brother m
  english brother | german bruder | french frère frere | spanish hermano | portuguese irmão irmao | italian fratello
wife f
  english wife | german frau ehefrau | french femme | spanish mujer esposa | portuguese mulher esposa | italian moglie
husband m
  english husband | german mann ehemann | french mari | spanish marido esposo | portuguese marido esposo | italian marito
daughter f
  english daughter | german tochter | french fille | spanish hija | portuguese filha | italian figlia
son m
  english son | german sohn | french fils | spanish hijo | portuguese filho | italian figlio
aunt f
  english aunt auntie | german tante | french tante | spanish tía tia | portuguese tia | italian zia
uncle m
  english uncle | german onkel | french oncle | spanish tío tio | portuguese tio | italian zio
"""
# Words that, with a capital, are names without a possessive.
NAMES = """
mother: Mum Mom Mam Mummy Mommy Mama Mami Mutti Maman Mamá Mamã Mamãe Mamma
father: Dad Daddy Papa Vati Papá Papai Papà Babbo
grandmother: Grandma Granny Gran Nan Nana Oma Omi Mamie Mémé Abuela Yaya Nonna
grandfather: Grandpa Grandad Granddad Opa Opi Papy Pépé Abuelo Yayo Nonno
"""
# The same for words that, without their accent or gender, are also other words: their names have a possessive.
AMBIGUOUS = """
mother: Mãe
father: Pai
grandmother: Avó Vovó
grandfather: Avô Vovô
"""
# Words that may precede such a name in lower case: `lunch with mum`.
BEFORE = """
with for to from and called told asked visited saw met calling visiting mit für von und bei con para y de com e di
avec pour et chez appelé appelée appeler appelle vu voir
"""
# Words before such a name that make it the kin of others or an ordinary noun: `her Mum`, `the Pope`.
NOT_BEFORE = """
the a an her his their your another every each some el la le il les lo un una une uno um uma ein eine einer einem einen sein seine
seiner seinen seinem ihr ihre ihrer ihren ihrem dein deine deiner deinen deinem euer eure su sus tu tus sua seu suas seus tua teu
son sa ses leur ton ta votre suo suoi tuo del della o
"""
# Words that change the meaning of a word for kin before them: `my mother tongue`, `my brother in law`.
NOT_AFTER = "tongue company jokes board ship site"
