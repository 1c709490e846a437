"""Receipts, costs and budgets."""
