-- What tells a fact from its copies: facts of equal numbers other than 0 say the same. Those of before have 0.

ALTER TABLE facts ADD COLUMN fold INTEGER NOT NULL DEFAULT 0;
