-- These statements know no bank: they are about the file.

-- name: tables
SELECT count(*) FROM sqlite_schema

-- name: create_table
CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT

-- name: applied
SELECT number, name, hash FROM migrations ORDER BY number

-- name: record
INSERT INTO migrations (number, name, hash, applied_at) VALUES (?, ?, ?, ?)
