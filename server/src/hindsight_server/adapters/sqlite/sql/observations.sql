-- name: exists
SELECT 1 FROM observations WHERE bank_id = ? LIMIT 1

-- name: insert_document
INSERT INTO documents (
    bank_id, document_id, content_hash, created_at, updated_at, text_length, turn_count, next_part, tags, metadata
) VALUES (:bank_id, '', '', :now, :now, 0, 0, 0, '[]', '{}')
ON CONFLICT (bank_id, document_id) DO NOTHING

-- name: insert
INSERT INTO observations (bank_id, scope, observation_id, version) VALUES (?, ?, ?, 1)

-- name: set_version
UPDATE observations SET version = ? WHERE bank_id = ? AND observation_id = ?

-- name: insert_source
INSERT INTO observation_sources (bank_id, observation_id, fact_id, position, quote) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (bank_id, observation_id, fact_id) DO NOTHING

-- name: insert_version
INSERT INTO observation_history (bank_id, observation_id, version, action, changed_at, fact_ids, text)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: forget_versions
DELETE FROM observation_history WHERE bank_id = ? AND observation_id = ? AND version < ?

-- name: set_fact
UPDATE facts SET proof_count = ?, source_fact_ids = ?, created_at = ? WHERE bank_id = ? AND seq = ?

-- name: of_id
SELECT o.scope, o.version, f.seq, f.created_at
FROM observations AS o
JOIN facts AS f ON f.bank_id = o.bank_id AND f.fact_id = o.observation_id
WHERE o.bank_id = ? AND o.observation_id = ?

-- name: of_scope
SELECT o.observation_id, f.seq
FROM observations AS o
JOIN facts AS f ON f.bank_id = o.bank_id AND f.fact_id = o.observation_id
WHERE o.bank_id = ? AND o.scope = ?
ORDER BY f.seq

-- name: sources
SELECT fact_id, quote FROM observation_sources WHERE bank_id = ? AND observation_id = ? ORDER BY position, fact_id

-- name: history
SELECT version, action, text, changed_at, fact_ids
FROM observation_history
WHERE bank_id = ? AND observation_id = ?
ORDER BY version DESC

-- name: scopes
SELECT scope, count(*) FROM observations WHERE bank_id = ? GROUP BY scope

-- name: resting_on
SELECT DISTINCT s.observation_id, o.scope
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
CROSS JOIN observation_sources AS s ON s.bank_id = :bank_id AND s.fact_id = f.fact_id
CROSS JOIN observations AS o ON o.bank_id = :bank_id AND o.observation_id = s.observation_id

-- name: among
SELECT f.seq, o.observation_id
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
CROSS JOIN observations AS o ON o.bank_id = :bank_id AND o.observation_id = f.fact_id

-- name: has_other_support
SELECT 1
FROM observation_sources AS s
JOIN observations AS o ON o.bank_id = s.bank_id AND o.observation_id = s.observation_id
WHERE s.bank_id = :bank_id AND s.fact_id = :fact_id AND s.observation_id <> :observation_id AND o.scope = :scope

-- name: delete_history
DELETE FROM observation_history WHERE bank_id = ? AND observation_id = ?

-- name: delete_sources
DELETE FROM observation_sources WHERE bank_id = ? AND observation_id = ?

-- name: delete
DELETE FROM observations WHERE bank_id = ? AND observation_id = ?

-- name: seqs
SELECT f.seq
FROM observations AS o
JOIN facts AS f ON f.bank_id = o.bank_id AND f.fact_id = o.observation_id
WHERE o.bank_id = ?
ORDER BY f.seq

-- name: waiting
SELECT f.seq, d.observation_scopes
FROM facts AS f
JOIN documents AS d ON d.bank_id = f.bank_id AND d.document_id = f.document_id
WHERE f.bank_id = :bank_id
    AND f.seq > max(:after, ifnull((SELECT m.seq FROM consolidation_marks AS m WHERE m.bank_id = :bank_id), 0))
    AND f.state = 'valid' AND f.fact_type <> 'observation'
    AND NOT EXISTS (SELECT 1 FROM consolidations AS c WHERE c.bank_id = f.bank_id AND c.fact_id = f.fact_id)
ORDER BY f.seq
LIMIT :limit

-- name: specs
SELECT f.seq, d.observation_scopes
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
CROSS JOIN documents AS d ON d.bank_id = f.bank_id AND d.document_id = f.document_id

-- name: count_waiting
SELECT count(*)
FROM facts AS f
WHERE f.bank_id = :bank_id
    AND f.seq > ifnull((SELECT m.seq FROM consolidation_marks AS m WHERE m.bank_id = :bank_id), 0)
    AND f.state = 'valid' AND f.fact_type <> 'observation'
    AND NOT EXISTS (SELECT 1 FROM consolidations AS c WHERE c.bank_id = f.bank_id AND c.fact_id = f.fact_id)

-- name: count_failed
SELECT count(*)
FROM consolidations AS c
JOIN facts AS f ON f.bank_id = c.bank_id AND f.fact_id = c.fact_id
WHERE c.bank_id = ? AND c.failed = 1 AND f.state = 'valid'

-- name: banks_waiting
SELECT b.bank_id
FROM banks AS b
WHERE NOT EXISTS (
        SELECT 1 FROM operations AS o
        WHERE o.bank_id = b.bank_id AND o.type = 'consolidation' AND o.status IN ('pending', 'processing')
    )
    AND EXISTS (
        SELECT 1
        FROM facts AS f
        WHERE f.bank_id = b.bank_id
            AND f.seq > ifnull((SELECT m.seq FROM consolidation_marks AS m WHERE m.bank_id = b.bank_id), 0)
            AND f.state = 'valid' AND f.fact_type <> 'observation'
            AND NOT EXISTS (SELECT 1 FROM consolidations AS c WHERE c.bank_id = f.bank_id AND c.fact_id = f.fact_id)
    )
ORDER BY b.bank_id

-- name: passes
SELECT scope FROM consolidation_passes WHERE bank_id = ? AND fact_id = ?

-- name: count_failed_passes
SELECT count(*) FROM consolidation_passes WHERE bank_id = ? AND fact_id = ? AND failed = 1

-- name: seen
SELECT f.seq, f.state, EXISTS (
    SELECT 1 FROM consolidation_passes AS p WHERE p.bank_id = f.bank_id AND p.fact_id = f.fact_id AND p.scope = :scope
)
FROM facts AS f
WHERE f.bank_id = :bank_id AND f.fact_id = :fact_id

-- name: add_pass
INSERT INTO consolidation_passes (bank_id, fact_id, scope, failed) VALUES (?, ?, ?, ?)

-- name: add_done
INSERT INTO consolidations (bank_id, fact_id, failed, done_at) VALUES (?, ?, ?, ?)
ON CONFLICT (bank_id, fact_id) DO UPDATE SET failed = excluded.failed, done_at = excluded.done_at

-- name: drop_done
DELETE FROM consolidations WHERE bank_id = ? AND fact_id = ?

-- name: drop_pass
DELETE FROM consolidation_passes WHERE bank_id = ? AND fact_id = ? AND scope = ?

-- name: drop_passes
DELETE FROM consolidation_passes WHERE bank_id = ? AND fact_id = ?

-- name: drop_failed_passes
DELETE FROM consolidation_passes WHERE bank_id = ? AND fact_id = ? AND failed = 1

-- name: failed
SELECT fact_id FROM consolidations WHERE bank_id = ? AND failed = 1

-- name: all_done
DELETE FROM consolidations WHERE bank_id = ?

-- name: all_passes
DELETE FROM consolidation_passes WHERE bank_id = ?

-- name: states
SELECT c.fact_id, c.done_at, c.failed
FROM json_each(:ids) AS wanted
CROSS JOIN consolidations AS c ON c.bank_id = :bank_id AND c.fact_id = wanted.value

-- name: ids_of
SELECT f.seq, f.fact_id
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value

-- name: lower_mark
UPDATE consolidation_marks SET seq = min(seq, ?) WHERE bank_id = ?

-- name: raise_mark
INSERT INTO consolidation_marks (bank_id, seq, last_at)
SELECT bank_id, CASE WHEN :all THEN next_seq - 1 ELSE 0 END, :now FROM banks WHERE bank_id = :bank_id
ON CONFLICT (bank_id) DO UPDATE SET seq = max(seq, excluded.seq), last_at = excluded.last_at

-- name: last_at
SELECT last_at FROM consolidation_marks WHERE bank_id = ?

-- name: running
-- By the index of what is to be done, since a bank may have any number of operations that are done.
SELECT operation_id
FROM operations INDEXED BY operations_to_do
WHERE bank_id = ? AND type = 'consolidation' AND status IN ('pending', 'processing')
ORDER BY created_at
LIMIT 1

-- name: set_payload
UPDATE operations SET payload = ?, updated_at = ? WHERE bank_id = ? AND operation_id = ?

-- name: scoped
SELECT f.seq, f.tags, (
    SELECT json_group_array(p.scope) FROM consolidation_passes AS p WHERE p.bank_id = f.bank_id AND p.fact_id = f.fact_id
) AS passed
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
WHERE passed <> '[]'
