-- name: anywhere
SELECT bank_id, operation_id, type, status, fingerprint, payload, result, error, items_count, attempts,
    next_attempt_at, created_at, updated_at, completed_at, lease
FROM operations
WHERE operation_id = ?

-- name: get
SELECT bank_id, operation_id, type, status, fingerprint, payload, result, error, items_count, attempts,
    next_attempt_at, created_at, updated_at, completed_at, lease
FROM operations
WHERE bank_id = ? AND operation_id = ?

-- name: state
SELECT status, lease, documents FROM operations WHERE bank_id = ? AND operation_id = ?

-- name: documents
SELECT documents FROM operations WHERE bank_id = ? AND operation_id = ?

-- name: insert
INSERT INTO operations (
    bank_id, operation_id, type, status, fingerprint, items_count, attempts, next_attempt_at, created_at, updated_at,
    completed_at, documents, error, result, payload
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: count
SELECT count(*)
FROM operations
WHERE bank_id = :bank_id AND (:status IS NULL OR status = :status) AND (:type IS NULL OR type = :type)

-- name: list
SELECT bank_id, operation_id, type, status, fingerprint, NULL, result, error, items_count, attempts,
    next_attempt_at, created_at, updated_at, completed_at, lease
FROM operations
WHERE bank_id = :bank_id AND (:status IS NULL OR status = :status) AND (:type IS NULL OR type = :type)
ORDER BY created_at DESC, operation_id
LIMIT :limit OFFSET :offset

-- name: next
-- Of one mental model one refresh is done at a time; the next one waits as it is.
SELECT o.bank_id, o.operation_id
FROM operations AS o
WHERE o.status IN ('pending', 'processing')
    AND CASE o.status WHEN 'pending' THEN ifnull(o.next_attempt_at, :now) ELSE o.leased_until END <= :now
    AND o.type IN (SELECT value FROM json_each(:types))
    AND NOT (
        o.status = 'pending' AND o.type = 'refresh_mental_model' AND EXISTS (
            SELECT 1
            FROM operations AS running
            WHERE running.status = 'processing' AND running.bank_id = o.bank_id AND running.type = o.type
                AND running.payload ->> 'mental_model_id' = o.payload ->> 'mental_model_id'
        )
    )
ORDER BY o.created_at, o.operation_id
LIMIT 1

-- name: claim
UPDATE operations
SET status = 'processing', attempts = attempts + 1, lease = lower(hex(randomblob(16))), leased_until = :until,
    next_attempt_at = NULL, updated_at = :now
WHERE bank_id = :bank_id AND operation_id = :operation_id

-- name: release
UPDATE operations SET status = 'pending', lease = NULL, leased_until = NULL
WHERE status IN ('pending', 'processing') AND status = 'processing'

-- name: note_progress
-- Beside what the operation told before, such as the name of its file.
UPDATE operations
SET result = json_set(ifnull(result, '{}'), '$.progress', json(:progress)), updated_at = :now
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status = 'processing' AND lease = :lease

-- name: note_result
UPDATE operations
SET result = :result, updated_at = :now
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status = 'processing' AND lease = :lease

-- name: renew
UPDATE operations
SET leased_until = :until
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status = 'processing' AND lease = :lease

-- name: finish
UPDATE operations
SET status = :status, updated_at = :now, lease = NULL, leased_until = NULL, result = :result, error = :error,
    next_attempt_at = :retry_at,
    completed_at = CASE WHEN :status IN ('completed', 'failed', 'cancelled') THEN :now END,
    payload = CASE WHEN :status = 'completed' THEN NULL ELSE payload END
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status IN ('pending', 'processing')
    AND lease IS :lease

-- name: requeue
-- All its tries are before it again, and none that does not count (`waited`) is behind it.
UPDATE operations
SET status = 'pending', attempts = 0, updated_at = :now, completed_at = NULL, next_attempt_at = NULL, error = NULL,
    result = json_remove(result, '$.waited')
WHERE bank_id = :bank_id AND operation_id = :operation_id
    AND (status IN ('failed', 'cancelled') OR status = 'pending' AND next_attempt_at IS NOT NULL)
    -- What was retained with it is deleted, and so is what it was to do.
    AND (payload IS NOT NULL OR documents = '[]' AND type <> 'retain')

-- name: cancel
UPDATE operations
SET status = 'cancelled', updated_at = :now, completed_at = :now, lease = NULL, leased_until = NULL,
    next_attempt_at = NULL
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status IN ('pending', 'processing')

-- name: drop_pointless
UPDATE operations
SET status = CASE WHEN status = 'failed' THEN status ELSE 'cancelled' END, updated_at = :now, completed_at = :now,
    lease = NULL, leased_until = NULL, next_attempt_at = NULL, payload = NULL
WHERE bank_id = :bank_id AND payload IS NOT NULL
    AND EXISTS (SELECT 1 FROM json_each(operations.documents) AS listed WHERE listed.value = :document_id)
    AND NOT EXISTS (
        SELECT 1
        FROM json_each(operations.documents) AS listed
        JOIN documents AS d ON d.bank_id = :bank_id AND d.document_id = listed.value
    )

-- name: drop_extractions
-- What is to be extracted, or extracted again, or was and failed; `drop_pointless` does the same by document.
UPDATE operations
SET status = CASE WHEN status = 'failed' THEN status ELSE 'cancelled' END, updated_at = :now, completed_at = :now,
    lease = NULL, leased_until = NULL, next_attempt_at = NULL, payload = NULL
WHERE bank_id = :bank_id AND payload IS NOT NULL AND type = 'retain'

-- name: release_blob
-- The bytes of an upload that was not retained go with its operation.
INSERT INTO released_blobs (bank_id, digest)
SELECT bank_id, json_extract(payload, '$.blob') FROM operations
WHERE bank_id = ? AND operation_id = ? AND status IN ('completed', 'failed', 'cancelled')
    AND json_extract(payload, '$.blob') IS NOT NULL
ON CONFLICT DO NOTHING

-- name: delete
DELETE FROM operations
WHERE bank_id = ? AND operation_id = ? AND status IN ('completed', 'failed', 'cancelled')
