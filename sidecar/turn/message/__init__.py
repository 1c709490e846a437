"""The message: its parsing, its words, whether it leans on its thread, is personal, names periods or relations, or is broad."""
