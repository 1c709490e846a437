-- name: put_budget!
-- Creates or updates a budget.
INSERT INTO cost_budgets (tenant_id, name, covers, ref, period, limit_usd, percents, created_at)
VALUES (:tenant_id, :name, :covers, :ref, :period, :limit_usd, :percents::text[], :now)
ON CONFLICT (tenant_id, name) DO UPDATE SET covers = excluded.covers, ref = excluded.ref, period = excluded.period,
    limit_usd = excluded.limit_usd, percents = excluded.percents;

-- name: delete_budget!
-- Deletes a budget.
DELETE FROM cost_budgets WHERE tenant_id = :tenant_id AND name = :name;

-- name: delete_alerts!
-- Deletes the alerts of a budget.
DELETE FROM cost_alerts WHERE tenant_id = :tenant_id AND name = :name;

-- name: list_budgets
-- A tenant's budgets in order of name.
SELECT name, covers, ref, period, limit_usd, percents FROM cost_budgets WHERE tenant_id = :tenant_id ORDER BY name LIMIT :limit;

-- name: raise_alert!
-- Records that a share of a budget was reached, once per period.
INSERT INTO cost_alerts (tenant_id, name, period_start, percent, spent_usd, limit_usd, raised_at)
VALUES (:tenant_id, :name, :period_start, :percent, :spent_usd, :limit_usd, :raised_at)
ON CONFLICT (tenant_id, name, period_start, percent) DO NOTHING;

-- name: list_alerts
-- A tenant's newest alerts.
SELECT name, period_start, percent, spent_usd, limit_usd, raised_at FROM cost_alerts WHERE tenant_id = :tenant_id
ORDER BY raised_at DESC, name DESC, percent DESC LIMIT :limit;

-- name: tenants_with_budgets
-- Tenants that have a budget.
SELECT tenant_id FROM tenants_with_budgets(:limit::int);
