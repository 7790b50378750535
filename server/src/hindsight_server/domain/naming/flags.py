"""What mentions and users say of a name, as bits."""

from __future__ import annotations

from hindsight_server.domain.model import EntityMention

LITERAL = 1
"""A caller supplied the name to be taken as it is."""
PERSON = 2
"""It names a person."""
OTHER = 4
"""It names a place, a firm, a work or a thing."""
TAG = 8
"""It is a label that is also a tag of its fact."""
GIVEN = 16
"""A user added it to an entity: it stays without a mention."""
SHOWN = 32
"""A user chose it to stand for its entity."""

_PERSONS = frozenset(["person", "people", "human", "per", "speaker", "人物", "人"])
_OPEN = frozenset(["", "concept", "other", "misc", "entity", "unknown"])


def mention_flags(mention: EntityMention) -> int:
    """The bits that one mention sets.

    Example:
        >>> mention_flags(EntityMention(name="Ann", type="PERSON")) == PERSON
        True
    """
    kind = mention.type.casefold()
    if kind in _PERSONS:
        told = PERSON
    elif kind in _OPEN:
        told = 0
    else:
        told = OTHER
    return told | (LITERAL if mention.literal else 0) | (TAG if mention.tag else 0)
