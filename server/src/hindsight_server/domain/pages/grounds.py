"""Whether the words of a page say no name and no number that the memories under them don't hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hindsight_server.domain.grounding import Evidence, Ordinary, fold
from hindsight_server.domain.numerals import Number, find_numbers, readings

_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:\d{1,3}[.)]|[-*+])[ \t]")
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_WORD = re.compile(r"[^\W\d_]+")
_MOST_COUNTED = 12
# What pages are headed with beside the words that memories are made of.
_CUSTOMARY_TEXT = """
overview summary timeline itinerary background pricing hobbies allergies checklist workflow milestones takeaways
highlights roadmap logistics demographics diagnoses medications prescriptions symptoms vaccinations upcoming ongoing
allergen allergens podcasts wellbeing hiking taxes wishlist scheduling neighbourhood commute commuting gadgets laptop
smartphone database backend frontend debugging codebase licensing stakeholders deliverables onboarding unresolved
caveats formerly interestingly prioritizes vegan lactose gluten physiotherapy acupuncture migraine cholesterol recipes
"""
_CUSTOMARY = frozenset(_CUSTOMARY_TEXT.split())


def no_word(word: str) -> bool:
    """No word is known to be an ordinary one."""
    return False


@dataclass(frozen=True)
class Grounds:
    """What words may rest on.

    Args:
        words: memories, and what stood there before.
        others: words of further memories: what is a name there is one here.
        ordinary: whether a lower-case word is an ordinary one, which its capital alone makes no name.
        has_names: whether names are looked for.
        may_count: whether small numbers in words pass: whoever sums up counts ("three hobbies").
    """

    words: Sequence[str]
    others: Sequence[str] = ()
    ordinary: Ordinary = no_word
    has_names: bool = True
    may_count: bool = False

    def missing(self, text: str, heading: str = "") -> str | None:
        """The first number or name that is nowhere in the memories, as ``the number 14``.

        A word that begins a sentence or stands in a heading, or in bold, has its capital by custom: it is taken for a
        name when it is no ordinary word, or when further memories have it as a name.
        """
        plain = _LIST_MARK.sub("", text)
        for words in (heading, plain):
            for number in find_numbers(words):
                written = words[number.start : number.end]
                if number.is_plain and self._values.isdisjoint(readings(number)) and not self._counts(written, number):
                    return f"the number {written[:20]}"
        if not self.has_names:
            return None
        name = self._evidence.missing_name(_BOLD.sub(lambda match: _by_word(match[1]), plain))
        if name is None and heading:
            name = self._evidence.missing_name(_by_word(heading))
        return None if name is None else f"the name {name[:40]}"

    def shares_words(self, text: str) -> bool:
        """See `Evidence.shares_words`."""
        return self._evidence.shares_words(text)

    def _counts(self, written: str, number: Number) -> bool:
        in_words = not any(sign.isdigit() for sign in written)
        return self.may_count and in_words and number.value.isdigit() and int(number.value) <= _MOST_COUNTED

    def _is_ordinary(self, word: str) -> bool:
        return (word in _CUSTOMARY or self.ordinary(word)) and word not in self._names

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(words=self.words, ordinary=self._is_ordinary)

    @cached_property
    def _values(self) -> set[str]:
        return {value for words in self.words for number in find_numbers(words) for value in readings(number)}

    @cached_property
    def _names(self) -> set[str]:
        """What is written with a capital in the midst of a line of the further memories."""
        found = set()
        for line in "\n".join(self.others).split("\n"):
            for match in _WORD.finditer(line):
                before = line[: match.start()].rstrip(" \"'“‘(")
                if match[0][0].isupper() and before and before[-1] not in ".!?…:;|*-–—":
                    found.add(fold(match[0]))
        return found


def _by_word(heading: str) -> str:
    """A heading in which each word begins a line, since any of them may have its capital by custom."""
    return "\n".join(("", *heading.split(), ""))
