"""Places: cities in addresses, and the protocol of a gazetteer."""
