"""Documents as a whole: what was stored under an id, and taking it away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .bridge import get_bridge
from .turns import Turn

if TYPE_CHECKING:
    from .requests import Requests

__all__ = ["Documents", "turns_of"]


class Documents:
    """The documents of a memory, sync and async. Got from ``MemoryOperations.documents``."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def text(self, document_id: str, *, bank_id: str | None = None) -> str | None:
        """A document's text as it was stored; ``None`` when there is no such document.

        Raises:
            OperationError: the server could not be asked.
        """
        return get_bridge().run(lambda: self._requests.document_text(bank_id, document_id))

    async def atext(self, document_id: str, *, bank_id: str | None = None) -> str | None:
        """Async twin of :meth:`text`."""
        return await get_bridge().arun(lambda: self._requests.document_text(bank_id, document_id))

    def delete(self, document_id: str, *, bank_id: str | None = None) -> None:
        """Delete a document and its memories; no error when there is none.

        Raises:
            OperationError: the server could not be asked, or refused.
        """
        get_bridge().run(lambda: self._requests.delete_document(bank_id, document_id))

    async def adelete(self, document_id: str, *, bank_id: str | None = None) -> None:
        """Async twin of :meth:`delete`."""
        await get_bridge().arun(lambda: self._requests.delete_document(bank_id, document_id))


def turns_of(text: str | None) -> list[Turn]:
    """The turns in a document's text, as :func:`~hindsight_adapter_core.turns.turn_content` writes them.

    Arrays and objects that follow one another are read through; text that is no turn is passed over.

    Example:
        >>> [turn.text for turn in turns_of('[{"role": "user", "content": "Hi."}]')]
        ['Hi.']
    """
    turns: list[Turn] = []
    for found in _values(text or ""):
        for one in found if isinstance(found, list) else [found]:
            turn = _turn(one)
            if turn is not None:
                turns.append(turn)
    return turns


def _values(text: str) -> list[object]:
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        opening = min((place for place in (text.find("[", at), text.find("{", at)) if place >= 0), default=-1)
        if opening < 0:
            break
        try:
            value, at = decoder.raw_decode(text, opening)
        except (ValueError, RecursionError):
            # Words, not data: look on behind this line.
            at = text.find("\n", opening)
            if at < 0:
                break
            continue
        found.append(value)
    return found


def _turn(one: object) -> Turn | None:
    if not isinstance(one, dict) or not isinstance(one.get("content"), str) or not isinstance(one.get("role"), str):
        return None

    def text(key: str) -> str | None:
        value = one.get(key)
        return value if isinstance(value, str) and value else None

    return Turn(
        role=one["role"], text=one["content"], name=text("name"), timestamp=text("timestamp"), message_id=text("id")
    )
