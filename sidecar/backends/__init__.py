"""Clients of remote backends, used by sources and memory feeds: one module per kind. Each client is created once and shared.

A client speaks its service's wire format and translates failures into `errors`. The sources choose the items of a turn.
"""
