"""The demo: a person's journal, conversation, documents and pages, and a turn that uses all of them.

The data are in `data/`; `corpus` reads them, `story` loads them into a sidecar and asks the question.
"""
