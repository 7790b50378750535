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
    AND (:document_ids IS NULL OR document_id IN (SELECT value FROM json_each(:document_ids)))
ORDER BY seq

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
