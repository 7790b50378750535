-- name: insert
INSERT OR IGNORE INTO causes (bank_id, fact_id, cause_id) VALUES (?, ?, ?)

-- name: of_facts
SELECT c.fact_id, c.cause_id
FROM json_each(:fact_ids) AS wanted
CROSS JOIN causes AS c ON c.bank_id = :bank_id AND c.fact_id = wanted.value
UNION
SELECT c.fact_id, c.cause_id
FROM json_each(:fact_ids) AS wanted
CROSS JOIN causes AS c ON c.bank_id = :bank_id AND c.cause_id = wanted.value
ORDER BY 1, 2

-- name: any
SELECT 1 FROM causes WHERE bank_id = ? LIMIT 1

-- name: linked
SELECT o.seq
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
CROSS JOIN causes AS c ON c.bank_id = :bank_id AND c.fact_id = f.fact_id
CROSS JOIN facts AS o ON o.bank_id = :bank_id AND o.fact_id = c.cause_id
UNION
SELECT o.seq
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
CROSS JOIN causes AS c ON c.bank_id = :bank_id AND c.cause_id = f.fact_id
CROSS JOIN facts AS o ON o.bank_id = :bank_id AND o.fact_id = c.fact_id
