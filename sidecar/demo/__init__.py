"""The demo: one person's journal, conversation, documents and pages, and the turn that draws on all of them.

The data are under `data/`; `corpus` reads them, `story` loads them into a sidecar and asks the question.
"""
