"""The fences around content from sources, and the patterns of what content may not imitate."""
