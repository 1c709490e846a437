"""The database layer: everything that uses SQL, one module and one .sql twin per subject.

Callers pass a Scope and get frozen values or a StoreError; no driver type leaves this package.
"""
