-- Where the words of a fact stand: from the beginning of its chunk's text, in characters. They may go on beyond the chunk.
-- NULL when that is not known, as for facts of before.

ALTER TABLE facts ADD COLUMN place_start INTEGER;
ALTER TABLE facts ADD COLUMN place_length INTEGER;
