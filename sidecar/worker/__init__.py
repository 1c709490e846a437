"""The worker process and its kinds of jobs: compiles, memory feeds, embedding, thread summaries."""
