"""Importing this loads the gazetteer, which takes a second: a process that is forked afterwards has it at once."""

from __future__ import annotations

from compiler.planners import gazetteer

gazetteer.load()
