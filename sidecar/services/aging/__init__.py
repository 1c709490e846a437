"""The ageing of memories: decay jobs, episodes, and the attestations that allow a model to write summaries."""
