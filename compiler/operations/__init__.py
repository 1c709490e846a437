"""Upkeep by hand: acts on pages, lint, preview, replay, export."""
