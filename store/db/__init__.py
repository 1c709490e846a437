"""Postgres: pools and transactions, the loader of .sql twins, migrations, notices."""
