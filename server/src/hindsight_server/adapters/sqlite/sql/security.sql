-- name: next_number
SELECT ifnull(max(number), 0) + 1 FROM security_events WHERE bank_id = ?

-- name: insert
INSERT INTO security_events (
    bank_id, number, event_id, created_at, detector, action, severity, source, message, found, item_index, document_id,
    memory_id, operation_id, receipt_uri
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: forget_old
DELETE FROM security_events WHERE bank_id = ? AND number <= ?

-- name: count
SELECT count(*)
FROM security_events
WHERE bank_id = :bank_id
    AND (:detector IS NULL OR detector = :detector)
    AND (:action IS NULL OR action = :action)
    AND (:severity IS NULL OR severity = :severity)
    AND (:document_id IS NULL OR document_id = :document_id)
    AND (:start IS NULL OR created_at >= :start)
    AND (:end IS NULL OR created_at <= :end)

-- name: list
SELECT event_id, created_at, detector, action, severity, source, message, found, item_index, document_id, memory_id,
    operation_id, receipt_uri
FROM security_events
WHERE bank_id = :bank_id
    AND (:detector IS NULL OR detector = :detector)
    AND (:action IS NULL OR action = :action)
    AND (:severity IS NULL OR severity = :severity)
    AND (:document_id IS NULL OR document_id = :document_id)
    AND (:start IS NULL OR created_at >= :start)
    AND (:end IS NULL OR created_at <= :end)
ORDER BY number DESC
LIMIT :limit OFFSET :offset

-- name: document_tags
SELECT document_id, tags
FROM documents
WHERE bank_id = :bank_id AND document_id IN (SELECT value FROM json_each(:document_ids))

-- name: receipts
SELECT document_id, receipt_uri
FROM document_receipts
WHERE bank_id = :bank_id AND document_id IN (SELECT value FROM json_each(:document_ids))

-- name: drop_receipt
DELETE FROM document_receipts WHERE bank_id = ? AND document_id = ?

-- name: write_receipt
INSERT INTO document_receipts (bank_id, document_id, receipt_uri) VALUES (?, ?, ?)
ON CONFLICT (bank_id, document_id) DO UPDATE SET receipt_uri = excluded.receipt_uri
