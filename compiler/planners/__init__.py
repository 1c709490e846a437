"""Planners: a language model, or the extractive planner with its gazetteer."""
