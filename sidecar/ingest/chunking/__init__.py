"""Cuts documents into chunks."""
