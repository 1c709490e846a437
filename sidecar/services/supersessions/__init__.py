"""Use cases: superseding and restoring memories, and explaining why one is believed."""
