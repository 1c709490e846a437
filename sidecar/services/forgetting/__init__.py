"""Forgetting what an owner names, and purging what was deleted from the database's files."""
