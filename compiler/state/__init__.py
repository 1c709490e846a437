"""Rows in and out: the views that passes plan from, and how plans are applied."""
