"""The version of the rules that turn memories into items: extraction, merging, writing and their order.

It is stored with each batch. A log of another version cannot be replayed, and the replay reports it.
"""

from __future__ import annotations

RULES = 29
