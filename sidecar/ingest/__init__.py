"""Turns what people already have into what the store keeps: documents into chunks, exports into turns and memories.

Readers of formats stand outside (`reader`, `conversations`, `memories`), the decisions inside are pure (`chunking`,
`packing`, `cutting`, `sentences`). Nothing here knows a tenant, a database or the network.
"""
