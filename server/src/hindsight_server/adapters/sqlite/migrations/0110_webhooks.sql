-- Who is told of what happens in a bank.
CREATE TABLE webhooks (
    bank_id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    url TEXT NOT NULL,
    secret TEXT,
    event_types TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    http_config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (bank_id, webhook_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- What is told to each of them, written in the transaction of what it tells of. A payload holds ids and counts, and no word
-- of a memory. Without a webhook_id it goes to the receiver of all banks, which only the settings know.
CREATE TABLE webhook_deliveries (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    delivery_id TEXT NOT NULL,
    webhook_id TEXT,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    url TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    -- When it may be taken: its next attempt, or the end of the lease of who takes care of it.
    due_at INTEGER,
    error TEXT,
    response_status INTEGER,
    response_body TEXT,
    last_attempt_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (bank_id, number),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id),
    FOREIGN KEY (bank_id, webhook_id) REFERENCES webhooks (bank_id, webhook_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (bank_id, webhook_id, number);
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (bank_id, number) WHERE status IN ('completed', 'failed');
CREATE INDEX webhook_deliveries_answered ON webhook_deliveries (bank_id) WHERE response_body IS NOT NULL;
-- The one question that is asked across banks: what is to be told next.
CREATE INDEX webhook_deliveries_to_do ON webhook_deliveries (due_at) WHERE status IN ('pending', 'processing');

-- As in 0003: rows in all, then rows for each value of the columns so far.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('webhook_deliveries', 'webhook_deliveries', '100000 50000 1'),
    ('webhook_deliveries', 'webhook_deliveries_by_webhook', '100000 50000 20000 1'),
    ('webhook_deliveries', 'webhook_deliveries_ended', '10000 5000 1'),
    ('webhook_deliveries', 'webhook_deliveries_answered', '10 10'),
    ('webhook_deliveries', 'webhook_deliveries_to_do', '100 1');
ANALYZE sqlite_schema;
