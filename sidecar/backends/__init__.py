"""The remote places that sources and substrates ask: one client a kind of backend, each made once and shared.

A client speaks its service's wire format and says failures in the terms of `errors`; which items a turn gets of an answer is
the sources' business.
"""
