-- A deleted document, too, is recorded until no owner's receipts hold words of it.
ALTER TABLE brain_withdrawals DROP CONSTRAINT brain_withdrawals_ref_kind_check;
ALTER TABLE brain_withdrawals ADD CONSTRAINT brain_withdrawals_ref_kind_check CHECK (ref_kind IN ('memory', 'page', 'document'));
