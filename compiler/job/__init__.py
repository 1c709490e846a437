"""One compile job from its claim to its outcome, and the worker that runs jobs."""
