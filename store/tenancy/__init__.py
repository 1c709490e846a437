"""Tenants, profiles, owners, backends, keys, and what was forgotten."""
