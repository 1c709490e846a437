"""Values derived from text: folded names, search words, sentences, shingles, signatures. Pure; contains no SQL."""
