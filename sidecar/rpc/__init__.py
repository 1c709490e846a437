"""The door for gRPC: one module per service, and what every call passes on its way in and out.

Wire types end here; behind this package are frozen values only.
"""
