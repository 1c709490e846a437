"""The use cases. A service takes a Scope and plain values, opens the transaction, applies the rule, and raises named errors."""
