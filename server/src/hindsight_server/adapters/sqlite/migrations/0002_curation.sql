-- When and why a fact was retired, and when it was last corrected.

ALTER TABLE facts ADD COLUMN invalidated_at INTEGER;
ALTER TABLE facts ADD COLUMN invalidation_reason TEXT;
ALTER TABLE facts ADD COLUMN edited_at INTEGER;
