-- Who holds an operation: another word for each claim. The number of tries begins anew when one is queued again, so that
-- it tells no worker whether a job is still its own.
ALTER TABLE operations ADD COLUMN lease TEXT;
