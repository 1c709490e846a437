-- Compiles ask which pages an operator acted on; acts are few among the batches of a log.
CREATE INDEX compile_batches_by_operator ON compile_batches (tenant_id, owner_id, batch_seq) WHERE kind = 'operator';
