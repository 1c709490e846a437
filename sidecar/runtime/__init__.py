"""What every process of the sidecar stands on: settings, errors, the database, supervision, caches, model set-up."""
