"""The wiki's pages, links and held names: writes, reads, search, upkeep."""
