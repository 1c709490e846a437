-- For how many seconds after its last compile an owner's wiki rests that no turn has read for as long; null leaves it to the environment.
ALTER TABLE tenants ADD COLUMN wiki_unread_pause_s integer CHECK (wiki_unread_pause_s >= 0);
