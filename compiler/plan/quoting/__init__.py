"""Quoted sentences: which of a memory are about a subject, how much they say, their section, and which one a page opens with."""
