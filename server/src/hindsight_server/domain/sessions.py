"""Which conversation a fact belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def explicit_session(tags: Iterable[str], metadata: Mapping[str, str]) -> str | None:
    """The session key that the caller named: a ``session:`` tag, else a ``task:`` tag, else metadata ``session_id``.

    None when nothing names one; then the multi-turn document, or the context, tells the session at query time.

    Example:
        >>> explicit_session(["user:a", "session:42"], {})
        'session:42'
    """
    held = sorted(tags)
    for prefix in ("session:", "task:"):
        for tag in held:
            if tag.startswith(prefix) and len(tag) > len(prefix):
                return tag
    named = metadata.get("session_id", "").strip()
    return f"session:{named}" if named else None
