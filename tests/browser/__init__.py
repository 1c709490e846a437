"""The console in a real browser: `make test-console`."""
