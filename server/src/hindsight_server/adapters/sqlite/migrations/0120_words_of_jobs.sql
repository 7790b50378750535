-- The first retain jobs carried the words of their documents, where nothing that is forgotten is looked for. The
-- documents hold them too, and that is where a job takes them from: without them it is one of version 2.
UPDATE operations
SET payload = json_set(
    CASE json_type(payload, '$.parts')
        WHEN 'array' THEN json_set(payload, '$.parts', json((
            SELECT json_group_array(json_remove(part.value, '$.content', '$.source'))
            FROM json_each(operations.payload, '$.parts') AS part
        )))
        ELSE payload
    END,
    '$.version', 2
)
WHERE type = 'retain' AND json_extract(payload, '$.version') = 1;
