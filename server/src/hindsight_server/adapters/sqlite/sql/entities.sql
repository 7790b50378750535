-- name: by_normal_name
SELECT number FROM entities WHERE bank_id = ? AND normal_name = ?

-- name: create
INSERT INTO entities (bank_id, number, entity_id, normal_name, name, type, mention_count)
VALUES (?, ?, ?, ?, ?, ?, 0)

-- name: mention
INSERT INTO fact_entities (bank_id, number, seq, seen) VALUES (?, ?, ?, ?)

-- name: count_mentions
UPDATE entities
SET mention_count = mention_count + :mentions,
    first_seen = min(ifnull(first_seen, :first), :first),
    last_seen = max(ifnull(last_seen, :last), :last)
WHERE bank_id = :bank_id AND number = :number

-- name: move
UPDATE fact_entities SET seq = ? WHERE bank_id = ? AND number = ? AND seq = ?

-- name: forget_mention
DELETE FROM fact_entities WHERE bank_id = ? AND number = ? AND seq = ?

-- name: recount
UPDATE entities
SET (mention_count, first_seen, last_seen) = (
    SELECT count(*), min(m.seen), max(m.seen)
    FROM fact_entities AS m
    WHERE m.bank_id = :bank_id AND m.number = :number
)
WHERE bank_id = :bank_id AND number = :number

-- name: drop_unmentioned
DELETE FROM entities WHERE bank_id = ? AND number = ? AND mention_count = 0

-- name: names
SELECT e.number, e.name
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value

-- name: count
SELECT count(*) FROM entities WHERE bank_id = :bank_id

-- name: list
SELECT number, entity_id, name, type, mention_count, first_seen, last_seen
FROM entities
WHERE bank_id = :bank_id
ORDER BY mention_count DESC, number
LIMIT :limit OFFSET :offset

-- name: count_tagged
SELECT count(DISTINCT m.number)
FROM fact_entities AS m
JOIN facts AS f ON f.bank_id = m.bank_id AND f.seq = m.seq
WHERE m.bank_id = :bank_id AND f.tags IN (SELECT value FROM json_each(:tag_sets))

-- name: list_tagged
SELECT e.number, e.entity_id, e.name, e.type, count(*) AS mentions, min(m.seen), max(m.seen)
FROM fact_entities AS m
JOIN facts AS f ON f.bank_id = m.bank_id AND f.seq = m.seq
JOIN entities AS e ON e.bank_id = m.bank_id AND e.number = m.number
WHERE m.bank_id = :bank_id AND f.tags IN (SELECT value FROM json_each(:tag_sets))
GROUP BY e.number
ORDER BY mentions DESC, e.number
LIMIT :limit OFFSET :offset

-- name: by_id
SELECT number, entity_id, name, type, mention_count, first_seen, last_seen
FROM entities
WHERE bank_id = ? AND entity_id = ?

-- name: by_normal_names
SELECT e.number, e.entity_id, e.name, e.type, e.mention_count, e.first_seen, e.last_seen
FROM json_each(:names) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.normal_name = wanted.value
ORDER BY e.number

-- name: by_numbers
SELECT e.number, e.entity_id, e.name, e.type, e.mention_count, e.first_seen, e.last_seen
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value
ORDER BY e.number
