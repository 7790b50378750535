-- name: seqs_of_ids
SELECT f.seq, f.fact_id, f.document_id
FROM json_each(:ids) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.fact_id = wanted.value

-- name: seqs_of_tag_sets
SELECT f.seq, f.fact_id, f.document_id
FROM json_each(:tag_sets) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.tags = wanted.value

-- name: documents_of_tag_sets
SELECT document_id
FROM documents
WHERE bank_id = :bank_id AND document_id <> '' AND tags IN (SELECT value FROM json_each(:tag_sets))

-- name: parts
SELECT part, text, pending_operation_id FROM document_parts WHERE bank_id = ? AND document_id = ? ORDER BY part

-- name: chunks
SELECT chunk_id, part, text FROM chunks WHERE bank_id = ? AND document_id = ? ORDER BY part, position

-- name: places
SELECT seq, chunk_id, place_start, place_length, text, speaker FROM facts WHERE bank_id = ? AND document_id = ?

-- name: set_part
UPDATE document_parts SET text = ? WHERE bank_id = ? AND document_id = ? AND part = ?

-- name: delete_part
DELETE FROM document_parts WHERE bank_id = ? AND document_id = ? AND part = ?

-- name: set_chunk
UPDATE chunks SET text = ?, content_hash = ?, complete = 0 WHERE bank_id = ? AND chunk_id = ?

-- name: set_place
UPDATE facts SET place_start = ?, place_length = ? WHERE bank_id = ? AND seq = ?

-- name: changed_document
UPDATE documents SET content_hash = ?, text_length = ?, updated_at = ? WHERE bank_id = ? AND document_id = ?
