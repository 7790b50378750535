-- Vectors of facts in another space than that of their script, so that questions in every script can be compared with
-- them. They are made when such a question is asked, and go with their fact.

CREATE TABLE further_vectors (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    space TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (bank_id, seq, space),
    FOREIGN KEY (bank_id, seq) REFERENCES facts (bank_id, seq) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
