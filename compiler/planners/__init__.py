"""What proposes a plan: a language model, or the extractive planner with its gazetteer."""
