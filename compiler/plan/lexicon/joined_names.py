"""Names that other rules would cut: two names joined by `and`, firms named after a person and others, places named by their
owner, and names whose last word is a month.
"""

# The words before and after `and` in names, one pair each.
JOINED = """
Turks Caicos|Trinidad Tobago|Antigua Barbuda|Bosnia Herzegovina|Bosnien Herzegowina|Bósnia Herzegovina|Kitts Nevis
Tomé Príncipe|Tome Principe|Pierre Miquelon|Wallis Futuna|Newfoundland Labrador|Tyne Wear|Marks Spencer|Barnes Noble
Procter Gamble|Johnson Johnson|Dolce Gabbana|Abercrombie Fitch|Smith Wesson|Ernst Young|Rick Morty|Tom Jerry|Ben Jerry
Lilo Stitch|Phineas Ferb|Penn Teller|Beavis Butthead|Bonnie Clyde|Thelma Louise|Simon Garfunkel|Hall Oates|Mumford Sons
Romeo Juliet|Romeo Julieta|Romeu Julieta|Dungeons Dragons|Ratchet Clank|Command Conquer|Pride Prejudice|Crime Punishment
War Peace|Sense Sensibility|Jekyll Hyde|Hansel Gretel|Hänsel Gretel|Crosse Blackwell|Bang Olufsen|Fortnum Mason|Starsky Hutch
Harold Kumar|Fast Furious|Guns Roses
"""

# Names whose last word is a month too.
NAMES_ENDING_IN_MONTH = "Cape May|Brian May|Theresa May"

# The end of a firm's name: `Crumb and Co`, `Sugden and Sons`.
FIRM_ENDS = "Co Company Sons Bros Partners Associates Söhne Hijos Filhos Associados Fils"

# `McGee's bar` is a name, and `London's restaurant scene` is not.
OWNED = """
bakery bar barbershop bistro bookshop bookstore brasserie brewery café cafe deli diner gastropub grill pizzeria pub restaurant
steakhouse tavern taqueria trattoria
"""
NOT_OWNED = "scene scenes culture industry chain chains crawl district food menu owner staff week"
