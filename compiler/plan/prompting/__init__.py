"""Prompts: wording, answer schemas, handles, splitting."""
