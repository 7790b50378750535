-- name: last_blocks
SELECT p.term, p.start, p.block
FROM json_each(:terms) AS wanted
CROSS JOIN postings AS p ON p.bank_id = :bank_id AND p.term = wanted.value
WHERE p.start = (
    SELECT max(last.start) FROM postings AS last WHERE last.bank_id = :bank_id AND last.term = wanted.value
)

-- name: write
INSERT INTO postings (bank_id, term, start, block) VALUES (?, ?, ?, ?)
ON CONFLICT (bank_id, term, start) DO UPDATE SET block = excluded.block

-- name: delete
DELETE FROM postings WHERE bank_id = ? AND term = ? AND start = ?

-- name: blocks_between
SELECT start, block
FROM postings
WHERE bank_id = :bank_id AND term = :term AND start <= :last AND start >= ifnull((
    SELECT max(p.start) FROM postings AS p WHERE p.bank_id = :bank_id AND p.term = :term AND p.start <= :first
), 0)
ORDER BY start

-- name: blocks_after
SELECT block
FROM postings
WHERE bank_id = :bank_id AND term = :term AND start >= ifnull((
    SELECT max(p.start) FROM postings AS p WHERE p.bank_id = :bank_id AND p.term = :term AND p.start <= :after
), 0)
ORDER BY start
