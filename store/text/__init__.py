"""What is derived from text: folding, words, sentences, shingles, signatures. Pure; holds no SQL."""
