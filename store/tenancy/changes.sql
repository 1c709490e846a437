-- name: changes_so_far
-- The number of rows of the tenant that this session deleted or changed, by table. Two readings in one transaction differ by the
-- changes in between. The tenant's row leads to the server of its rows, where a cluster counts them.
SELECT c.table_name, c.row_count FROM tenants AS t CROSS JOIN changes_so_far() AS c WHERE t.tenant_id = :tenant_id;
