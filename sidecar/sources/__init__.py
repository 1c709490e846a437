"""The sources of context, one file each. They never import one another; `registry`, `composite` and `brain` combine them."""
