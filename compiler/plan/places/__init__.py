"""Places: cities in addresses, and the gazetteer's protocol."""
