-- name: anywhere
SELECT bank_id, operation_id, type, status, fingerprint, payload, result, error, items_count, attempts, created_at,
    updated_at, completed_at
FROM operations
WHERE operation_id = ?

-- name: get
SELECT bank_id, operation_id, type, status, fingerprint, payload, result, error, items_count, attempts, created_at,
    updated_at, completed_at
FROM operations
WHERE bank_id = ? AND operation_id = ?

-- name: documents
SELECT documents FROM operations WHERE bank_id = ? AND operation_id = ?

-- name: insert
INSERT INTO operations (
    bank_id, operation_id, type, status, fingerprint, items_count, attempts, created_at, updated_at, completed_at,
    documents, error, result, payload
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: count
SELECT count(*)
FROM operations
WHERE bank_id = :bank_id AND (:status IS NULL OR status = :status) AND (:type IS NULL OR type = :type)

-- name: list
SELECT bank_id, operation_id, type, status, fingerprint, NULL, result, error, items_count, attempts, created_at,
    updated_at, completed_at
FROM operations
WHERE bank_id = :bank_id AND (:status IS NULL OR status = :status) AND (:type IS NULL OR type = :type)
ORDER BY created_at DESC, operation_id
LIMIT :limit OFFSET :offset

-- name: next
SELECT bank_id, operation_id
FROM operations
WHERE status IN ('pending', 'processing')
    AND (status = 'pending' OR leased_until <= :now)
    AND type IN (SELECT value FROM json_each(:types))
ORDER BY created_at, operation_id
LIMIT 1

-- name: claim
UPDATE operations
SET status = 'processing', attempts = attempts + 1, leased_until = :until, updated_at = :now
WHERE bank_id = :bank_id AND operation_id = :operation_id

-- name: finish
UPDATE operations
SET status = :status, updated_at = :now, leased_until = NULL, result = :result, error = :error,
    completed_at = CASE WHEN :status IN ('completed', 'failed', 'cancelled') THEN :now END,
    payload = CASE WHEN :status IN ('completed', 'cancelled') THEN NULL ELSE payload END
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status != 'cancelled' AND attempts = :attempts

-- name: cancel
UPDATE operations
SET status = 'cancelled', updated_at = :now, completed_at = :now, leased_until = NULL, payload = NULL
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status IN ('pending', 'processing')

-- name: cancel_for_document
UPDATE operations
SET status = CASE WHEN status = 'failed' THEN status ELSE 'cancelled' END, updated_at = :now, completed_at = :now,
    leased_until = NULL, payload = NULL
WHERE bank_id = :bank_id AND documents = :documents AND status IN ('pending', 'processing', 'failed')

-- name: delete
DELETE FROM operations
WHERE bank_id = ? AND operation_id = ? AND status IN ('completed', 'failed', 'cancelled')
