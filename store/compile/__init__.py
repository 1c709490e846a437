"""The state of compiles: jobs, scopes, batches, the ledger, cached answers, background jobs."""
