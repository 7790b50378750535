-- Which facts a text states to be the cause of which.

CREATE TABLE causes (
    bank_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    PRIMARY KEY (bank_id, fact_id, cause_id),
    FOREIGN KEY (bank_id, fact_id) REFERENCES facts (bank_id, fact_id) ON DELETE CASCADE,
    FOREIGN KEY (bank_id, cause_id) REFERENCES facts (bank_id, fact_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX causes_by_cause ON causes (bank_id, cause_id);
