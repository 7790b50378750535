-- A row of `entities` is a name as it is written. Which names are one entity is a decision that can be made again: `entity`
-- is the number of the name that stands for it, `parent` the fuller name that this one was found to be another writing of.

ALTER TABLE entities ADD COLUMN entity INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entities ADD COLUMN parent INTEGER;
-- What the mentions and the user say of the name, as bits.
ALTER TABLE entities ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;
-- 3: not looked at yet, and without keys; that is done when the name is mentioned next.
ALTER TABLE entities ADD COLUMN status INTEGER NOT NULL DEFAULT 3;
-- Another name waits for what this one's mentions may say.
ALTER TABLE entities ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;
-- Numbers of the names that an undecided one could be.
ALTER TABLE entities ADD COLUMN candidates TEXT;
UPDATE entities SET entity = number;
CREATE INDEX entities_by_entity ON entities (bank_id, entity);
CREATE INDEX entities_merged ON entities (bank_id, number, entity) WHERE entity <> number;

ALTER TABLE fact_entities ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;

-- Two names that could be one share a key.
CREATE TABLE entity_keys (
    bank_id TEXT NOT NULL,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (bank_id, key, number),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- What a fact says of two names: that they are one (`same` 1) or two (0). Each pair is there in both directions.
CREATE TABLE entity_links (
    bank_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    one INTEGER NOT NULL,
    other INTEGER NOT NULL,
    same INTEGER NOT NULL,
    PRIMARY KEY (bank_id, seq, one, other),
    FOREIGN KEY (bank_id, seq) REFERENCES facts (bank_id, seq) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_links_by_name ON entity_links (bank_id, one, other);

-- What the user said of two names, likewise.
CREATE TABLE entity_rules (
    bank_id TEXT NOT NULL,
    one INTEGER NOT NULL,
    other INTEGER NOT NULL,
    same INTEGER NOT NULL,
    PRIMARY KEY (bank_id, one, other),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_rules_by_other ON entity_rules (bank_id, other);

-- The version at which it last changed which names are one.
ALTER TABLE banks ADD COLUMN grouped_at INTEGER NOT NULL DEFAULT 0;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('entities', 'entities_by_entity', '20000 10000 1'),
    ('entities', 'entities_merged', '1000 500 1 1'),
    ('entity_keys', 'entity_keys', '60000 30000 3 1'),
    ('entity_links', 'entity_links', '1000 500 2 1 1'),
    ('entity_links', 'entity_links_by_name', '1000 500 2 1'),
    ('entity_rules', 'entity_rules', '100 50 2 1'),
    ('entity_rules', 'entity_rules_by_other', '100 50 2');
ANALYZE sqlite_schema;
