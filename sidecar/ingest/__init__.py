"""Imports existing data: documents into chunks, exports into turns and memories.

The entry points are `documents.reader` and `chunking.chunked` for documents, and `conversations`, `memories` and `journal` of
`exports`. The decisions (`chunking`, `packing`, `cutting`) are pure. Nothing here knows a tenant, a database or the network.
"""
