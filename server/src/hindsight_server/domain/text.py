"""Making text safe to store."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without NUL characters and lone surrogates; a pair of surrogates becomes the character it stands for.

    Neither has a meaning in text, and neither can be encoded in UTF-8 or kept by every store.

    Example:
        >>> clean_text("a" + chr(0) + "b" + chr(0xD83D))
        'ab'
    """
    if "\0" in text:
        text = text.replace("\0", "")
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text
