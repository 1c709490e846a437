"""What every call passes: the interceptor, admission control, idempotency, validation, paging, statuses."""
