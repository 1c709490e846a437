"""Facts in a text (numbers, dates, names, negations), and how a rewrite preserves them."""
