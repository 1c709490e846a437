"""The time and the processor time of a turn, and turns a second."""
