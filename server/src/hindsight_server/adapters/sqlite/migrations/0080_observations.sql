-- Observations are facts that rest on other facts. They are of no document: the document with the empty id stands for
-- that, and no listing shows it.

-- `scope` are the tags under which the observation was drawn, in ascending order, as JSON. `version` grows with each change.
CREATE TABLE observations (
    bank_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (bank_id, scope, observation_id),
    UNIQUE (bank_id, observation_id),
    -- An observation that changes gets another row, so the fact may be away in the middle of a transaction.
    FOREIGN KEY (bank_id, observation_id) REFERENCES facts (bank_id, fact_id) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

-- What it rests on; `quote` is a stretch of the fact's text, verbatim, or empty.
CREATE TABLE observation_sources (
    bank_id TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    quote TEXT NOT NULL,
    PRIMARY KEY (bank_id, observation_id, fact_id),
    FOREIGN KEY (bank_id, observation_id) REFERENCES observations (bank_id, observation_id),
    FOREIGN KEY (bank_id, fact_id) REFERENCES facts (bank_id, fact_id) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;
CREATE INDEX observation_sources_by_fact ON observation_sources (bank_id, fact_id);

-- What it said at each version, and which facts that version added.
CREATE TABLE observation_history (
    bank_id TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    action TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    fact_ids TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (bank_id, observation_id, version),
    FOREIGN KEY (bank_id, observation_id) REFERENCES observations (bank_id, observation_id)
) STRICT, WITHOUT ROWID;

-- The scopes in which a fact was gone through; `failed` 1 when no usable answer came for it.
CREATE TABLE consolidation_passes (
    bank_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (bank_id, fact_id, scope),
    FOREIGN KEY (bank_id, fact_id) REFERENCES facts (bank_id, fact_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Facts that were gone through in all of their scopes. A valid fact that is not here waits for it.
CREATE TABLE consolidations (
    bank_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    failed INTEGER NOT NULL,
    done_at INTEGER NOT NULL,
    PRIMARY KEY (bank_id, fact_id),
    FOREIGN KEY (bank_id, fact_id) REFERENCES facts (bank_id, fact_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidations_failed ON consolidations (bank_id, fact_id) WHERE failed = 1;

-- No fact up to `seq` waits, so that looking for those that do need not begin at the first.
CREATE TABLE consolidation_marks (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    last_at INTEGER,
    PRIMARY KEY (bank_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('observations', 'observations', '10000 5000 50 1'),
    ('observations', 'sqlite_autoindex_observations_2', '10000 5000 1'),
    ('observation_sources', 'observation_sources', '30000 15000 3 1'),
    ('observation_sources', 'observation_sources_by_fact', '30000 15000 2'),
    ('observation_history', 'observation_history', '20000 10000 2 1'),
    ('consolidation_passes', 'consolidation_passes', '100000 50000 1 1'),
    ('consolidations', 'consolidations', '100000 50000 1'),
    ('consolidations', 'consolidations_failed', '100 50 1'),
    ('consolidation_marks', 'consolidation_marks', '100 1');
ANALYZE sqlite_schema;
