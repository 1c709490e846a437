"""Models: tokenizers, windows, prices, language models, embedders, and resilient remote calls.

Depends on neither the database nor the RPC contract.
"""
