"""The places context comes from, one file each. Siblings never import one another; `registry` and `composite` combine them."""
