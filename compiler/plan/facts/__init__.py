"""Facts in a text: numbers, dates, names and negations, and how a rewrite keeps what it changes."""
