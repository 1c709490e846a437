"""Names: found in text, compared, merged with the pages that already bear them."""
