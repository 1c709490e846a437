"""A proposal judged: what of it becomes items, and what follows from edited or forgotten memories."""
