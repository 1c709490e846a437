"""The embedded Postgres server: its programs, paths, locks and lifecycle."""
