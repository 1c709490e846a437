"""Tenants, profiles, owners, backends, keys, and notes of forgettings."""
