-- name: mark
SELECT version, removed_since, config, next_seq FROM banks WHERE bank_id = ?

-- name: rows
SELECT seq, fact_type, document_id, turn_index, context, session, speaker, role, mentioned_at, occurred_start,
    occurred_end, length, tokens, flags, proof_count, tags, entities, fold
FROM facts
WHERE bank_id = ? AND seq > ? AND state != 'invalidated'
ORDER BY seq
LIMIT ?

-- name: vectors
SELECT seq, space, vector FROM vectors WHERE bank_id = :bank_id AND seq > :after AND seq <= :until
UNION ALL
SELECT seq, space, vector FROM further_vectors WHERE bank_id = :bank_id AND seq > :after AND seq <= :until
ORDER BY seq

-- name: vectors_of
SELECT v.seq, v.space, v.vector
FROM json_each(:seqs) AS wanted
CROSS JOIN vectors AS v ON v.bank_id = :bank_id AND v.seq = wanted.value
UNION ALL
SELECT v.seq, v.space, v.vector
FROM json_each(:seqs) AS wanted
CROSS JOIN further_vectors AS v ON v.bank_id = :bank_id AND v.seq = wanted.value
ORDER BY 1

-- name: removed
SELECT seq FROM removed WHERE bank_id = ? AND version > ? AND seq <= ? ORDER BY seq

-- name: token_vectors
SELECT t.seq, t.width, t.vectors
FROM json_each(:seqs) AS wanted
CROSS JOIN token_vectors AS t ON t.bank_id = :bank_id AND t.seq = wanted.value
WHERE t.space = :space

-- name: log_removed
INSERT INTO removed (bank_id, version, seq) VALUES (?, ?, ?)

-- name: forget_removed
DELETE FROM removed WHERE bank_id = ?

-- name: removed_since
UPDATE banks SET removed_since = ? WHERE bank_id = ?

-- name: image_fits
SELECT 1
FROM banks AS b
WHERE b.bank_id = :bank_id AND b.removed_since <= :version AND b.version >= :version
    AND NOT EXISTS (SELECT 1 FROM removed AS r WHERE r.bank_id = :bank_id AND r.version > :version)
