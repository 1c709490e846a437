"""What a context holds and costs: tokens, evidence, cached prefixes and private memories out of place."""
