"""The gRPC server: one module per service, and the code that every call passes through.

Generated messages stay in this package; the packages below see only frozen values.
"""
