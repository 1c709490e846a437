"""Use cases: superseding and restoring memories, and explaining the evidence for a memory."""
