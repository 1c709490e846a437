"""Typed edges between pages: which types there are, and the rules that read them from plain statements."""
