"""The version of everything by which memories become items: extraction, merging, writing, the order of it all.

It is kept with each batch. A log of another version can't be replayed by this one, and says so.
"""

from __future__ import annotations

RULES = 3
