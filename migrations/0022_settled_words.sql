-- A compile's pages enter the search index together. Row by row each word is looked for again, and its list of pages written again,
-- for every page that has it: that was most of what Postgres did for a batch.
--
-- They wait in the index' list only until their statement ends. What waits is read by every search, whole: a list that outlived its
-- statement would make a search three times as dear.
CREATE FUNCTION settle_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM gin_clean_pending_list(TG_ARGV[0]::regclass);
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION settle_words() FROM PUBLIC;

ALTER INDEX wiki_pages_search SET (fastupdate = on, gin_pending_list_limit = 256);
ALTER INDEX wiki_page_sections_search SET (fastupdate = on, gin_pending_list_limit = 256);
CREATE TRIGGER settle_words AFTER INSERT OR UPDATE ON wiki_pages
    FOR EACH STATEMENT EXECUTE FUNCTION settle_words('public.wiki_pages_search');
CREATE TRIGGER settle_words AFTER INSERT OR UPDATE ON wiki_page_sections
    FOR EACH STATEMENT EXECUTE FUNCTION settle_words('public.wiki_page_sections_search');
