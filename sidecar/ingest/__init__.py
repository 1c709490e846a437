"""Imports existing data: documents into chunks, exports into turns and memories.

Format readers are `reader`, `conversations` and `memories`; the decisions (`chunking`, `packing`, `cutting`, `sentences`)
are pure. Nothing here knows a tenant, a database or the network.
"""
