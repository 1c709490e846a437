"""Forgets content of an owner, and purges deleted rows from the database's files."""
