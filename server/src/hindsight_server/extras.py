"""Libraries that only some settings and files need: which are missing, and how to get them."""

from __future__ import annotations

import re
from importlib.util import find_spec

_REQUIREMENT = re.compile(r"([^;]+?)\s*;\s*extra\s*==\s*['\"]([\w-]+)['\"]\s*")


def remedy(extra: str) -> str:
    """The command that installs what an extra of the server brings, wherever the server itself came from.

    Example:
        >>> remedy("anthropic")
        'pip install "anthropic<3,>=2.14" (the extra hindsight-server[anthropic])'
    """
    from importlib.metadata import PackageNotFoundError, requires  # slow, and seldom needed

    try:
        found = [_REQUIREMENT.fullmatch(line) for line in requires("hindsight-server") or ()]
    except PackageNotFoundError:
        found = []
    needed = [f'"{one[1]}"' for one in found if one is not None and one[2] == extra]
    return f"pip install {' '.join(needed or [extra])} (the extra hindsight-server[{extra}])"


def lacking_for_model(api: str, provider: str) -> str | None:
    """What is missing to speak to a provider, with the remedy; None when nothing is. Nothing is imported.

    Args:
        api: the wire format, ``openai`` or ``anthropic``: the name of its library and of the extra.
    """
    if find_spec(api) is not None:
        return None
    return f"The package '{api}' is not installed, and provider '{provider}' needs it: {remedy(api)}"


def lacking_for_blobs(kind: str) -> str | None:
    """What is missing to keep files in a store of objects, with the remedy; None when nothing is."""
    if find_spec("obstore") is not None:
        return None
    return f"Files are to be kept in {kind}, which needs obstore: {remedy('blobs')}"
