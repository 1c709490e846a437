"""Fitting: which turns and items go into the pool, in which form, and how they are rendered."""
