-- Whether a turn came out of an export of another conversation. A system message among these is shown as a quotation.
ALTER TABLE turns ADD COLUMN is_imported boolean NOT NULL DEFAULT false;
