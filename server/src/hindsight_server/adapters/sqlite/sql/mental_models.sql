-- name: read
SELECT bank_id, mental_model_id, name, source_query, tags, max_tokens, trigger_options, is_page, created_at, updated_at,
    version, seen_seq, failed_seq, last_refreshed_at, last_memory_seen_at, last_refresh_failed_at,
    last_full_refreshed_at, cut_at, scheduled_at, full_scheduled_at, refresh_id, answered_query, fact_ids,
    structured_output, structured_output_error, trace, page, section_terms, terms, space, vector
FROM mental_models
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id

-- name: list
SELECT bank_id, mental_model_id, name, source_query, tags, max_tokens, trigger_options, is_page, created_at, updated_at,
    version, seen_seq, failed_seq, last_refreshed_at, last_memory_seen_at, last_refresh_failed_at,
    last_full_refreshed_at, cut_at, scheduled_at, full_scheduled_at, refresh_id, answered_query, fact_ids,
    structured_output, structured_output_error, trace, page, section_terms, terms, space, vector
FROM mental_models
WHERE bank_id = :bank_id
ORDER BY name, mental_model_id

-- name: scheduled
SELECT m.bank_id, m.mental_model_id
FROM mental_models AS m
JOIN banks AS b ON b.bank_id = m.bank_id
WHERE m.has_schedule = 1
ORDER BY m.bank_id, m.mental_model_id

-- name: exists
SELECT 1 FROM mental_models WHERE bank_id = ? AND mental_model_id = ?

-- name: insert
INSERT INTO mental_models (
    bank_id, mental_model_id, name, source_query, tags, max_tokens, trigger_options, has_schedule, is_page, created_at,
    updated_at, version, seen_seq, fact_ids, page, section_terms, terms
) VALUES (
    :bank_id, :mental_model_id, :name, :source_query, :tags, :max_tokens, :trigger_options, :has_schedule, :is_page,
    :created_at, :updated_at, 0, 0, '[]', '{}', '{}', '{}'
)

-- name: change
UPDATE mental_models
SET name = :name, source_query = :source_query, tags = :tags, max_tokens = :max_tokens,
    trigger_options = :trigger_options, has_schedule = :has_schedule, scheduled_at = :scheduled_at,
    full_scheduled_at = :full_scheduled_at, updated_at = :updated_at
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id

-- name: set_content
UPDATE mental_models
SET version = :version, answered_query = :answered_query, fact_ids = :fact_ids,
    structured_output = :structured_output, structured_output_error = :structured_output_error, trace = :trace,
    page = :page, section_terms = :section_terms, cut_at = :cut_at, updated_at = :now
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id

-- name: set_index
UPDATE mental_models SET terms = ?, space = ?, vector = ? WHERE bank_id = ? AND mental_model_id = ?

-- name: refreshed
UPDATE mental_models
SET seen_seq = :seen_seq, failed_seq = NULL, last_refreshed_at = :now, last_refresh_failed_at = NULL,
    last_memory_seen_at = ifnull(:newest_at, last_memory_seen_at),
    last_full_refreshed_at = CASE WHEN :full THEN :now ELSE last_full_refreshed_at END,
    cut_at = CASE WHEN :settled THEN NULL ELSE cut_at END
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id

-- name: failed
UPDATE mental_models
SET failed_seq = :failed_seq, last_refresh_failed_at = :now
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id

-- name: cleared
UPDATE mental_models
SET seen_seq = 0, failed_seq = NULL, last_refreshed_at = NULL, last_memory_seen_at = NULL,
    last_refresh_failed_at = NULL, last_full_refreshed_at = NULL
WHERE bank_id = ? AND mental_model_id = ?

-- name: unseen
UPDATE mental_models SET seen_seq = 0, failed_seq = NULL WHERE bank_id = ? AND mental_model_id = ?

-- name: restore
UPDATE mental_models
SET version = 1, last_refreshed_at = :refreshed_at, last_memory_seen_at = :seen_at,
    last_full_refreshed_at = :full_at,
    seen_seq = (
        SELECT ifnull(max(f.seq), 0) FROM facts AS f WHERE f.bank_id = :bank_id AND f.updated_at <= :seen_at
    )
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id

-- name: set_refresh
UPDATE mental_models SET refresh_id = ? WHERE bank_id = ? AND mental_model_id = ?

-- name: delete
DELETE FROM mental_models WHERE bank_id = ? AND mental_model_id = ?

-- name: waiting_refresh
SELECT o.operation_id
FROM mental_models AS m
JOIN operations AS o ON o.bank_id = m.bank_id AND o.operation_id = m.refresh_id
WHERE m.bank_id = ? AND m.mental_model_id = ? AND o.status = 'pending'

-- name: hasten_refresh
UPDATE operations
SET payload = CASE WHEN :full THEN json_set(payload, '$.full', json('true')) ELSE payload END,
    next_attempt_at = CASE WHEN :at IS NULL OR next_attempt_at IS NULL THEN NULL ELSE min(next_attempt_at, :at) END,
    updated_at = :now
WHERE bank_id = :bank_id AND operation_id = :operation_id AND status = 'pending'

-- name: operation_state
SELECT status, lease FROM operations WHERE bank_id = ? AND operation_id = ?

-- name: add_source
INSERT INTO mental_model_sources (bank_id, mental_model_id, version, fact_id) VALUES (?, ?, ?, ?)
ON CONFLICT (bank_id, mental_model_id, version, fact_id) DO NOTHING

-- name: sources
SELECT fact_id FROM mental_model_sources WHERE bank_id = ? AND mental_model_id = ? AND version = ? ORDER BY fact_id

-- name: drop_sources
DELETE FROM mental_model_sources WHERE bank_id = ? AND mental_model_id = ? AND version = ?

-- name: resting_on
SELECT DISTINCT s.mental_model_id, s.version
FROM json_each(:fact_ids) AS wanted
CROSS JOIN mental_model_sources AS s ON s.bank_id = :bank_id AND s.fact_id = wanted.value
ORDER BY s.mental_model_id, s.version

-- name: next_history
SELECT ifnull(max(number), 0) + 1 FROM mental_model_history WHERE bank_id = ? AND mental_model_id = ?

-- name: add_history
INSERT INTO mental_model_history (
    bank_id, mental_model_id, number, version, changed_at, outcome, failure, error, previous_content
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: drop_failures
DELETE FROM mental_model_history
WHERE bank_id = :bank_id AND mental_model_id = :mental_model_id AND failure IS NOT NULL
    AND number > ifnull(
        (
            SELECT max(h.number)
            FROM mental_model_history AS h
            WHERE h.bank_id = :bank_id AND h.mental_model_id = :mental_model_id AND h.failure IS NULL
        ),
        0
    )

-- name: history
SELECT version, changed_at, outcome, previous_content, failure, error
FROM mental_model_history
WHERE bank_id = ? AND mental_model_id = ?
ORDER BY number DESC

-- name: old_history
SELECT number, version, failure
FROM mental_model_history
WHERE bank_id = ? AND mental_model_id = ?
ORDER BY number DESC
LIMIT -1 OFFSET ?

-- name: drop_history
DELETE FROM mental_model_history WHERE bank_id = ? AND mental_model_id = ? AND number = ?

-- name: drop_history_version
DELETE FROM mental_model_history WHERE bank_id = ? AND mental_model_id = ? AND version = ? AND failure IS NULL

-- name: last_withdrawal
SELECT ifnull(max(number), 0) FROM mental_model_withdrawals WHERE bank_id = ?

-- name: first_withdrawal
SELECT ifnull(min(number), 0) FROM mental_model_withdrawals WHERE bank_id = ?

-- name: add_withdrawal
INSERT INTO mental_model_withdrawals (bank_id, number, fact_id) VALUES (?, ?, ?)

-- name: drop_withdrawals
DELETE FROM mental_model_withdrawals WHERE bank_id = ? AND number <= ?

-- name: withdrawn_since
SELECT 1
FROM mental_model_withdrawals
WHERE bank_id = :bank_id AND number > :number AND fact_id IN (SELECT value FROM json_each(:fact_ids))
LIMIT 1

-- name: any_in_bank
SELECT 1 FROM mental_models WHERE bank_id = ? LIMIT 1

-- name: fact_terms
SELECT f.fact_id, f.terms
FROM json_each(:fact_ids) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.fact_id = wanted.value

-- name: there
SELECT f.fact_id
FROM json_each(:fact_ids) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.fact_id = wanted.value

-- name: identities
SELECT f.fact_id,
    CASE
        WHEN EXISTS (SELECT 1 FROM mental_model_sources AS s WHERE s.bank_id = :bank_id AND s.fact_id = f.fact_id)
        THEN f.terms
    END
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
ORDER BY f.seq

-- name: tagged
SELECT f.fact_id, f.terms, f.tags
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
WHERE EXISTS (SELECT 1 FROM mental_model_sources AS s WHERE s.bank_id = :bank_id AND s.fact_id = f.fact_id)
ORDER BY f.seq

-- name: tags_of
SELECT f.fact_id, f.tags
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
ORDER BY f.seq

-- name: bank_config
SELECT config FROM banks WHERE bank_id = ?

-- name: last_seq
SELECT next_seq - 1, fact_count FROM banks WHERE bank_id = ?

-- name: newest_in_scope
SELECT max(seq), max(updated_at), count(*)
FROM (
    SELECT seq, updated_at
    FROM facts
    WHERE bank_id = :bank_id AND seq > :seq AND state <> 'invalidated'
        AND (:types IS NULL OR fact_type IN (SELECT value FROM json_each(:types)))
        AND (:tag_sets IS NULL OR tags IN (SELECT value FROM json_each(:tag_sets)))
    ORDER BY seq DESC
    LIMIT :limit
)

-- name: seqs_after
SELECT seq
FROM facts
WHERE bank_id = :bank_id AND seq > :seq AND state <> 'invalidated'
    AND (:types IS NULL OR fact_type IN (SELECT value FROM json_each(:types)))
    AND (:tag_sets IS NULL OR tags IN (SELECT value FROM json_each(:tag_sets)))
ORDER BY seq DESC
LIMIT :limit

-- name: nodes
SELECT node_id, kind, name, parent_id, managed, created_at, updated_at
FROM knowledge_nodes
WHERE bank_id = ?
ORDER BY name, node_id

-- name: node
SELECT node_id, kind, name, parent_id, managed, created_at, updated_at
FROM knowledge_nodes
WHERE bank_id = ? AND node_id = ?

-- name: node_of_name
SELECT node_id FROM knowledge_nodes WHERE bank_id = ? AND parent_id IS ? AND name = ?

-- name: insert_node
INSERT INTO knowledge_nodes (bank_id, node_id, kind, name, parent_id, managed, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: change_node
UPDATE knowledge_nodes SET name = ?, parent_id = ?, updated_at = ? WHERE bank_id = ? AND node_id = ?

-- name: below
WITH RECURSIVE below (node_id, kind) AS (
    SELECT node_id, kind FROM knowledge_nodes WHERE bank_id = :bank_id AND node_id = :node_id
    UNION
    SELECT n.node_id, n.kind
    FROM knowledge_nodes AS n
    JOIN below AS b ON n.bank_id = :bank_id AND n.parent_id = b.node_id
)
SELECT node_id, kind FROM below

-- name: delete_node
DELETE FROM knowledge_nodes WHERE bank_id = ? AND node_id = ?
