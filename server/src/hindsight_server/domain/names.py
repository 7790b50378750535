"""When two spellings name the same entity."""

from __future__ import annotations

import unicodedata

# Zero-width characters and the selectors that turn a sign into its picture or back.
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u20e3")


def normal_name(name: str) -> str:
    """The form under which a name is looked up: compatibility forms, case, spaces and emoji don't matter.

    Nothing else is folded: "Dr. Waller" and "Dr Wall" stay two names. A name of emoji only keeps them, so that no name
    becomes empty that was not blank before.

    Example:
        >>> normal_name("  DGIA 🚀 \\u3000Lab ")
        'dgia lab'
    """
    if name.isascii():  # which has no other forms, and no pictures
        return " ".join(name.lower().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    kept = "".join(sign for sign in folded if not _is_picture(sign))
    return " ".join(kept.split()) or " ".join(folded.split())


def _is_picture(sign: str) -> bool:
    # "So" holds emoji and other pictographs; "Sk" above the basic planes only the skin tones.
    return sign in _INVISIBLE or unicodedata.category(sign) == "So" or "\U0001f3fb" <= sign <= "\U0001f3ff"
