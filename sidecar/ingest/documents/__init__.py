"""Reads a document into blocks, with a reader per format."""
