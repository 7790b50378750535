-- What is next for whom: a receiver that hangs is passed over without reading all that waits for it.
CREATE INDEX webhook_deliveries_by_receiver ON webhook_deliveries (ifnull(webhook_id, ''), due_at)
    WHERE status IN ('pending', 'processing');

-- As in 0003.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('webhook_deliveries', 'webhook_deliveries_by_receiver', '1000 100 1');
ANALYZE sqlite_schema;
