-- Names that operators gave before such names were ruled: each becomes a ruling, so that a rebuild keeps it. A name that another
-- active page has too is shared: it takes no memories to this page.
INSERT INTO wiki_rulings (tenant_id, owner_id, kind, page_type, page_slug, ref, text, detail, into_type, into_slug, memory_ids,
    ruled_at)
SELECT a.tenant_id, a.owner_id, 'name', p.type, p.slug, a.alias, a.display,
    CASE WHEN EXISTS (SELECT 1 FROM wiki_page_aliases o JOIN wiki_pages q ON q.tenant_id = o.tenant_id AND q.page_id = o.page_id
        WHERE o.tenant_id = a.tenant_id AND o.owner_id = a.owner_id AND o.alias = a.alias AND o.page_id <> a.page_id
            AND q.status = 'active') THEN 'shared' ELSE 'manual' END,
    '', '', ARRAY(SELECT DISTINCT s.source_ref FROM wiki_section_sources s
        WHERE s.tenant_id = a.tenant_id AND s.page_id = a.page_id AND s.source_kind = 'memory' ORDER BY 1), a.created_at
FROM wiki_page_aliases a JOIN wiki_pages p ON p.tenant_id = a.tenant_id AND p.page_id = a.page_id
WHERE a.source = 'manual'
ON CONFLICT DO NOTHING;
