"""One function per API call, over a real client or anything with the same methods.

Runs on the bridge's loop. Requests are frozen values; only what is set is sent.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from .clients import is_real_client

__all__ = [
    "RecallCall",
    "ReflectCall",
    "RetainCall",
    "call_create_bank",
    "call_delete_document",
    "call_get_document",
    "call_recall",
    "call_reflect",
    "call_retain",
]


@dataclass(frozen=True, kw_only=True)
class RetainCall:
    """One item to store.

    ``append`` adds to the document instead of replacing it. With ``once``, whatever the server stored earlier under the
    same operation id counts as this item, though its time or tags differ.
    """

    bank_id: str
    content: str
    document_id: str
    operation_id: str
    context: str | None = None
    timestamp: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    append: bool = False
    retain_async: bool = False
    once: bool = False

    @property
    def repeatable(self) -> bool:
        """True when a second arrival changes nothing on any server: the document is replaced by itself."""
        return not self.append


@dataclass(frozen=True, kw_only=True)
class RecallCall:
    """One search.

    ``query_timestamp`` is the "now" of relative times in the query, with the user's offset. ``time_filter`` (``start``,
    ``end``, ``on``) leaves out other times; the bundled server's extension, which a real client is made to send.
    """

    bank_id: str
    query: str
    budget: str
    max_tokens: int
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    tag_groups: list[dict[str, Any]] | None = None
    min_scores: dict[str, float] | None = None
    include_entities: bool = False
    query_timestamp: str | None = None
    time_filter: dict[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class ReflectCall:
    """One question."""

    bank_id: str
    query: str
    budget: str
    max_tokens: int
    context: str | None = None
    response_schema: dict[str, Any] | None = None
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    tag_groups: list[dict[str, Any]] | None = None


async def call_retain(client: Any, call: RetainCall) -> Any:
    """Store one item."""
    if is_real_client(client) and _own_method(client, "aretain"):
        return await _post_retain(client, call)
    arguments: dict[str, Any] = {
        "bank_id": call.bank_id,
        "content": call.content,
        "document_id": call.document_id,
        **_given(context=call.context, timestamp=call.timestamp, tags=list(call.tags), metadata=call.metadata),
    }
    if call.append:
        arguments["update_mode"] = "append"
    if call.retain_async:
        arguments.update(retain_async=True, operation_id=call.operation_id)
    return await _invoke(client, "retain", arguments)


async def _post_retain(client: Any, call: RetainCall) -> Any:
    # The convenience method drops the operation id of a synchronous retain, with a warning; the generated call
    # sends it. It also bypasses suspend_retains(), which is therefore honoured here.
    from hindsight_client_api.models.retain_request import RetainRequest
    from hindsight_client_api.models.retain_response import RetainResponse

    suspended = getattr(client, "_retain_suspended", None)
    if suspended is not None and suspended.get():
        return RetainResponse.model_validate(
            {"success": True, "bank_id": call.bank_id, "items_count": 0, "async": False}
        )
    item = {"content": call.content, "document_id": call.document_id}
    item |= _given(
        context=call.context,
        timestamp=call.timestamp,
        tags=list(call.tags),
        metadata=call.metadata,
        update_mode="append" if call.append else None,
    )
    # From plain data, because the models of a request differ between the client's versions.
    request = RetainRequest.from_dict({"items": [item], "async": call.retain_async, "operation_id": call.operation_id})
    return await client.memory.retain_memories(call.bank_id, request, _request_timeout=client._timeout)


async def call_recall(client: Any, call: RecallCall) -> Any:
    """Search."""
    arguments: dict[str, Any] = {
        "bank_id": call.bank_id,
        "query": call.query,
        "budget": call.budget,
        "max_tokens": call.max_tokens,
        **_given(
            types=list(call.types),
            tag_groups=call.tag_groups,
            min_scores=call.min_scores,
            query_timestamp=call.query_timestamp,
        ),
    }
    if call.tags:
        arguments.update(tags=list(call.tags), tags_match=call.tags_match)
    if call.time_filter and is_real_client(client) and _own_method(client, "arecall"):
        return await _post_recall(client, call, arguments)
    if call.include_entities:
        arguments["include_entities"] = True
    return await _invoke(client, "recall", arguments)


async def _post_recall(client: Any, call: RecallCall, arguments: dict[str, Any]) -> Any:
    # The convenience method knows the API's own fields only; an extension travels in a request of our own shape.
    include: dict[str, Any] = {"entities": {} if call.include_entities else None}
    request = _extended_request().from_dict({**arguments, "include": include})
    request._extension = {"time_filter": call.time_filter}
    return await client.memory.recall_memories(call.bank_id, request, _request_timeout=client._timeout)


@cache
def _extended_request() -> Any:
    # Made once: making the class takes as long as the rest of a search does here.
    from hindsight_client_api.models.recall_request import RecallRequest

    class ExtendedRequest(RecallRequest):
        _extension: dict[str, Any] | None = None

        def to_dict(self) -> dict[str, Any]:
            return {**super().to_dict(), **(self._extension or {})}

    return ExtendedRequest


async def call_reflect(client: Any, call: ReflectCall) -> Any:
    """Ask for a reasoned answer."""
    arguments: dict[str, Any] = {
        "bank_id": call.bank_id,
        "query": call.query,
        "budget": call.budget,
        "max_tokens": call.max_tokens,
        **_given(context=call.context, response_schema=call.response_schema, tag_groups=call.tag_groups),
    }
    if call.tags:
        arguments.update(tags=list(call.tags), tags_match=call.tags_match)
    return await _invoke(client, "reflect", arguments)


async def call_get_document(client: Any, bank_id: str, document_id: str) -> str | None:
    """The text of a document; ``None`` from a client that knows no documents."""
    documents = getattr(client, "documents", None)
    if documents is None:
        return None
    found = await documents.get_document(bank_id, document_id, _request_timeout=_timeout_of(client))
    text = getattr(found, "original_text", None)
    return text if isinstance(text, str) else None


async def call_delete_document(client: Any, bank_id: str, document_id: str) -> None:
    """Delete a document."""
    await client.documents.delete_document(bank_id, document_id, _request_timeout=_timeout_of(client))


def _timeout_of(client: Any) -> Any:
    return getattr(client, "_timeout", None)


async def call_create_bank(client: Any, bank_id: str, mission: str) -> Any:
    """Create a bank, or set its mission when it exists."""
    return await _invoke(client, "create_bank", {"bank_id": bank_id, "name": bank_id, "mission": mission})


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _own_method(client: Any, name: str) -> bool:
    """False when a subclass overrides the method: then its version is what the caller wants to run."""
    from hindsight_client import Hindsight

    return getattr(type(client), name, None) is getattr(Hindsight, name, None)


async def _invoke(client: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call ``client.a<name>``; for an object without the async twin, ``client.<name>`` in a worker thread."""
    method = getattr(client, f"a{name}", None)
    if method is None or (not inspect.iscoroutinefunction(method) and hasattr(client, name)):
        sync_method = getattr(client, name)
        if not inspect.iscoroutinefunction(sync_method):
            return await asyncio.to_thread(sync_method, **arguments)
        method = sync_method
    return await method(**arguments)
