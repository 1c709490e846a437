"""The pages of the console, one module a subject."""
