"""Commands about turns: assemble, explain, replay, diff, turns, top, usage."""
