"""Clients of remote backends, used by sources and memory feeds: one module per kind, each client made once and shared.

A client speaks its service's wire format and translates failures into `errors`; the sources choose the items of a turn.
"""
