"""The use cases of an owner's wiki: its pages, and the typed edges between them."""
