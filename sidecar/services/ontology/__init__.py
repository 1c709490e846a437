"""The governance of a tenant's ontology: what is proposed, reviewed, approved, rolled back, exported and imported."""
