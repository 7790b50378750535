-- What memory defence decided. Nothing here holds what it found.
CREATE TABLE security_events (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    detector TEXT NOT NULL,
    action TEXT NOT NULL,
    severity TEXT NOT NULL,
    source TEXT NOT NULL,
    message TEXT NOT NULL,
    found TEXT NOT NULL,
    item_index INTEGER,
    document_id TEXT,
    memory_id TEXT,
    operation_id TEXT,
    receipt_uri TEXT,
    PRIMARY KEY (bank_id, number),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- Where the caller keeps the proof of what a document holds; of the part that came last with one.
CREATE TABLE document_receipts (
    bank_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    receipt_uri TEXT NOT NULL,
    PRIMARY KEY (bank_id, document_id),
    FOREIGN KEY (bank_id, document_id) REFERENCES documents (bank_id, document_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
