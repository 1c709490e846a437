"""Pages: compiling them, what they cover, and searching them."""
