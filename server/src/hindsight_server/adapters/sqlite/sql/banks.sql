-- name: create
INSERT INTO banks (
    bank_id, name, mission, skepticism, literalism, empathy, config, created_at, updated_at,
    version, removed_since, removed_count, next_seq, next_entity, fact_count
)
SELECT :bank_id, :name, '', 3, 3, 3, '{}', :now, :now, version + 1, version + 1, 0, seq + 1, 1, 0
FROM floors
WHERE id = 1
ON CONFLICT (bank_id) DO NOTHING

-- name: save
UPDATE banks
SET name = :name, mission = :mission, skepticism = :skepticism, literalism = :literalism, empathy = :empathy,
    config = :config, updated_at = :now
WHERE bank_id = :bank_id

-- name: read
SELECT bank_id, name, mission, skepticism, literalism, empathy, config, created_at, updated_at, last_write_at,
    last_document_at, fact_count
FROM banks
WHERE bank_id = ?

-- name: holds_at_most
SELECT 1 FROM banks WHERE bank_id = ? AND fact_count <= ?

-- name: exists
SELECT 1 FROM banks WHERE bank_id = ?

-- name: count
SELECT count(*) FROM banks WHERE :query IS NULL OR holds(bank_id, :query) OR holds(name, :query)

-- name: list
SELECT bank_id, name, mission, skepticism, literalism, empathy, config, created_at, updated_at, last_write_at,
    last_document_at, fact_count
FROM banks
WHERE :query IS NULL OR holds(bank_id, :query) OR holds(name, :query)
ORDER BY ifnull(last_write_at, created_at) DESC, bank_id
LIMIT :limit OFFSET :offset

-- name: counters
SELECT version, removed_count, next_seq, next_entity, fact_count FROM banks WHERE bank_id = ?

-- name: save_counters
UPDATE banks
SET version = :version, removed_count = :removed_count, next_seq = :next_seq, next_entity = :next_entity,
    fact_count = :fact_count, last_write_at = :now,
    last_document_at = CASE WHEN :documents THEN :now ELSE last_document_at END
WHERE bank_id = :bank_id

-- name: raise_floors
UPDATE floors
SET version = max(version, (SELECT b.version FROM banks b WHERE b.bank_id = :bank_id)),
    seq = max(seq, (SELECT b.next_seq FROM banks b WHERE b.bank_id = :bank_id))
WHERE id = 1

-- name: facts_by_type
SELECT fact_type, count(*) FROM facts WHERE bank_id = ? AND state != 'invalidated' GROUP BY fact_type

-- name: count_documents
SELECT count(*) FROM documents WHERE bank_id = ? AND document_id <> ''

-- name: count_entity_links
SELECT count(*) FROM fact_entities WHERE bank_id = ?

-- name: operations_by_status
SELECT status, count(*) FROM operations WHERE bank_id = ? GROUP BY status

-- name: count_facts
SELECT count(*) FROM facts WHERE bank_id = ?

-- name: delete_knowledge_nodes
DELETE FROM knowledge_nodes WHERE bank_id = ?

-- name: delete_mental_model_withdrawals
DELETE FROM mental_model_withdrawals WHERE bank_id = ?

-- name: delete_mental_model_history
DELETE FROM mental_model_history WHERE bank_id = ?

-- name: delete_mental_model_sources
DELETE FROM mental_model_sources WHERE bank_id = ?

-- name: delete_mental_models
DELETE FROM mental_models WHERE bank_id = ?

-- name: delete_token_vectors
DELETE FROM token_vectors WHERE bank_id = ?

-- name: delete_unencoded
DELETE FROM unencoded WHERE bank_id = ?

-- name: delete_further_vectors
DELETE FROM further_vectors WHERE bank_id = ?

-- name: delete_vectors
DELETE FROM vectors WHERE bank_id = ?

-- name: delete_postings
DELETE FROM postings WHERE bank_id = ?

-- name: delete_fact_entities
DELETE FROM fact_entities WHERE bank_id = ?

-- name: delete_entity_links
DELETE FROM entity_links WHERE bank_id = ?

-- name: delete_entity_rules
DELETE FROM entity_rules WHERE bank_id = ?

-- name: delete_entity_keys
DELETE FROM entity_keys WHERE bank_id = ?

-- name: delete_entities
DELETE FROM entities WHERE bank_id = ?

-- name: delete_facts
DELETE FROM facts WHERE bank_id = ?

-- name: delete_chunks
DELETE FROM chunks WHERE bank_id = ?

-- name: delete_parts
DELETE FROM document_parts WHERE bank_id = ?

-- name: delete_documents
DELETE FROM documents WHERE bank_id = ?

-- name: delete_removed
DELETE FROM removed WHERE bank_id = ?

-- name: delete_operations
DELETE FROM operations WHERE bank_id = ?

-- name: delete
DELETE FROM banks WHERE bank_id = ?

-- name: delete_security_events
DELETE FROM security_events WHERE bank_id = ?

-- name: delete_document_receipts
DELETE FROM document_receipts WHERE bank_id = ?

-- name: delete_llm_request_texts
DELETE FROM llm_request_texts WHERE bank_id = ?

-- name: delete_llm_requests
DELETE FROM llm_requests WHERE bank_id = ?

-- name: delete_directives
DELETE FROM directives WHERE bank_id = ?

-- name: delete_observation_history
DELETE FROM observation_history WHERE bank_id = ?

-- name: delete_observation_sources
DELETE FROM observation_sources WHERE bank_id = ?

-- name: delete_observations
DELETE FROM observations WHERE bank_id = ?

-- name: delete_consolidation_passes
DELETE FROM consolidation_passes WHERE bank_id = ?

-- name: delete_causes
DELETE FROM causes WHERE bank_id = ?

-- name: delete_consolidations
DELETE FROM consolidations WHERE bank_id = ?

-- name: delete_consolidation_marks
DELETE FROM consolidation_marks WHERE bank_id = ?

-- name: delete_webhook_deliveries
DELETE FROM webhook_deliveries WHERE bank_id = ?

-- name: delete_webhooks
DELETE FROM webhooks WHERE bank_id = ?
