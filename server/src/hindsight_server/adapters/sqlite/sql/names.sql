-- name: by_normal_name
SELECT number, type, flags, status, awaited FROM entities WHERE bank_id = ? AND normal_name = ?

-- name: create
INSERT INTO entities (bank_id, number, entity_id, normal_name, name, type, mention_count, entity, flags, status)
VALUES (:bank_id, :number, :entity_id, :normal, :name, :type, 0, :entity, :flags, 3)

-- name: set_type
UPDATE entities SET type = ? WHERE bank_id = ? AND number = ?

-- name: mention
INSERT INTO fact_entities (bank_id, number, seq, seen, flags) VALUES (?, ?, ?, ?, ?)

-- name: count_mentions
UPDATE entities
SET mention_count = mention_count + :mentions,
    first_seen = min(ifnull(first_seen, :first), :first),
    last_seen = max(ifnull(last_seen, :last), :last),
    flags = flags | :flags
WHERE bank_id = :bank_id AND number = :number

-- name: move
UPDATE fact_entities SET seq = ? WHERE bank_id = ? AND number = ? AND seq = ?

-- name: forget_mention
DELETE FROM fact_entities WHERE bank_id = ? AND number = ? AND seq = ?

-- name: recount
UPDATE entities
SET (mention_count, first_seen, last_seen, flags) = (
    SELECT count(*), min(m.seen), max(m.seen),
        (entities.flags & :kept)
            | ifnull(max(m.flags & 1), 0) | ifnull(max(m.flags & 2), 0) | ifnull(max(m.flags & 4), 0)
    FROM fact_entities AS m
    WHERE m.bank_id = :bank_id AND m.number = :number
)
WHERE bank_id = :bank_id AND number = :number

-- name: rows
SELECT e.number, e.normal_name, e.flags, e.mention_count, e.first_seen, e.last_seen, e.parent, e.entity, e.status, e.awaited,
    e.candidates
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = wanted.value

-- name: members
SELECT e.number
FROM json_each(:numbers) AS wanted
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.entity = wanted.value

-- name: add_key
INSERT OR IGNORE INTO entity_keys (bank_id, key, number) VALUES (?, ?, ?)

-- name: drop_key
DELETE FROM entity_keys WHERE bank_id = ? AND key = ? AND number = ?

-- name: with_keys
SELECT wanted.value, (
    SELECT json_group_array(first.number)
    FROM (
        SELECT k.number
        FROM entity_keys AS k
        WHERE k.bank_id = :bank_id AND k.key = wanted.value
        ORDER BY k.number
        LIMIT :most
    ) AS first
)
FROM json_each(:keys) AS wanted

-- name: spoken
SELECT wanted.value, e.number, e.normal_name
FROM json_each(:keys) AS wanted
CROSS JOIN entity_keys AS k ON k.bank_id = :bank_id AND k.key = 'f:' || wanted.value
CROSS JOIN entities AS e ON e.bank_id = k.bank_id AND e.number = k.number
ORDER BY wanted.key, e.number

-- name: write
UPDATE entities
SET parent = :parent, entity = :entity, status = :status, awaited = :awaited, candidates = :candidates, flags = :flags
WHERE bank_id = :bank_id AND number = :number

-- name: drop
DELETE FROM entities WHERE bank_id = ? AND number = ?

-- name: regrouped
UPDATE banks SET grouped_at = ? WHERE bank_id = ?

-- name: add_link
INSERT OR REPLACE INTO entity_links (bank_id, seq, one, other, same) VALUES (?, ?, ?, ?, ?)

-- name: links
SELECT l.one, l.other, max(l.same)
FROM json_each(:numbers) AS wanted
CROSS JOIN entity_links AS l ON l.bank_id = :bank_id AND l.one = wanted.value
GROUP BY l.one, l.other

-- name: rules
SELECT r.one, r.other, r.same
FROM json_each(:numbers) AS wanted
CROSS JOIN entity_rules AS r ON r.bank_id = :bank_id AND r.one = wanted.value

-- name: set_rule
INSERT OR REPLACE INTO entity_rules (bank_id, one, other, same) VALUES (?, ?, ?, ?)

-- name: drop_rule
DELETE FROM entity_rules WHERE bank_id = ? AND one = ? AND other = ?

-- name: drop_rules_of
DELETE FROM entity_rules WHERE bank_id = ? AND one = ?

-- name: drop_rules_with
DELETE FROM entity_rules WHERE bank_id = ? AND other = ?

-- name: company
SELECT f.document_id, f.session, f.context, f.mentioned_at, f.entities, f.terms
FROM fact_entities AS m
CROSS JOIN facts AS f ON f.bank_id = m.bank_id AND f.seq = m.seq
WHERE m.bank_id = ? AND m.number = ? AND f.document_id <> ''
ORDER BY m.seq DESC
LIMIT 200

-- name: term_counts
SELECT wanted.value, (
    SELECT sum(length(p.block) / 8) FROM postings AS p WHERE p.bank_id = :bank_id AND p.term = wanted.value
)
FROM json_each(:terms) AS wanted

-- name: group_of_id
SELECT o.number, o.normal_name, o.flags, o.mention_count, o.type, o.entity
FROM entities AS e
JOIN entities AS o ON o.bank_id = e.bank_id AND o.entity = e.entity
WHERE e.bank_id = ? AND e.entity_id = ?
ORDER BY o.number

-- name: place_of
SELECT e.number, e.entity, (SELECT count(*) FROM entities AS o WHERE o.bank_id = e.bank_id AND o.entity = e.entity)
FROM entities AS e
WHERE e.bank_id = ? AND e.normal_name = ?

-- name: set_flags
UPDATE entities SET flags = flags & ~:cleared | :added WHERE bank_id = :bank_id AND number = :number

-- name: set_name
UPDATE entities SET name = ? WHERE bank_id = ? AND number = ?

-- name: label_tags
SELECT f.seq, e.name
FROM json_each(:seqs) AS wanted
CROSS JOIN facts AS f ON f.bank_id = :bank_id AND f.seq = wanted.value
CROSS JOIN json_each(f.entities) AS named
CROSS JOIN fact_entities AS m ON m.bank_id = :bank_id AND m.number = named.value AND m.seq = f.seq AND m.flags & 8
CROSS JOIN entities AS e ON e.bank_id = :bank_id AND e.number = named.value
ORDER BY f.seq, named.key

-- name: tags
SELECT tags FROM facts WHERE bank_id = ? AND seq = ?
