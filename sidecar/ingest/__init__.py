"""Imports existing data: documents into chunks, exports into turns and memories.

The entry points are `reader` and `chunked` for documents, and `conversations`, `memories` and `journal` for exports. The
decisions (`chunking`, `packing`, `cutting`) are pure. Nothing here knows a tenant, a database or the network.
"""
