"""Judges a proposal: which parts become items, and what follows from edited or forgotten memories."""
