"""The foundations of every process of the sidecar: settings, errors, the database, supervision, caches, model set-up."""
