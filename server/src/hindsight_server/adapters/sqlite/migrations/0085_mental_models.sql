-- Mental models: standing answers to a question. Lists and mappings are JSON text, times microseconds.
CREATE TABLE mental_models (
    bank_id TEXT NOT NULL,
    mental_model_id TEXT NOT NULL,
    name TEXT NOT NULL,
    source_query TEXT NOT NULL,
    tags TEXT NOT NULL,
    max_tokens INTEGER NOT NULL,
    trigger_options TEXT NOT NULL,
    has_schedule INTEGER NOT NULL,
    is_page INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Grows with each content.
    version INTEGER NOT NULL,
    -- The newest memory that the last refresh could see, and the last one that failed.
    seen_seq INTEGER NOT NULL,
    failed_seq INTEGER,
    last_refreshed_at INTEGER,
    last_memory_seen_at INTEGER,
    last_refresh_failed_at INTEGER,
    last_full_refreshed_at INTEGER,
    -- When content was taken out because what it rests on is gone.
    cut_at INTEGER,
    scheduled_at INTEGER,
    full_scheduled_at INTEGER,
    refresh_id TEXT,
    answered_query TEXT,
    -- The memories that the answer names; their words are read from their own rows.
    fact_ids TEXT NOT NULL,
    structured_output TEXT,
    structured_output_error TEXT,
    trace TEXT,
    -- Sections, each with the ids of the memories that it cites; and the terms of each section.
    page TEXT NOT NULL,
    section_terms TEXT NOT NULL,
    -- What it is found by.
    terms TEXT NOT NULL,
    space TEXT,
    vector BLOB,
    PRIMARY KEY (bank_id, mental_model_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mental_models_scheduled ON mental_models (bank_id, mental_model_id) WHERE has_schedule = 1;

-- Every memory that was shown to the writer of a version: no word of a version may outlive one of them.
CREATE TABLE mental_model_sources (
    bank_id TEXT NOT NULL,
    mental_model_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    fact_id TEXT NOT NULL,
    PRIMARY KEY (bank_id, mental_model_id, version, fact_id),
    FOREIGN KEY (bank_id, mental_model_id) REFERENCES mental_models (bank_id, mental_model_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX mental_model_sources_by_fact ON mental_model_sources (bank_id, fact_id);

CREATE TABLE mental_model_history (
    bank_id TEXT NOT NULL,
    mental_model_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    -- That of the previous content.
    version INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    failure TEXT,
    error TEXT,
    previous_content TEXT,
    PRIMARY KEY (bank_id, mental_model_id, number),
    FOREIGN KEY (bank_id, mental_model_id) REFERENCES mental_models (bank_id, mental_model_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Which memories were deleted or edited, so that a refresh which saw one of them is begun again.
CREATE TABLE mental_model_withdrawals (
    bank_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    fact_id TEXT NOT NULL,
    PRIMARY KEY (bank_id, number),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id)
) STRICT, WITHOUT ROWID;

-- The tree of knowledge pages. A page's id is that of its mental model.
CREATE TABLE knowledge_nodes (
    bank_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    parent_id TEXT,
    managed INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (bank_id, node_id),
    FOREIGN KEY (bank_id) REFERENCES banks (bank_id),
    FOREIGN KEY (bank_id, parent_id) REFERENCES knowledge_nodes (bank_id, node_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_nodes_by_parent ON knowledge_nodes (bank_id, parent_id);
