"""Manual upkeep: acts on pages, lint, preview, replay, export."""
