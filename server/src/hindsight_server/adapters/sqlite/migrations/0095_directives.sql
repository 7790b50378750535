-- Rules of a bank that reflect follows.
CREATE TABLE directives (
    bank_id TEXT NOT NULL,
    directive_id TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    priority INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (bank_id, directive_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;
