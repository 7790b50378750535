-- name: next_number
SELECT ifnull(max(number), 0) + 1 FROM llm_requests WHERE bank_id = ?

-- name: insert
INSERT INTO llm_requests (
    bank_id, number, request_id, operation, scope, run_id, operation_id, document_id, provider, model, status,
    started_at, duration_ms, input_tokens, output_tokens, cached_tokens, thought_tokens, error
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_texts
INSERT INTO llm_request_texts (bank_id, number, input, output) VALUES (?, ?, ?, ?)

-- name: forget_old
DELETE FROM llm_requests WHERE bank_id = ? AND number <= ?

-- name: banks_with_old
SELECT DISTINCT bank_id FROM llm_requests WHERE started_at < ?

-- name: forget_before
DELETE FROM llm_requests WHERE bank_id = ? AND started_at < ?

-- name: count_texts
SELECT count(*) FROM llm_request_texts WHERE bank_id = ?

-- name: forget_texts
DELETE FROM llm_request_texts WHERE bank_id = ?

-- name: count
SELECT count(*), count(DISTINCT ifnull(run_id, request_id))
FROM llm_requests
WHERE bank_id = :bank_id
    AND (:status IS NULL OR status = :status)
    AND (:operation IS NULL OR operation = :operation)
    AND (:scope IS NULL OR scope = :scope)
    AND (:provider IS NULL OR provider = :provider)
    AND (:run_id IS NULL OR run_id = :run_id)
    AND (:document_id IS NULL OR document_id = :document_id)
    AND (:start IS NULL OR started_at >= :start)
    AND (:end IS NULL OR started_at <= :end)

-- name: list
SELECT request_id, operation, scope, run_id, operation_id, document_id, provider, model, status, started_at,
    duration_ms, input_tokens, output_tokens, cached_tokens, thought_tokens, error, texts.input, texts.output
FROM llm_requests
LEFT JOIN llm_request_texts AS texts USING (bank_id, number)
WHERE bank_id = :bank_id
    AND (:status IS NULL OR status = :status)
    AND (:operation IS NULL OR operation = :operation)
    AND (:scope IS NULL OR scope = :scope)
    AND (:provider IS NULL OR provider = :provider)
    AND (:run_id IS NULL OR run_id = :run_id)
    AND (:document_id IS NULL OR document_id = :document_id)
    AND (:start IS NULL OR started_at >= :start)
    AND (:end IS NULL OR started_at <= :end)
ORDER BY started_at DESC, number DESC
LIMIT :limit OFFSET :offset

-- name: list_runs
SELECT request_id, operation, scope, run_id, operation_id, document_id, provider, model, status, started_at,
    duration_ms, input_tokens, output_tokens, cached_tokens, thought_tokens, error, texts.input, texts.output
FROM llm_requests AS request
LEFT JOIN llm_request_texts AS texts USING (bank_id, number)
JOIN (
    SELECT ifnull(run_id, request_id) AS run, max(started_at) AS last
    FROM llm_requests
    WHERE bank_id = :bank_id
        AND (:status IS NULL OR status = :status)
        AND (:operation IS NULL OR operation = :operation)
        AND (:scope IS NULL OR scope = :scope)
        AND (:provider IS NULL OR provider = :provider)
        AND (:run_id IS NULL OR run_id = :run_id)
        AND (:document_id IS NULL OR document_id = :document_id)
        AND (:start IS NULL OR started_at >= :start)
        AND (:end IS NULL OR started_at <= :end)
    GROUP BY 1
    ORDER BY last DESC, run
    LIMIT :limit OFFSET :offset
) AS runs ON ifnull(request.run_id, request.request_id) = runs.run
WHERE bank_id = :bank_id
ORDER BY runs.last DESC, runs.run, started_at DESC, number DESC

-- name: sums
-- Versions before kept whatever a provider told; what no model can have would overflow the sum.
SELECT started_at / :width AS bucket, status, count(*), sum(min(input_tokens, 1000000000)),
    sum(min(output_tokens, 1000000000)), sum(min(cached_tokens, 1000000000)), sum(min(thought_tokens, 1000000000))
FROM llm_requests
WHERE bank_id = :bank_id AND started_at >= :start AND (:operation IS NULL OR operation = :operation)
GROUP BY bucket, status
ORDER BY bucket, status
