-- Pictures and files inside documents. Their bytes are kept outside of the database, by `digest`.
CREATE TABLE attachments (
    bank_id TEXT NOT NULL,
    attachment_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    byte_size INTEGER NOT NULL,
    PRIMARY KEY (bank_id, attachment_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- Where they stand, and how each document declared them. `number` grows, so that the latest is told.
CREATE TABLE document_attachments (
    bank_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    attachment_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    media_type TEXT NOT NULL,
    filename TEXT,
    PRIMARY KEY (bank_id, document_id, attachment_id),
    FOREIGN KEY (bank_id, document_id) REFERENCES documents (bank_id, document_id) ON DELETE CASCADE,
    FOREIGN KEY (bank_id, attachment_id) REFERENCES attachments (bank_id, attachment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_attachments_by_attachment ON document_attachments (bank_id, attachment_id, number);

CREATE TABLE fact_attachments (
    bank_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    attachment_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (bank_id, fact_id, attachment_id),
    FOREIGN KEY (bank_id, fact_id) REFERENCES facts (bank_id, fact_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Bytes that something gave up. The bank may be gone by then.
CREATE TABLE released_blobs (
    bank_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (bank_id, digest)
) STRICT, WITHOUT ROWID;

-- An attachment goes with the last document that holds it, whichever way that goes.
CREATE TRIGGER attachments_go AFTER DELETE ON document_attachments
WHEN NOT EXISTS (
    SELECT 1 FROM document_attachments WHERE bank_id = old.bank_id AND attachment_id = old.attachment_id
)
BEGIN
    INSERT INTO released_blobs (bank_id, digest)
    SELECT bank_id, digest FROM attachments WHERE bank_id = old.bank_id AND attachment_id = old.attachment_id
    ON CONFLICT DO NOTHING;
    DELETE FROM attachments WHERE bank_id = old.bank_id AND attachment_id = old.attachment_id;
END;
