-- name: names
SELECT e.number, r.name
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value
CROSS JOIN entities AS r ON r.bank_id = :bank_id AND r.number = e.entity

-- name: count
SELECT count(DISTINCT entity) FROM entities WHERE bank_id = :bank_id

-- name: list
SELECT e.entity, CASE count(*) WHEN 1 THEN sum(e.mention_count) ELSE (
    SELECT count(DISTINCT m.seq)
    FROM entities AS o
    CROSS JOIN fact_entities AS m ON m.bank_id = o.bank_id AND m.number = o.number
    WHERE o.bank_id = :bank_id AND o.entity = e.entity
) END AS mentions, min(e.first_seen), max(e.last_seen)
FROM entities AS e
WHERE e.bank_id = :bank_id
GROUP BY e.entity
ORDER BY mentions DESC, e.entity
LIMIT :limit OFFSET :offset

-- name: count_tagged
SELECT count(DISTINCT e.entity)
FROM fact_entities AS m
JOIN facts AS f ON f.bank_id = m.bank_id AND f.seq = m.seq
JOIN entities AS e ON e.bank_id = m.bank_id AND e.number = m.number
WHERE m.bank_id = :bank_id AND f.tags IN (SELECT value FROM json_each(:tag_sets))

-- name: list_tagged
SELECT e.entity, count(DISTINCT m.seq) AS mentions, min(m.seen), max(m.seen)
FROM fact_entities AS m
JOIN facts AS f ON f.bank_id = m.bank_id AND f.seq = m.seq
JOIN entities AS e ON e.bank_id = m.bank_id AND e.number = m.number
WHERE m.bank_id = :bank_id AND f.tags IN (SELECT value FROM json_each(:tag_sets))
GROUP BY e.entity
ORDER BY mentions DESC, e.entity
LIMIT :limit OFFSET :offset

-- name: counted
SELECT e.entity, CASE count(*) WHEN 1 THEN sum(e.mention_count) ELSE (
    SELECT count(DISTINCT m.seq)
    FROM entities AS o
    CROSS JOIN fact_entities AS m ON m.bank_id = o.bank_id AND m.number = o.number
    WHERE o.bank_id = :bank_id AND o.entity = e.entity
) END, min(e.first_seen), max(e.last_seen)
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.entity = wanted.value
GROUP BY e.entity

-- name: counted_tagged
SELECT e.entity, count(DISTINCT m.seq), min(m.seen), max(m.seen)
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.entity = wanted.value
CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = e.number
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = m.seq
WHERE f.tags IN (SELECT value FROM json_each(:tag_sets))
GROUP BY e.entity

-- name: names_tagged
SELECT DISTINCT m.number
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.entity = wanted.value
CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = e.number
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = m.seq
WHERE f.tags IN (SELECT value FROM json_each(:tag_sets))

-- name: as_written
SELECT e.number, e.name
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value

-- name: by_id
SELECT entity FROM entities WHERE bank_id = ? AND entity_id = ?

-- name: names_of_id
SELECT o.number
FROM entities AS e
JOIN entities AS o ON o.bank_id = e.bank_id AND o.entity = e.entity
WHERE e.bank_id = ? AND e.entity_id = ?

-- name: by_normal_names
SELECT e.entity
FROM json_each(:names) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.normal_name = wanted.value

-- name: by_folds
SELECT e.entity
FROM json_each(:keys) AS wanted
CROSS JOIN entity_keys AS k ON k.bank_id = :bank_id AND k.key = wanted.value
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = k.number

-- name: of_numbers
SELECT e.number, e.entity
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value

-- name: writings
SELECT e.entity, e.number, e.entity_id, e.name, e.type, e.status, e.candidates, e.flags
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.entity = wanted.value
ORDER BY e.mention_count DESC, e.number

-- name: ids
SELECT e.number, r.entity_id
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value
CROSS JOIN entities AS r ON r.bank_id = :bank_id AND r.number = e.entity

-- name: groups_mark
SELECT grouped_at FROM banks WHERE bank_id = ?

-- name: groups
SELECT number, entity FROM entities WHERE bank_id = ? AND entity <> number

-- name: mentions_of_facts
SELECT f.entities, f.mentioned_at
FROM facts AS f
WHERE f.bank_id = :bank_id AND f.state <> 'invalidated'
    AND (:tag_sets IS NULL OR f.tags IN (SELECT value FROM json_each(:tag_sets)))
