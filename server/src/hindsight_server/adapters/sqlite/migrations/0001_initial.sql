-- Every primary, unique and foreign key leads with bank_id, so that banks can be told apart, deleted and moved as a whole.
-- Times are microseconds since 1970 (UTC). Lists and mappings are JSON text.

CREATE TABLE banks (
    bank_id TEXT NOT NULL,
    name TEXT NOT NULL,
    mission TEXT NOT NULL,
    skepticism INTEGER NOT NULL,
    literalism INTEGER NOT NULL,
    empathy INTEGER NOT NULL,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_write_at INTEGER,
    last_document_at INTEGER,
    -- Grows with every write.
    version INTEGER NOT NULL,
    -- The version from which on the table `removed` is complete.
    removed_since INTEGER NOT NULL,
    removed_count INTEGER NOT NULL,
    next_seq INTEGER NOT NULL,
    next_entity INTEGER NOT NULL,
    fact_count INTEGER NOT NULL,
    PRIMARY KEY (bank_id)
) STRICT, WITHOUT ROWID;

-- Where new banks start counting: above what any deleted bank reached, so that a mark of a deleted bank is never taken for
-- one of a new bank of the same name.
CREATE TABLE floors (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    seq INTEGER NOT NULL
) STRICT;
INSERT INTO floors (id, version, seq) VALUES (1, 0, 0);

CREATE TABLE documents (
    bank_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    text_length INTEGER NOT NULL,
    turn_count INTEGER NOT NULL,
    next_part INTEGER NOT NULL,
    tags TEXT NOT NULL,
    context TEXT,
    metadata TEXT NOT NULL,
    observation_scopes TEXT,
    PRIMARY KEY (bank_id, document_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_by_update ON documents (bank_id, updated_at, document_id);

-- What one retain brought: appending to a document adds a part and touches no other.
CREATE TABLE document_parts (
    bank_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    first_turn INTEGER NOT NULL,
    turn_count INTEGER NOT NULL,
    -- The job that will replace the part's pending facts.
    pending_operation_id TEXT,
    -- How the part was retained, so that it can be extracted again.
    source TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (bank_id, document_id, part),
    FOREIGN KEY (bank_id, document_id) REFERENCES documents (bank_id, document_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX document_parts_pending ON document_parts (bank_id, pending_operation_id)
    WHERE pending_operation_id IS NOT NULL;

CREATE TABLE chunks (
    bank_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    position INTEGER NOT NULL,
    chunk_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- Tells equal chunks of one document apart.
    ordinal INTEGER NOT NULL,
    first_turn INTEGER NOT NULL,
    -- 0 while facts of the chunk are pending or after they were cleared: such a chunk is never kept by a later retain.
    complete INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (bank_id, document_id, part, position),
    UNIQUE (bank_id, chunk_id),
    FOREIGN KEY (bank_id, document_id) REFERENCES documents (bank_id, document_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- `seq` grows within a bank and is never used twice: a fact that changes gets a new one, so that what is above a mark is
-- what is new. The columns that a snapshot reads come first, long ones last, where they don't get in the way of a scan.
CREATE TABLE facts (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    fact_type TEXT NOT NULL,
    document_id TEXT NOT NULL,
    turn_index INTEGER NOT NULL,
    context TEXT,
    session TEXT,
    speaker TEXT,
    role TEXT,
    mentioned_at INTEGER,
    occurred_start INTEGER,
    occurred_end INTEGER,
    length INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    proof_count INTEGER NOT NULL,
    tags TEXT NOT NULL,
    -- Numbers of its entities, in the order of their mention.
    entities TEXT NOT NULL,
    state TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    chunk_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    source_fact_ids TEXT NOT NULL,
    metadata TEXT NOT NULL,
    -- What the postings hold of this fact, so that they can be found again when it goes.
    terms TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (bank_id, seq),
    UNIQUE (bank_id, fact_id),
    FOREIGN KEY (bank_id, document_id) REFERENCES documents (bank_id, document_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_by_document ON facts (bank_id, document_id, chunk_id);
CREATE INDEX facts_by_tags ON facts (bank_id, tags, state);

CREATE TABLE entities (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    entity_id TEXT NOT NULL,
    normal_name TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    mention_count INTEGER NOT NULL,
    first_seen INTEGER,
    last_seen INTEGER,
    PRIMARY KEY (bank_id, number),
    UNIQUE (bank_id, entity_id),
    UNIQUE (bank_id, normal_name),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- The facts of an entity; the entities of a fact are in its row.
CREATE TABLE fact_entities (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    PRIMARY KEY (bank_id, number, seq),
    FOREIGN KEY (bank_id, number) REFERENCES entities (bank_id, number)
) STRICT, WITHOUT ROWID;

-- The postings of a term in blocks. A posting is one little-endian int64, seq * 65536 + frequency, ascending; a block holds
-- postings from `start` up to the next block's `start`.
CREATE TABLE postings (
    bank_id TEXT NOT NULL,
    term TEXT NOT NULL,
    start INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (bank_id, term, start),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- Pooled vectors as float16: half the size of float32, and the error of a cosine (about 1e-5) is far below what tells two
-- results apart.
CREATE TABLE vectors (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    space TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (bank_id, seq),
    FOREIGN KEY (bank_id, seq) REFERENCES facts (bank_id, seq) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Token vectors as int8, row after row, `width` bytes each.
CREATE TABLE token_vectors (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    space TEXT NOT NULL,
    width INTEGER NOT NULL,
    vectors BLOB NOT NULL,
    PRIMARY KEY (bank_id, seq),
    FOREIGN KEY (bank_id, seq) REFERENCES facts (bank_id, seq) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT;

-- Which numbers ceased to exist, and when, so that a snapshot tells what changed since a mark.
CREATE TABLE removed (
    bank_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (bank_id, version, seq),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE operations (
    bank_id TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    items_count INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    completed_at INTEGER,
    leased_until INTEGER,
    next_attempt_at INTEGER,
    -- The documents that were written with it, whose pending facts it replaces.
    documents TEXT NOT NULL,
    error TEXT,
    result TEXT,
    payload TEXT,
    PRIMARY KEY (bank_id, operation_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;
-- The two questions that are asked across banks: whose is this id, and what is to be done next.
CREATE INDEX operations_by_id ON operations (operation_id);
CREATE INDEX operations_to_do ON operations (created_at) WHERE status IN ('pending', 'processing');
