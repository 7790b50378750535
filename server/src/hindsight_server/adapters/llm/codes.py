"""Which of the codes in a provider's error may be shown: those made of words that errors are named by, and of no other.

A code is a stranger's text as its prose is: a gateway may put the key into it, or a word of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# The words of the codes and parameters of OpenAI's, Anthropic's, Groq's, Mistral's and OpenRouter's APIs.
_KNOWN = """
above access account allowed already api argument authentication authorization available bad balance base64 below
billing body cached capacity choice choices completion completions config configuration connection content context
credit credits deactivated decoding decommissioned deployment disabled down empty endpoint engine error exceed
exceeded exhausted expired failed file filter filtered forbidden format found function functions gateway generation
hard image images in inactive incorrect input insufficient internal invalid is json key large length limit limited
long many max maximum media message messages method missing mode model models moderation name no not of on options
organization output overloaded parameter parameters parse payload payment permission policy project prompt
properties property provider queue quota range rate reached reasoning region request requests required response role
schema server service size spend stop stream string structured suspended system temperature text timed timeout token
tokens too tool tools top type unauthorized unavailable unexpected unknown unprocessable unsupported url usage use
user validate validation value version violation workspace wrong
"""
_WORDS = frozenset(_KNOWN.split())
_LONGEST = 60
_SECRET_PART = 8


def may_be_shown(code: str, secrets: Iterable[str]) -> bool:
    """Whether a code says what kind of error it is, and nothing else.

    Args:
        secrets: what is sent along to be let in. A code that holds any 8 characters of one, or a shorter one as a word,
            is not shown.

    Example:
        >>> may_be_shown("invalid_api_key", []), may_be_shown("sk-7f3a", []), may_be_shown("locker_code_4417", [])
        (True, False, False)
    """
    words = re.split("[_.]", code)
    return len(code) <= _LONGEST and _WORDS.issuperset(words) and not any(_held(one.lower(), code) for one in secrets)


def _held(secret: str, code: str) -> bool:
    if len(secret) < _SECRET_PART:
        return secret in re.split("[_.]", code)
    return any(code[at : at + _SECRET_PART] in secret for at in range(len(code) - _SECRET_PART + 1))
