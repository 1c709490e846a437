"""Activities, interests and subjects that people return to, with the words for them in several languages: data only.

`theme_words.txt` has a heading before the themes of each group (`# Music`). A theme is its title and its forms, folded as plain
keys: a space separates forms, and an underscore stands for a space within one. A line that begins with spaces continues the one
before it.
A form of several words wins over one of its words. Words that often mean something else are left out;
forms without a title are phrases in which a form means something else. A number in a form is written 0.
A form with a question mark has other meanings too, and counts only if its sentence shows that the theme is meant.
"""

from __future__ import annotations

from importlib.resources import files

from compiler.plan.lexicon.figures_of_speech import FIGURES_OF_SPEECH

_TEXT = (files(__package__) / "theme_words.txt").read_text(encoding="ascii")
_GROUPS = dict(group.split("\n", 1) for group in _TEXT.removeprefix("# ").split("\n# ")) | {"": FIGURES_OF_SPEECH}
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
