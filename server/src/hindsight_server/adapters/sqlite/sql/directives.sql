-- name: save
INSERT INTO directives (bank_id, directive_id, name, content, priority, is_active, tags, created_at, updated_at)
VALUES (:bank_id, :directive_id, :name, :content, :priority, :is_active, :tags, :created_at, :updated_at)
ON CONFLICT (bank_id, directive_id) DO UPDATE SET
    name = excluded.name,
    content = excluded.content,
    priority = excluded.priority,
    is_active = excluded.is_active,
    tags = excluded.tags,
    updated_at = excluded.updated_at

-- name: list
SELECT directive_id, name, content, priority, is_active, tags, created_at, updated_at
FROM directives
WHERE bank_id = :bank_id AND is_active >= :active_only

-- name: read
SELECT directive_id, name, content, priority, is_active, tags, created_at, updated_at
FROM directives
WHERE bank_id = ? AND directive_id = ?

-- name: delete
DELETE FROM directives WHERE bank_id = ? AND directive_id = ?
