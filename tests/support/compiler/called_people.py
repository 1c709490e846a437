"""Memories that call people by their full name, a title with the surname, the surname or the first name alone."""

from __future__ import annotations

import random
from typing import NamedTuple


class _Language(NamedTuple):
    titles: tuple[str, ...]
    first: tuple[str, ...]
    last: tuple[str, ...]
    sentences: tuple[str, ...]


_LANGUAGES = (
    _Language(
        ("Frau", "Herr", "Dr.", "Frau Dr.", "Professor"),
        ("Berit", "Jonas", "Anke"),
        ("Salomon", "Dressler"),
        (
            "{} bringt am Freitag die Noten für den Chor.",
            "{} möchte, dass wir früher anfangen.",
            "Gestern hat {} angerufen und abgesagt.",
            "Ich habe {} die Bücher zurückgegeben.",
            "Das Rezept ist von {} und es war gut.",
        ),
    ),
    _Language(
        ("Mr.", "Ms.", "Dr.", "Professor"),
        ("Hanna", "Gary", "Priya"),
        ("Reuter", "Pike"),
        (
            "{} changed my dose to 20 mg.",
            "{} wants to see me in May.",
            "Yesterday I met {} at the station.",
            "I gave {} the keys back.",
            "The recipe is from {} and it was good.",
        ),
    ),
    _Language(
        ("Señor", "Señora", "Don", "Doña"),
        ("Julián", "Marta", "Andrés"),
        ("Uribe", "Salcedo"),
        (
            "{} arregló la puerta.",
            "{} quiere cobrar el viernes.",
            "Ayer vi a {} en el mercado.",
            "Le di los libros a {} el lunes.",
            "La receta es de {} y salió bien.",
        ),
    ),
    _Language(
        ("Madame", "Monsieur", "Mme"),
        ("Claire", "Luc", "Amélie"),
        ("Lefort", "Garnier"),
        (
            "{} nous a donné la clé.",
            "{} veut commencer plus tôt.",
            "Hier j'ai vu {} au marché.",
            "J'ai rendu les livres à {} lundi.",
            "{} chante dans le chœur.",
        ),
    ),
)


def said(seed: int) -> tuple[str, ...]:
    """Return three to seven memories about one to three people in one language, drawn by the seed, each unlike the others."""
    chance = random.Random(seed)
    language = _LANGUAGES[seed % len(_LANGUAGES)]
    people = [
        (chance.choice(language.titles), chance.choice(language.first), chance.choice(language.last))
        for _ in range(chance.choice((1, 2, 3)))
    ]
    found = []
    for _ in range(chance.choice((3, 4, 5, 6, 7))):
        title, first, last = chance.choice(people)
        names = (f"{title} {last}", f"{first} {last}", last, first, f"{title} {first} {last}", f"{title} {first}")
        found.append(chance.choice(language.sentences).format(chance.choice(names)))
    return tuple(dict.fromkeys(found))
