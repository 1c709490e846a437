"""The use cases of a tenant's Brain: lookups in compiled pages, and releases of memories and documents."""
