-- name: digest
SELECT digest FROM attachments WHERE bank_id = ? AND attachment_id = ?

-- name: insert
INSERT INTO attachments (bank_id, attachment_id, digest, byte_size) VALUES (?, ?, ?, ?)

-- name: next_place
SELECT
    (SELECT ifnull(max(position), -1) + 1 FROM document_attachments
     WHERE bank_id = :bank_id AND document_id = :document_id),
    (SELECT ifnull(max(number), 0) + 1 FROM document_attachments
     WHERE bank_id = :bank_id AND attachment_id = :attachment_id)

-- name: hold
INSERT INTO document_attachments (
    bank_id, document_id, attachment_id, position, number, kind, media_type, filename
) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (bank_id, document_id, attachment_id) DO UPDATE
SET kind = excluded.kind, media_type = excluded.media_type, filename = excluded.filename, number = excluded.number

-- name: drop_all
DELETE FROM document_attachments WHERE bank_id = ? AND document_id = ?

-- name: drop_others
DELETE FROM document_attachments
WHERE bank_id = :bank_id AND document_id = :document_id AND attachment_id NOT IN (SELECT value FROM json_each(:kept))

-- name: drop
DELETE FROM document_attachments WHERE bank_id = ? AND document_id = ? AND attachment_id = ?

-- name: set_source
UPDATE document_parts SET source = ? WHERE bank_id = ? AND document_id = ? AND part = ?

-- name: draw
-- A fact whose chunk was kept is not there under the id of the write.
INSERT INTO fact_attachments (bank_id, fact_id, attachment_id, position)
SELECT bank_id, fact_id, :attachment_id, :position FROM facts WHERE bank_id = :bank_id AND fact_id = :fact_id
ON CONFLICT DO NOTHING

-- name: drawn
SELECT fact_id, attachment_id FROM fact_attachments WHERE bank_id = ? ORDER BY fact_id, position

-- name: get
SELECT a.attachment_id, a.digest, d.kind, d.media_type, a.byte_size, d.filename
FROM attachments AS a
JOIN document_attachments AS d ON d.bank_id = a.bank_id AND d.attachment_id = a.attachment_id
WHERE a.bank_id = ? AND a.attachment_id = ?
ORDER BY d.number DESC
LIMIT 1

-- name: of_documents
SELECT d.document_id, a.attachment_id, a.digest, d.kind, d.media_type, a.byte_size, d.filename
FROM json_each(:document_ids) AS wanted
CROSS JOIN document_attachments AS d ON d.bank_id = :bank_id AND d.document_id = wanted.value
JOIN attachments AS a ON a.bank_id = d.bank_id AND a.attachment_id = d.attachment_id
ORDER BY d.document_id, d.position

-- name: of_facts
-- Only what the fact's document still holds.
SELECT f.fact_id, a.attachment_id, a.digest, d.kind, d.media_type, a.byte_size, d.filename
FROM json_each(:fact_ids) AS wanted
CROSS JOIN fact_attachments AS f ON f.bank_id = :bank_id AND f.fact_id = wanted.value
JOIN facts AS of ON of.bank_id = f.bank_id AND of.fact_id = f.fact_id
JOIN document_attachments AS d
    ON d.bank_id = f.bank_id AND d.document_id = of.document_id AND d.attachment_id = f.attachment_id
JOIN attachments AS a ON a.bank_id = f.bank_id AND a.attachment_id = f.attachment_id
ORDER BY f.fact_id, f.position

-- name: sources
SELECT fact_id, source_fact_ids
FROM facts
WHERE bank_id = :bank_id AND fact_type = 'observation' AND fact_id IN (SELECT value FROM json_each(:fact_ids))

-- name: forget_drawn
-- What a forgotten fact was drawn from still shows it.
DELETE FROM document_attachments
WHERE bank_id = :bank_id AND document_id = :document_id AND attachment_id IN (
    SELECT d.attachment_id
    FROM json_each(:seqs) AS wanted
    CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
    JOIN fact_attachments AS d ON d.bank_id = f.bank_id AND d.fact_id = f.fact_id
)
RETURNING attachment_id

-- name: forget_in_sources
-- How the parts of a document were retained names what it held: extracted anew, it would hold it again.
UPDATE document_parts SET source = json_set(source, '$.attachments', json((
    SELECT json_group_array(json(held.value)) FROM json_each(source, '$.attachments') AS held
    WHERE json_extract(held.value, '$[0]') NOT IN (SELECT value FROM json_each(:dropped))
)))
WHERE bank_id = :bank_id AND document_id = :document_id AND json_type(source, '$.attachments') = 'array'

-- name: released
SELECT bank_id, digest FROM released_blobs LIMIT ?

-- name: drop_released
DELETE FROM released_blobs WHERE bank_id = ? AND digest = ?

-- name: in_use
SELECT
    EXISTS (SELECT 1 FROM attachments WHERE bank_id = :bank_id AND attachment_id = :attachment_id AND digest = :digest)
    OR EXISTS (
        SELECT 1 FROM operations
        WHERE bank_id = :bank_id AND json_extract(payload, '$.blob') = :digest
            AND type = 'file_convert_retain' AND status <> 'completed'
    )
