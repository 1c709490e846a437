"""Conversion of values to messages of the contract and back. No module here reads the store."""
