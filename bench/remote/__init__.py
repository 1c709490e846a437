"""Turns over remote services: AWS, Hindsight and tools, mostly stand-ins."""
