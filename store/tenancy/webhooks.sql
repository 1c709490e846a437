-- name: scope_of_subscription^
-- The scope of a subscription, across tenants, or no row.
SELECT tenant_id, owner_id FROM scope_of_webhook(:subscription_id);

-- name: get_subscription^
-- A subscription, or no row.
SELECT backend, secret, created_at FROM webhook_subscriptions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND subscription_id = :subscription_id;

-- name: lock_tenant^
-- Lets one transaction at a time look for a subscription and write one. Does not block writes of rows that reference the tenant.
SELECT tenant_id FROM tenants WHERE tenant_id = :tenant_id FOR NO KEY UPDATE;

-- name: insert_subscription!
-- Writes a subscription.
INSERT INTO webhook_subscriptions (tenant_id, owner_id, subscription_id, backend, secret, created_at)
VALUES (:tenant_id, :owner_id, :subscription_id, :backend, :secret, :now);

-- name: delete_subscription!
-- Deletes a subscription.
DELETE FROM webhook_subscriptions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND subscription_id = :subscription_id;

-- name: forget_deliveries!
-- Deletes deliveries older than a week; no sender retries that late.
DELETE FROM webhook_deliveries WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND subscription_id = :subscription_id
    AND received_at < :now::timestamptz - interval '7 days';

-- name: insert_delivery!
-- Records a delivery, unless its id was recorded before.
INSERT INTO webhook_deliveries (tenant_id, owner_id, subscription_id, delivery_id, received_at)
VALUES (:tenant_id, :owner_id, :subscription_id, :delivery_id, :now)
ON CONFLICT (tenant_id, owner_id, subscription_id, delivery_id) DO NOTHING;

-- name: subscription_of_backend$
-- The id of an owner's subscription at a backend, or no row.
SELECT subscription_id FROM webhook_subscriptions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND backend = :backend ORDER BY created_at LIMIT 1;
