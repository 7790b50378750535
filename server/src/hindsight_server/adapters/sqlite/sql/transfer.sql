-- name: documents
SELECT document_id, content_hash, context, metadata, tags, created_at, updated_at, text_length, turn_count, next_part,
    observation_scopes
FROM documents
WHERE bank_id = :bank_id AND document_id <> ''
    AND (:document_ids IS NULL OR document_id IN (SELECT value FROM json_each(:document_ids)))
ORDER BY document_id

-- name: parts
SELECT part, first_turn, turn_count, source, text FROM document_parts WHERE bank_id = ? AND document_id = ? ORDER BY part

-- name: chunks
SELECT chunk_id, part, position, content_hash, ordinal, first_turn, complete, created_at, text
FROM chunks
WHERE bank_id = ? AND document_id = ?
ORDER BY part, position

-- name: facts
SELECT seq, fact_id, document_id, chunk_id, place_start, place_length, turn_index, fact_type, text, state, context, session,
    speaker, role, occurred_start, occurred_end, mentioned_at, created_at, updated_at, metadata, tags, entities, flags,
    proof_count, source_fact_ids, invalidated_at, invalidation_reason, edited_at, fold
FROM facts
WHERE bank_id = :bank_id AND document_id <> ''
ORDER BY seq

-- name: facts_of
SELECT seq, fact_id, document_id, chunk_id, place_start, place_length, turn_index, fact_type, text, state, context, session,
    speaker, role, occurred_start, occurred_end, mentioned_at, created_at, updated_at, metadata, tags, entities, flags,
    proof_count, source_fact_ids, invalidated_at, invalidation_reason, edited_at, fold
FROM json_each(:document_ids) AS wanted
CROSS JOIN facts ON bank_id = :bank_id AND document_id = wanted.value
WHERE document_id <> ''
ORDER BY seq

-- name: observations
SELECT f.seq, f.fact_id, f.document_id, f.chunk_id, f.place_start, f.place_length, f.turn_index, f.fact_type, f.text,
    f.state, f.context, f.session, f.speaker, f.role, f.occurred_start, f.occurred_end, f.mentioned_at, f.created_at,
    f.updated_at, f.metadata, f.tags, f.entities, f.flags, f.proof_count, f.source_fact_ids, f.invalidated_at,
    f.invalidation_reason, f.edited_at, f.fold, o.scope, o.version
FROM observations AS o
JOIN facts AS f ON f.bank_id = o.bank_id AND f.fact_id = o.observation_id
WHERE o.bank_id = ?
ORDER BY f.seq

-- name: causes
SELECT fact_id, cause_id FROM causes WHERE bank_id = :bank_id ORDER BY fact_id, cause_id

-- name: causes_of
SELECT c.fact_id, c.cause_id
FROM json_each(:document_ids) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.document_id = wanted.value
CROSS JOIN causes AS c ON c.bank_id = f.bank_id AND c.fact_id = f.fact_id
WHERE f.document_id <> ''
ORDER BY c.fact_id, c.cause_id

-- name: passes
SELECT fact_id, scope, failed FROM consolidation_passes WHERE bank_id = ? ORDER BY fact_id, scope

-- name: done
SELECT fact_id, failed, done_at FROM consolidations WHERE bank_id = ? ORDER BY fact_id

-- name: mentions
SELECT m.number, e.name, e.type, m.flags
FROM json_each(:numbers) AS wanted
CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = wanted.value AND m.seq = :seq
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = m.number

-- name: links
SELECT a.name, b.name, l.same
FROM entity_links AS l
CROSS JOIN entities AS a ON a.bank_id = l.bank_id AND a.number = l.one
CROSS JOIN entities AS b ON b.bank_id = l.bank_id AND b.number = l.other
WHERE l.bank_id = :bank_id AND l.seq = :seq AND l.one < l.other

-- name: rules
SELECT a.name, b.name, r.same
FROM entity_rules AS r
CROSS JOIN entities AS a ON a.bank_id = r.bank_id AND a.number = r.one
CROSS JOIN entities AS b ON b.bank_id = r.bank_id AND b.number = r.other
WHERE r.bank_id = ? AND r.one < r.other
ORDER BY r.one, r.other

-- name: given
SELECT name, type, flags FROM entities WHERE bank_id = :bank_id AND flags & :given <> 0 ORDER BY number

-- name: holds_anything
SELECT 1 FROM documents WHERE bank_id = ? AND document_id <> '' LIMIT 1

-- name: insert_document
INSERT INTO documents (
    bank_id, document_id, content_hash, created_at, updated_at, text_length, turn_count, next_part, tags, context,
    metadata, observation_scopes
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: fact_of_id
SELECT 1 FROM facts WHERE bank_id = ? AND fact_id = ?

-- name: restore_fact
UPDATE facts
SET occurred_start = ?, occurred_end = ?, created_at = ?, updated_at = ?, proof_count = ?, source_fact_ids = ?, state = ?,
    invalidated_at = ?, invalidation_reason = ?, edited_at = ?
WHERE bank_id = ? AND seq = ?

-- name: add_flags
UPDATE entities SET flags = flags | ? WHERE bank_id = ? AND number = ?
