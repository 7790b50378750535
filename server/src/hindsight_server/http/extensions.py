"""Operations of ours beside those of the API."""

from __future__ import annotations

_ENTITY = "/v1/default/banks/{bank_id}/entities/{entity_id}"

_MEMORIES = "/v1/default/banks/{bank_id}/memories"

# (method, path, operation id, status of success), as in `wire/operations.py`
EXTENSIONS: tuple[tuple[str, str, str, int], ...] = (
    ("DELETE", f"{_MEMORIES}/{{memory_id}}", "forget_memory", 200),
    ("POST", f"{_MEMORIES}/forget", "forget_memories", 200),
    ("GET", "/v1/default/banks/{bank_id}/security-events", "list_security_events", 200),
    ("PATCH", _ENTITY, "update_entity", 200),
    ("POST", f"{_ENTITY}/merge", "merge_entities", 200),
    ("POST", f"{_ENTITY}/split", "split_entity", 200),
    ("POST", f"{_ENTITY}/aliases", "add_entity_alias", 200),
    ("DELETE", f"{_ENTITY}/aliases/{{alias}}", "remove_entity_alias", 200),
)
