"""Reading and writing rows: the views that passes plan from, and the application of plans."""
