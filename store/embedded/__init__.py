"""The embedded Postgres server: its programs, places, locks and life."""
