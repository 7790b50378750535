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
