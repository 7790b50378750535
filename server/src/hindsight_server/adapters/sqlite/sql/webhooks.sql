-- name: save
INSERT INTO webhooks (bank_id, webhook_id, url, secret, event_types, enabled, http_config, created_at, updated_at)
VALUES (:bank_id, :webhook_id, :url, :secret, :event_types, :enabled, :http_config, :created_at, :updated_at)
ON CONFLICT (bank_id, webhook_id) DO UPDATE SET
    url = excluded.url,
    secret = excluded.secret,
    event_types = excluded.event_types,
    enabled = excluded.enabled,
    http_config = excluded.http_config,
    updated_at = excluded.updated_at

-- name: read
SELECT webhook_id, url, secret, event_types, enabled, http_config, created_at, updated_at
FROM webhooks
WHERE bank_id = ? AND webhook_id = ?

-- name: count
SELECT count(*) FROM webhooks WHERE bank_id = ?

-- name: list
SELECT webhook_id, url, secret, event_types, enabled, http_config, created_at, updated_at
FROM webhooks
WHERE bank_id = :bank_id
ORDER BY created_at, webhook_id
LIMIT :limit OFFSET :offset

-- name: delete
DELETE FROM webhooks WHERE bank_id = ? AND webhook_id = ?

-- name: listening
SELECT webhook_id, url, event_types FROM webhooks WHERE bank_id = ? AND enabled = 1

-- name: document_facts
SELECT (
    SELECT count(*) FROM facts AS f
    WHERE f.bank_id = d.bank_id AND f.document_id = d.document_id AND f.state <> 'invalidated'
)
FROM documents AS d
WHERE d.bank_id = ? AND d.document_id = ?

-- name: next_number
SELECT ifnull(max(number), 0) + 1 FROM webhook_deliveries WHERE bank_id = ?

-- name: insert_delivery
INSERT INTO webhook_deliveries (
    bank_id, number, delivery_id, webhook_id, event_id, event_type, url, payload, status, attempts, due_at, created_at,
    updated_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 0, ?, ?, ?)

-- name: forget_ended
DELETE FROM webhook_deliveries WHERE bank_id = ? AND number <= ? AND status IN ('completed', 'failed')

-- name: forget_old
DELETE FROM webhook_deliveries WHERE bank_id = ? AND number <= ?

-- name: forget_answers
UPDATE webhook_deliveries SET response_body = NULL WHERE bank_id = ? AND response_body IS NOT NULL

-- name: answered
SELECT 1 FROM webhook_deliveries WHERE bank_id = ? AND response_body IS NOT NULL LIMIT 1

-- name: delivery
SELECT bank_id, number, delivery_id, webhook_id, event_id, event_type, url, payload, status, attempts, due_at, error,
    response_status, response_body, last_attempt_at, created_at, updated_at
FROM webhook_deliveries
WHERE bank_id = ? AND number = ?

-- name: deliveries
SELECT bank_id, number, delivery_id, webhook_id, event_id, event_type, url, payload, status, attempts, due_at, error,
    response_status, response_body, last_attempt_at, created_at, updated_at
FROM webhook_deliveries
WHERE bank_id = :bank_id AND webhook_id = :webhook_id AND number < :before
ORDER BY number DESC
LIMIT :limit

-- name: any
SELECT EXISTS (SELECT bank_id FROM webhooks)
    OR EXISTS (SELECT bank_id FROM webhook_deliveries WHERE status IN ('pending', 'processing'))

-- name: next
SELECT bank_id, number, ifnull(webhook_id, '')
FROM webhook_deliveries
WHERE status IN ('pending', 'processing') AND due_at <= ?
ORDER BY due_at
LIMIT 1

-- name: next_receiver
WITH RECURSIVE receivers (id) AS (
    SELECT min(ifnull(webhook_id, ''))
    FROM webhook_deliveries INDEXED BY webhook_deliveries_by_receiver
    WHERE status IN ('pending', 'processing')
    UNION ALL
    SELECT (
        SELECT min(ifnull(webhook_id, ''))
        FROM webhook_deliveries INDEXED BY webhook_deliveries_by_receiver
        WHERE status IN ('pending', 'processing') AND ifnull(webhook_id, '') > receivers.id
    )
    FROM receivers
    WHERE id IS NOT NULL
)
SELECT id, (
    SELECT min(due_at)
    FROM webhook_deliveries INDEXED BY webhook_deliveries_by_receiver
    WHERE status IN ('pending', 'processing') AND ifnull(webhook_id, '') = receivers.id
) AS due_at
FROM receivers
WHERE id NOT IN (SELECT value FROM json_each(:busy)) AND due_at <= :now
ORDER BY due_at
LIMIT 1

-- name: next_of
SELECT bank_id, number
FROM webhook_deliveries INDEXED BY webhook_deliveries_by_receiver
WHERE status IN ('pending', 'processing') AND ifnull(webhook_id, '') = :receiver AND due_at <= :now
ORDER BY due_at
LIMIT 1

-- name: claim
UPDATE webhook_deliveries
SET status = 'processing', attempts = attempts + 1, due_at = :until, updated_at = :now
WHERE bank_id = :bank_id AND number = :number

-- name: finish
UPDATE webhook_deliveries
SET status = :status, attempts = attempts - :given_back, due_at = :due_at, url = :url, error = :error,
    response_status = :response_status, response_body = :response_body, updated_at = :now,
    last_attempt_at = CASE WHEN :given_back THEN last_attempt_at ELSE :now END
WHERE bank_id = :bank_id AND number = :number AND delivery_id = :delivery_id AND status = 'processing'
    AND attempts = :attempts

-- name: renew
UPDATE webhook_deliveries
SET due_at = :until
WHERE bank_id = :bank_id AND number = :number AND delivery_id = :delivery_id AND status = 'processing'
    AND attempts = :attempts

-- name: release
UPDATE webhook_deliveries SET status = 'pending', due_at = created_at
WHERE status IN ('pending', 'processing') AND status = 'processing'
