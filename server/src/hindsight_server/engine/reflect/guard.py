"""What code keeps out of an answer, whatever the model was talked into."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHORTEST = 20  # characters; a shorter rule may well be part of an answer that follows it
_LEFT_OUT = "[…]"


def without_rules(answer: str, rules: Iterable[str]) -> str:
    """The answer without rules that stand in it as they were told to the model.

    Directives are the owner's, and the person who asks may not be the owner. White space, case and the full stop do not
    count; rules shorter than 20 characters are left.

    Example:
        >>> without_rules("My rule: never name the\\nproject Falcon!", ["Never name the project Falcon"])
        'My rule: […]!'
    """
    for rule in rules:
        words = rule.rstrip(" .!。！;；").split()
        if len(" ".join(words)) >= _SHORTEST:
            answer = re.sub(r"\s+".join(map(re.escape, words)), _LEFT_OUT, answer, flags=re.IGNORECASE)
    return answer
