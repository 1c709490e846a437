"""The common path of every call: interceptor, admission control, idempotency, validation, paging, statuses."""
