-- name: insert
INSERT INTO facts (
    bank_id, seq, fact_type, document_id, turn_index, context, session, speaker, role, mentioned_at, occurred_start,
    occurred_end, length, tokens, flags, proof_count, tags, entities, state, fact_id, chunk_id, created_at, updated_at,
    source_fact_ids, metadata, terms, text, fold, place_start, place_length
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, '[]', ?, ?, ?, ?, ?, ?)

-- name: insert_vector
INSERT INTO vectors (bank_id, seq, space, vector) VALUES (?, ?, ?, ?)

-- name: insert_token_vectors
INSERT INTO token_vectors (bank_id, seq, space, width, vectors) VALUES (?, ?, ?, ?, ?)

-- name: delete_vector
DELETE FROM vectors WHERE bank_id = ? AND seq = ?

-- name: add_vector
-- Only to a fact that is there, has a vector of its own, and has that in another space.
INSERT OR REPLACE INTO further_vectors (bank_id, seq, space, vector)
SELECT bank_id, seq, :space, :vector FROM vectors WHERE bank_id = :bank_id AND seq = :seq AND space <> :space

-- name: delete_further_vectors
DELETE FROM further_vectors WHERE bank_id = ? AND seq = ?

-- name: delete_token_vectors
DELETE FROM token_vectors WHERE bank_id = ? AND seq = ?

-- name: note_unencoded
INSERT INTO unencoded (bank_id, seq) VALUES (?, ?)

-- name: unencoded
SELECT bank_id, seq
FROM unencoded
WHERE (bank_id, seq) > (?, ?)
ORDER BY bank_id, seq
LIMIT ?

-- name: encoded
DELETE FROM unencoded WHERE bank_id = ? AND seq = ?

-- name: to_remove
SELECT f.seq, f.state, f.entities, f.terms
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
ORDER BY f.seq

-- name: delete
DELETE FROM facts WHERE bank_id = ? AND seq = ?

-- name: move
UPDATE facts SET seq = ?, updated_at = ? WHERE bank_id = ? AND seq = ?

-- name: shift_turn
UPDATE facts SET turn_index = turn_index + ? WHERE bank_id = ? AND seq = ?

-- name: set_tags
UPDATE facts SET tags = ? WHERE bank_id = ? AND seq = ?

-- name: set_source
UPDATE facts SET tags = ifnull(?, tags), context = ?, metadata = ? WHERE bank_id = ? AND seq = ?

-- name: change
UPDATE facts
SET text = ifnull(:text, text), fact_type = ifnull(:fact_type, fact_type),
    context = CASE WHEN :clear_context THEN NULL ELSE ifnull(:context, context) END,
    occurred_start = CASE WHEN :clear_occurred_start THEN NULL ELSE ifnull(:occurred_start, occurred_start) END,
    occurred_end = CASE WHEN :clear_occurred_end THEN NULL ELSE ifnull(:occurred_end, occurred_end) END,
    mentioned_at = CASE WHEN :clear_mentioned_at THEN NULL ELSE ifnull(:mentioned_at, mentioned_at) END,
    tags = ifnull(:tags, tags), entities = ifnull(:entities, entities), state = :state, flags = :flags,
    terms = ifnull(:terms, terms), length = ifnull(:length, length), tokens = ifnull(:tokens, tokens),
    invalidated_at = CASE WHEN :state = 'invalidated' THEN ifnull(invalidated_at, :now) END,
    invalidation_reason = CASE WHEN :state = 'invalidated' THEN ifnull(:reason, invalidation_reason) END,
    edited_at = CASE WHEN :edited THEN :now ELSE edited_at END,
    fold = CASE WHEN coalesce(:text, :fact_type, :occurred_start, :occurred_end) IS NULL
        AND NOT (:clear_occurred_start OR :clear_occurred_end) THEN fold ELSE 0 END
WHERE bank_id = :bank_id AND seq = :seq

-- name: terms
SELECT terms FROM facts WHERE bank_id = ? AND seq = ?

-- name: entities
SELECT entities FROM facts WHERE bank_id = ? AND seq = ?

-- name: seq_of_id
SELECT seq, state, flags, mentioned_at, created_at FROM facts WHERE bank_id = ? AND fact_id = ?

-- name: seqs_of_ids
SELECT f.seq
FROM json_each(:ids) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.fact_id = wanted.value
ORDER BY wanted.key

-- name: seqs_of_chunk
SELECT seq FROM facts WHERE bank_id = ? AND document_id = ? AND chunk_id = ? ORDER BY seq

-- name: changed_of_chunks
SELECT f.seq
FROM json_each(:chunk_ids) AS wanted
CROSS JOIN facts AS f
    ON f.bank_id = :bank_id AND f.document_id = :document_id AND f.chunk_id = wanted.value
WHERE f.state = 'invalidated' OR f.edited_at IS NOT NULL
LIMIT 1

-- name: of_chunks
SELECT f.seq, f.chunk_id, f.state = 'invalidated' OR f.edited_at IS NOT NULL, f.edited_at IS NOT NULL, f.text,
    f.terms, f.turn_index, f.place_start, f.place_length
FROM json_each(:chunk_ids) AS wanted
CROSS JOIN facts AS f
    ON f.bank_id = :bank_id AND f.document_id = :document_id AND f.chunk_id = wanted.value
WHERE f.state <> 'pending'
ORDER BY f.seq

-- name: carry
UPDATE facts SET chunk_id = ?, turn_index = max(0, turn_index + ?), place_start = place_start + ?
WHERE bank_id = ? AND seq = ?

-- name: seqs_of_document
SELECT seq FROM facts WHERE bank_id = ? AND document_id = ? ORDER BY seq

-- name: pending_of_operation
SELECT f.seq
FROM document_parts AS p
JOIN chunks AS c ON c.bank_id = p.bank_id AND c.document_id = p.document_id AND c.part = p.part
JOIN facts AS f ON f.bank_id = c.bank_id AND f.document_id = c.document_id AND f.chunk_id = c.chunk_id
WHERE p.bank_id = ? AND p.pending_operation_id = ? AND f.state = 'pending'
ORDER BY f.seq

-- name: pending_of_documents
SELECT f.seq
FROM json_each(:document_ids) AS wanted
CROSS JOIN document_parts AS p ON p.bank_id = :bank_id AND p.document_id = wanted.value
CROSS JOIN chunks AS c ON c.bank_id = :bank_id AND c.document_id = p.document_id AND c.part = p.part
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.document_id = c.document_id AND f.chunk_id = c.chunk_id
WHERE p.pending_operation_id = :operation_id AND f.state = 'pending'
ORDER BY f.seq

-- name: seqs_of_type
SELECT seq FROM facts WHERE bank_id = :bank_id AND (:fact_type IS NULL OR fact_type = :fact_type) ORDER BY seq

-- name: read
SELECT f.seq, f.fact_id, f.document_id, f.chunk_id, f.turn_index, f.fact_type, f.text, f.state, f.context, f.speaker,
    f.role, f.occurred_start, f.occurred_end, f.mentioned_at, f.created_at, f.metadata, f.tags, f.entities,
    f.source_fact_ids, f.proof_count, f.tokens, f.updated_at, f.invalidated_at, f.invalidation_reason, f.edited_at
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value

-- name: count
SELECT count(*)
FROM facts AS f
WHERE f.bank_id = :bank_id
    AND (:fact_type IS NULL OR f.fact_type = :fact_type)
    AND (:state IS NULL OR f.state = :state)
    AND (:consolidation IS NULL OR f.fact_type <> 'observation' AND :consolidation = ifnull(
        (SELECT iif(c.failed, 'failed', 'done') FROM consolidations AS c
            WHERE c.bank_id = f.bank_id AND c.fact_id = f.fact_id),
        iif(f.state = 'valid', 'pending', NULL)
    ))
    AND (:document_id IS NULL OR f.document_id = :document_id)
    AND (:tag_sets IS NULL OR f.tags IN (SELECT value FROM json_each(:tag_sets)))
    AND (:numbers IS NULL OR EXISTS (
        SELECT 1
        FROM json_each(:numbers) AS named
        CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = named.value AND m.seq = f.seq
    ))
    AND (:query IS NULL OR holds(f.text, :query) OR holds(f.context, :query))
    AND (:time_field IS NULL OR CASE :time_field
        WHEN 'created_at' THEN f.created_at
        WHEN 'updated_at' THEN f.updated_at
        WHEN 'mentioned_at' THEN f.mentioned_at
        WHEN 'occurred_start' THEN f.occurred_start
        WHEN 'occurred_end' THEN f.occurred_end
    END BETWEEN ifnull(:start, -9223372036854775808) AND ifnull(:end, 9223372036854775807))

-- name: list
SELECT f.seq
FROM facts AS f
WHERE f.bank_id = :bank_id
    AND (:fact_type IS NULL OR f.fact_type = :fact_type)
    AND (:state IS NULL OR f.state = :state)
    AND (:consolidation IS NULL OR f.fact_type <> 'observation' AND :consolidation = ifnull(
        (SELECT iif(c.failed, 'failed', 'done') FROM consolidations AS c
            WHERE c.bank_id = f.bank_id AND c.fact_id = f.fact_id),
        iif(f.state = 'valid', 'pending', NULL)
    ))
    AND (:document_id IS NULL OR f.document_id = :document_id)
    AND (:tag_sets IS NULL OR f.tags IN (SELECT value FROM json_each(:tag_sets)))
    AND (:numbers IS NULL OR EXISTS (
        SELECT 1
        FROM json_each(:numbers) AS named
        CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = named.value AND m.seq = f.seq
    ))
    AND (:query IS NULL OR holds(f.text, :query) OR holds(f.context, :query))
ORDER BY f.mentioned_at DESC, f.created_at DESC, f.seq DESC
LIMIT :limit OFFSET :offset

-- name: list_by_time
SELECT f.seq, CASE :time_field
        WHEN 'created_at' THEN f.created_at
        WHEN 'updated_at' THEN f.updated_at
        WHEN 'mentioned_at' THEN f.mentioned_at
        WHEN 'occurred_start' THEN f.occurred_start
        WHEN 'occurred_end' THEN f.occurred_end
    END AS moment
FROM facts AS f
WHERE f.bank_id = :bank_id
    AND (:fact_type IS NULL OR f.fact_type = :fact_type)
    AND (:state IS NULL OR f.state = :state)
    AND (:consolidation IS NULL OR f.fact_type <> 'observation' AND :consolidation = ifnull(
        (SELECT iif(c.failed, 'failed', 'done') FROM consolidations AS c
            WHERE c.bank_id = f.bank_id AND c.fact_id = f.fact_id),
        iif(f.state = 'valid', 'pending', NULL)
    ))
    AND (:document_id IS NULL OR f.document_id = :document_id)
    AND (:tag_sets IS NULL OR f.tags IN (SELECT value FROM json_each(:tag_sets)))
    AND (:numbers IS NULL OR EXISTS (
        SELECT 1
        FROM json_each(:numbers) AS named
        CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = named.value AND m.seq = f.seq
    ))
    AND (:query IS NULL OR holds(f.text, :query) OR holds(f.context, :query))
    AND moment BETWEEN ifnull(:start, -9223372036854775808) AND ifnull(:end, 9223372036854775807)
ORDER BY moment DESC, f.seq DESC
LIMIT :limit OFFSET :offset

-- name: tag_sets
SELECT tags, count(*) FROM facts WHERE bank_id = ? GROUP BY tags

-- name: recallable_tag_sets
SELECT tags, count(*) FROM facts WHERE bank_id = ? AND state != 'invalidated' GROUP BY tags
