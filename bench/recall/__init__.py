"""Recall: how much of the evidence for a question stands in the context, and the training of the ranker's weights."""
