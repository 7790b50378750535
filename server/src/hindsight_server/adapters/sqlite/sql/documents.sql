-- name: read
SELECT content_hash, turn_count, next_part, text_length, tags, context, metadata, observation_scopes
FROM documents
WHERE bank_id = ? AND document_id = ? AND document_id <> ''

-- name: write
INSERT INTO documents (
    bank_id, document_id, content_hash, created_at, updated_at, text_length, turn_count, next_part, tags, context,
    metadata, observation_scopes
) VALUES (
    :bank_id, :document_id, :content_hash, :now, :now, :text_length, :turn_count, :next_part, :tags, :context,
    :metadata, :observation_scopes
)
ON CONFLICT (bank_id, document_id) DO UPDATE
SET content_hash = excluded.content_hash, updated_at = excluded.updated_at, text_length = excluded.text_length,
    turn_count = excluded.turn_count, next_part = excluded.next_part, tags = excluded.tags, context = excluded.context,
    metadata = excluded.metadata, observation_scopes = ifnull(excluded.observation_scopes, observation_scopes)

-- name: touch
UPDATE documents SET updated_at = ? WHERE bank_id = ? AND document_id = ?

-- name: change
UPDATE documents
SET tags = ifnull(:tags, tags), observation_scopes = ifnull(:observation_scopes, observation_scopes), updated_at = :now
WHERE bank_id = :bank_id AND document_id = :document_id

-- name: delete
DELETE FROM documents WHERE bank_id = ? AND document_id = ?

-- name: delete_parts
DELETE FROM document_parts WHERE bank_id = ? AND document_id = ?

-- name: insert_part
INSERT INTO document_parts (bank_id, document_id, part, first_turn, turn_count, pending_operation_id, source, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: retag_parts
-- So that a job which waits for them, or reads them again, finds what holds by now.
UPDATE document_parts SET source = json_set(source, '$.tags', json(?)) WHERE bank_id = ? AND document_id = ?

-- name: part_of_operation
SELECT part, first_turn, text, source
FROM document_parts
WHERE bank_id = ? AND document_id = ? AND pending_operation_id = ?
ORDER BY part

-- name: waiting_parts
SELECT document_id, text, source
FROM document_parts
WHERE bank_id = ? AND pending_operation_id = ?
ORDER BY document_id, part

-- name: parts_before
SELECT text, source
FROM document_parts AS p
WHERE p.bank_id = :bank_id AND p.document_id = :document_id AND p.part < ifnull((
    SELECT min(w.part)
    FROM document_parts AS w
    WHERE w.bank_id = :bank_id AND w.document_id = :document_id AND w.pending_operation_id = :operation_id
), 9223372036854775807)
ORDER BY p.part DESC
LIMIT :limit

-- name: part_done
UPDATE document_parts SET pending_operation_id = NULL WHERE bank_id = ? AND document_id = ? AND part = ?

-- name: operation_done
UPDATE document_parts SET pending_operation_id = NULL WHERE bank_id = ? AND pending_operation_id = ?

-- name: chunks_of_document
SELECT part, position, chunk_id, content_hash, ordinal, first_turn, complete
FROM chunks
WHERE bank_id = ? AND document_id = ?
ORDER BY part, position

-- name: chunks_of_part
SELECT part, position, chunk_id, content_hash, ordinal, first_turn, complete
FROM chunks
WHERE bank_id = ? AND document_id = ? AND part = ?
ORDER BY position

-- name: insert_chunk
INSERT INTO chunks (
    bank_id, document_id, part, position, chunk_id, content_hash, ordinal, first_turn, complete, created_at, text
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: place_chunk
UPDATE chunks SET part = ?, position = ?, first_turn = ? WHERE bank_id = ? AND chunk_id = ?

-- name: delete_chunk
DELETE FROM chunks WHERE bank_id = ? AND chunk_id = ?

-- name: chunks_lost_facts
UPDATE chunks
SET complete = 0
WHERE bank_id = :bank_id AND chunk_id IN (
    SELECT f.chunk_id
    FROM facts AS f
    WHERE f.bank_id = :bank_id AND (:fact_type IS NULL OR f.fact_type = :fact_type)
)

-- name: texts_of_chunks
SELECT c.chunk_id, c.text
FROM json_each(:chunk_ids) AS wanted
CROSS JOIN chunks AS c ON c.bank_id = :bank_id AND c.chunk_id = wanted.value
WHERE c.document_id = :document_id

-- name: waiting_chunks_cleared
UPDATE chunks
SET complete = 0
WHERE (bank_id, document_id, part) IN (
    SELECT p.bank_id, p.document_id, p.part
    FROM document_parts AS p
    WHERE p.bank_id = ? AND p.pending_operation_id IS NOT NULL
)

-- name: wait_no_more
UPDATE document_parts SET pending_operation_id = NULL WHERE bank_id = ? AND pending_operation_id IS NOT NULL

-- name: get
SELECT d.document_id, d.content_hash, d.context, d.metadata, d.tags, d.created_at, d.updated_at, d.text_length,
    d.turn_count, (
        SELECT count(*) FROM facts AS f
        WHERE f.bank_id = d.bank_id AND f.document_id = d.document_id AND f.state != 'invalidated'
    ), d.observation_scopes
FROM documents AS d
WHERE d.bank_id = ? AND d.document_id = ? AND d.document_id <> ''

-- name: texts
SELECT text FROM document_parts WHERE bank_id = ? AND document_id = ? ORDER BY part

-- name: parts
SELECT text, source FROM document_parts WHERE bank_id = ? AND document_id = ? ORDER BY part

-- name: count
SELECT count(*)
FROM documents AS d
WHERE d.bank_id = :bank_id AND d.document_id <> ''
    AND (:tag_sets IS NULL OR d.tags IN (SELECT value FROM json_each(:tag_sets)))
    AND (:query IS NULL OR holds(d.document_id, :query) OR EXISTS (
        SELECT 1 FROM document_parts AS p
        WHERE p.bank_id = d.bank_id AND p.document_id = d.document_id AND holds(p.text, :query)
    ))
    AND CASE :time_field WHEN 'created_at' THEN d.created_at ELSE d.updated_at END
        BETWEEN ifnull(:start, -9223372036854775808) AND ifnull(:end, 9223372036854775807)

-- name: list
SELECT d.document_id, d.content_hash, d.context, d.metadata, d.tags, d.created_at, d.updated_at, d.text_length,
    d.turn_count, (
        SELECT count(*) FROM facts AS f
        WHERE f.bank_id = d.bank_id AND f.document_id = d.document_id AND f.state != 'invalidated'
    ), d.observation_scopes
-- The page is cut first, so that only its documents' facts are counted.
FROM (
    SELECT d.bank_id, d.document_id, CASE :time_field WHEN 'created_at' THEN d.created_at ELSE d.updated_at END AS moment
    FROM documents AS d
    WHERE d.bank_id = :bank_id AND d.document_id <> ''
        AND (:tag_sets IS NULL OR d.tags IN (SELECT value FROM json_each(:tag_sets)))
        AND (:query IS NULL OR holds(d.document_id, :query) OR EXISTS (
            SELECT 1 FROM document_parts AS p
            WHERE p.bank_id = d.bank_id AND p.document_id = d.document_id AND holds(p.text, :query)
        ))
        AND moment BETWEEN ifnull(:start, -9223372036854775808) AND ifnull(:end, 9223372036854775807)
    ORDER BY moment DESC, d.document_id
    LIMIT :limit OFFSET :offset
) AS page
JOIN documents AS d ON d.bank_id = page.bank_id AND d.document_id = page.document_id
ORDER BY page.moment DESC, d.document_id

-- name: tag_sets
SELECT tags, count(*) FROM documents WHERE bank_id = ? AND document_id <> '' GROUP BY tags

-- name: count_chunks
SELECT count(*) FROM chunks WHERE bank_id = ? AND document_id = ?

-- name: list_chunks
SELECT chunk_id, document_id, row_number() OVER (ORDER BY part, position) - 1, text, created_at
FROM chunks
WHERE bank_id = ? AND document_id = ?
ORDER BY part, position
LIMIT ? OFFSET ?

-- name: get_chunks
SELECT c.chunk_id, c.document_id, (
        SELECT count(*) FROM chunks AS b
        WHERE b.bank_id = c.bank_id AND b.document_id = c.document_id AND (b.part, b.position) < (c.part, c.position)
    ), c.text, c.created_at
FROM json_each(:chunk_ids) AS wanted
CROSS JOIN chunks AS c ON c.bank_id = :bank_id AND c.chunk_id = wanted.value
