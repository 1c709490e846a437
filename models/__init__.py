"""What models say and cost: tokenizers, windows, prices, and the care around a remote call.

Knows no database and no wire.
"""
