"""Rows in and out: what a pass is shown, and how its plan is applied."""
