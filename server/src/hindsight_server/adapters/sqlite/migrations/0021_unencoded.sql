-- Facts that no model could encode when they were stored; they get their vectors later.

CREATE TABLE unencoded (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (bank_id, seq),
    FOREIGN KEY (bank_id, seq) REFERENCES facts (bank_id, seq) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO unencoded (bank_id, seq)
SELECT f.bank_id, f.seq
FROM facts AS f
WHERE f.state = 'valid'
    AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE v.bank_id = f.bank_id AND v.seq = f.seq);
