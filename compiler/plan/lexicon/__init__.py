"""Words of many languages that the rules use: data only, no decisions."""
