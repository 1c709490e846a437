"""What a compile keeps: jobs, scopes, batches, the ledger, stored answers, background work."""
