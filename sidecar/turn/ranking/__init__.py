"""The relevance of candidates, their likeness to the message, and whether they are worth their tokens."""
