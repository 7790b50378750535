"""Names that stand in lower case: closed lists of products and places, given names, and words like "iPhone"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from hindsight_server.adapters.extract.words import NO_NAMES, is_common
from hindsight_server.domain.naming.words import HAN_PLACES, NOT_ALONE, given_names

# Words that are no ordinary ones in any language that the rules read, so that lower case leaves no doubt.
_PRODUCTS = """
airbnb anthropic aws bitbucket chatgpt debian dropbox facebook figma gcp github gitlab grafana graphql instagram jira
kubernetes linkedin linux macos mongodb mysql nasa nato netflix nginx openai paypal postgres postgresql pytorch reddit
salesforce shopify spotify sqlite tensorflow terraform tiktok typescript javascript ubuntu unesco unicef vscode whatsapp
wikipedia youtube
"""
_OF_SEVERAL_WORDS = (
    "amazon web services", "azure devops", "github actions", "github copilot", "gitlab runner", "google calendar",
    "google cloud", "google docs", "google drive", "google maps", "google meet", "google sheets", "microsoft excel",
    "microsoft teams", "microsoft word", "new york city", "new york", "visual studio code", "visual studio",
)  # fmt: skip
# Ordinary words that are frequent family names too.
_FAMILY = """
baker brown carter chen clark cook cooper davis evans fisher green hall hill hunter johnson jones khan kim king lee
lopez marshall martin martinez mason miller moore morris murphy parker patel perez rivera robinson scott singh smith
taylor thomas thompson turner walker ward wang white williams wilson wood young zhang
"""
_FAMILIES = frozenset(_FAMILY.split())
_VERB_ENDS = ("ing", "ed", "s", "ly", "n't")
_SHORTEST_ALONE = 4  # "ana", "eva" and "ida" are words of other languages
_WORD = re.compile("[a-z]{3,}")
_WHOLE = re.compile(r"(?<![\w@#/.:$'’-])[a-z]{3,}(?!\w|[-@/:_(=]\w|\.\w)")
_ENDS_WORD = re.compile(r"(?![\w-])")
_FOLLOWING = re.compile(r" ([a-z]{2,})(?![\w'’@/_-])")
_MIXED = re.compile(
    r"(?<![\w@#/.:$-])(?:[a-z]|mac|open)[A-Z]{1,4}[a-zA-Z]*(?![\w(=/]|\.\w)"
    r"(?: \d{1,3}[a-z]?\b)?(?: (?:[Pp]ro|[Mm]ax|[Mm]ini|[Pp]lus|[Ll]ite|[Aa]ir|SE)\b)*"
)


@cache
def _heads() -> dict[str, tuple[tuple[str, str], ...]]:
    """The names that begin with a word, longest first, each with its type."""
    names = dict.fromkeys((*_PRODUCTS.split(), *_OF_SEVERAL_WORDS), "CONCEPT")
    places = (name for name in HAN_PLACES.values() if " " in name or not is_common(name))
    names.update((name, "LOCATION") for name in places if name not in NOT_ALONE and name not in given_names())
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(names, key=len, reverse=True):
        found.setdefault(name.split()[0], []).append((name, names[name]))
    return {head: tuple(group) for head, group in found.items()}


@cache
def _persons() -> frozenset[str]:
    return frozenset(name for name in given_names() if name not in NO_NAMES and not is_common(name))


@cache
def _first_words() -> frozenset[str]:
    return frozenset(_heads()) | _persons()


def lower_case_names(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Name, type, start and end of each, as it is written."""
    if not _first_words().isdisjoint(_WORD.findall(text)):
        end = 0
        for word in _WHOLE.finditer(text):
            if word.start() >= end and (found := _listed(text, word) or _person(text, word)) is not None:
                name, kind = found
                end = word.start() + len(name)
                yield name, kind, word.start(), end
    for mixed in _MIXED.finditer(text):
        yield mixed[0], "CONCEPT", *mixed.span()


def _listed(text: str, word: re.Match[str]) -> tuple[str, str] | None:
    for name, kind in _heads().get(word[0], ()):
        end = word.start() + len(name)
        if text.startswith(name, word.start()) and _ENDS_WORD.match(text, end):
            return name, kind
    return None


def _person(text: str, word: re.Match[str]) -> tuple[str, str] | None:
    if word[0] not in _persons():
        return None
    behind = _FOLLOWING.match(text, word.end())
    if behind is not None and _is_family(behind[1]):
        return word[0] + behind[0], "PERSON"
    alone = len(word[0]) >= _SHORTEST_ALONE and word[0] not in NOT_ALONE
    return (word[0], "PERSON") if alone else None


def _is_family(word: str) -> bool:
    if word in _FAMILIES:
        return True
    # Two given names are a person and another, or a first name and a middle one; neither is a family name for sure.
    ordinary = word in NO_NAMES or word in given_names() or is_common(word) or word.endswith(_VERB_ENDS)
    return not ordinary and len(word) >= 4 and word not in _heads()
