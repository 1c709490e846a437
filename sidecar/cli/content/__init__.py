"""Commands about an owner's content: threads, memories, documents, profiles."""
