"""Text of pages: markdown, sentences, sections, rollups."""
