"""Words of many languages that rules know: data only, and no decision."""
