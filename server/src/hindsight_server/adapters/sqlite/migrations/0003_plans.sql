-- The listing of memories goes from the latest mention back.
CREATE INDEX facts_by_mention ON facts (bank_id, mentioned_at, created_at);

-- Without numbers, SQLite takes a column that leads an index to narrow a search to ten rows, and bank_id leads them all: it
-- then reads whole banks to find one document. These are rows in all, then rows for each value of the columns so far, for
-- a big bank among small ones; only their order of size matters, so they need not be kept up.
ANALYZE floors;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('documents', 'documents', '100000 50000 1'),
    ('documents', 'documents_by_update', '100000 50000 10 1'),
    ('document_parts', 'document_parts', '100000 50000 4 1'),
    ('document_parts', 'document_parts_pending', '100 50 4'),
    ('chunks', 'chunks', '100000 50000 4 4 1'),
    ('chunks', 'sqlite_autoindex_chunks_2', '100000 50000 1'),
    ('facts', 'facts', '100000 50000 1'),
    ('facts', 'sqlite_autoindex_facts_2', '100000 50000 1'),
    ('facts', 'facts_by_document', '100000 50000 20 4'),
    ('facts', 'facts_by_tags', '100000 50000 5000 4000'),
    ('facts', 'facts_by_mention', '100000 50000 10 2'),
    ('entities', 'entities', '20000 10000 1'),
    ('entities', 'sqlite_autoindex_entities_2', '20000 10000 1'),
    ('entities', 'sqlite_autoindex_entities_3', '20000 10000 1'),
    ('fact_entities', 'fact_entities', '100000 50000 20 1'),
    ('postings', 'postings', '200000 100000 4 1'),
    ('vectors', 'vectors', '100000 50000 1'),
    ('token_vectors', 'sqlite_autoindex_token_vectors_1', '100000 50000 1'),
    ('removed', 'removed', '20000 10000 20 1'),
    ('operations', 'operations', '10000 5000 1'),
    ('operations', 'operations_by_id', '10000 1'),
    ('operations', 'operations_to_do', '100 1');
ANALYZE sqlite_schema;
