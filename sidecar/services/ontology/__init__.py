"""The governance of a tenant's ontology: proposals, reviews, approvals, rollbacks, exports and imports."""
