"""Judges proposals: decides which parts become items, and the effects of edited and forgotten memories."""
