"""Dumps of memories, and API keys as Haystack gives them: plain text or a ``Secret``.

A dump names a key's variable and never its value. It holds the server's address when that was given in the program;
an address from the environment stays the business of the host that loads the dump.
"""

from __future__ import annotations

from typing import Any

from haystack.utils import Secret

from hindsight_adapter_core import HINDSIGHT_API_KEY_ENV, MemoryOperations, dump_options

__all__ = ["PROGRAM_ORIGINS", "dump_key", "dump_memory", "key_text", "load_key"]

#: Where an address comes from that a dump holds.
PROGRAM_ORIGINS = ("argument", "configure()")


def dump_memory(memory: MemoryOperations) -> dict[str, Any]:
    """The options of a memory as plain data, without any key."""
    handle = memory.handle
    return dump_options(memory.options, hindsight_api_url=handle.url if handle.url_origin in PROGRAM_ORIGINS else None)


def key_text(api_key: Any) -> str | None:
    """The key to send, or ``None`` when it is left to ``configure()`` and ``HINDSIGHT_API_KEY``.

    Raises:
        ValueError: the secret is strict and its variable is not set (Haystack's own error).
    """
    if not isinstance(api_key, Secret):
        return api_key or None
    # The default variable is the core's business, below configure().
    return None if _is_default(api_key) else api_key.resolve_value()


def dump_key(api_key: Any) -> dict[str, Any] | None:
    """The ``Secret`` as plain data when it names variables of its own; ``None`` for everything else."""
    if not isinstance(api_key, Secret) or _is_default(api_key):
        return None
    return api_key.to_dict() if _variables(api_key) else None


def load_key(data: Any) -> Any:
    """The inverse of :func:`dump_key`; what is no dumped secret comes back as it is."""
    return Secret.from_dict(data) if isinstance(data, dict) else data


def _is_default(secret: Secret) -> bool:
    return _variables(secret) == (HINDSIGHT_API_KEY_ENV,)


def _variables(secret: Secret) -> tuple[str, ...]:
    # Only secrets that are read from the environment have variables; a token has none, and cannot be dumped.
    return tuple(getattr(secret, "_env_vars", ()))
