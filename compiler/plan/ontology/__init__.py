"""The gate between a plan and the wiki: which entity type a page has, how its sections are shown, which typed edges hold."""
