-- What language models were asked for, one row for each try. Nothing here holds what was asked or answered.
CREATE TABLE llm_requests (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    scope TEXT,
    run_id TEXT,
    operation_id TEXT,
    document_id TEXT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    thought_tokens INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (bank_id, number),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX llm_requests_by_time ON llm_requests (bank_id, started_at);

-- What was asked and answered, only when a setting turns it on. Forgetting anything in a bank empties it.
CREATE TABLE llm_request_texts (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    input TEXT,
    output TEXT,
    PRIMARY KEY (bank_id, number),
    FOREIGN KEY (bank_id, number) REFERENCES llm_requests (bank_id, number) ON DELETE CASCADE
) STRICT;
