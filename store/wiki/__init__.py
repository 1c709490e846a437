"""The wiki's pages, links and held names: writing, reading, search, upkeep."""
