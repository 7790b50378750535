-- Which uploads still wait for their job, so that nobody deletes their bytes.
CREATE INDEX operations_by_blob ON operations (bank_id, json_extract(payload, '$.blob'))
    WHERE type = 'file_convert_retain' AND status <> 'completed';
