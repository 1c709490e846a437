"""An owner's content: threads, memories, documents, and the vectors of all texts."""
