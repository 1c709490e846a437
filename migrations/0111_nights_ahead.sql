-- A nightly look that a clock recorded while it was ahead does not count once the clock is set back: without this, the next one
-- waited until that time came. `p_before` is a day ago.
CREATE OR REPLACE FUNCTION scopes_due_lint(p_before timestamptz, p_limit integer) RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT c.tenant_id, c.owner_id FROM wiki_compile_cursors c
    WHERE c.wiki_revision > 0 AND NOT EXISTS (
        SELECT 1 FROM wiki_lints l WHERE l.tenant_id = c.tenant_id AND l.owner_id = c.owner_id
            AND l.linted_at >= p_before AND l.linted_at <= p_before + interval '24 hours 10 minutes')
    ORDER BY c.tenant_id, c.owner_id LIMIT p_limit
$$;

-- The same for decay. A clock that is a little ahead records the next day just before midnight.
CREATE OR REPLACE FUNCTION owners_due_decay(p_before timestamptz, p_day date, p_limit integer)
RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT m.tenant_id, m.owner_id FROM memories m
    WHERE m.status = 'candidate' AND m.memory_type <> 'summary' AND NOT m.is_compressed AND m.pinned_at IS NULL
        AND m.occurred_at < p_before AND NOT EXISTS (
            SELECT 1 FROM decay_days d WHERE d.tenant_id = m.tenant_id AND d.owner_id = m.owner_id
                AND d.decayed_on >= p_day AND d.decayed_on <= p_day + 1)
    GROUP BY m.tenant_id, m.owner_id ORDER BY m.tenant_id, m.owner_id LIMIT p_limit
$$;
