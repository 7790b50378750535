"""How a kind of data that has a fixed form is described."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of data.

    Args:
        label: what it is.
        words: of which one must be in the text, in lower case. A search for a plain word costs next to nothing, and
            most texts hold none. A pattern without words is looked for where there are digits.
        form: its form. The group ``secret`` is what counts, where there is one; else the whole. No quantifier in it is
            both unbounded and able to give back, so that no text takes long.
        check: what else must hold of the characters that count.
        echoes: whether the same characters elsewhere in the item are the same secret.
    """

    label: str
    words: tuple[str, ...]
    form: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    echoes: bool = False

    def places(self, text: str, lowered: str) -> Iterator[tuple[int, int]]:
        """Where it is found."""
        if self.words and not self._may_be_in(lowered):
            return
        group = "secret" if "secret" in self.form.groupindex else 0
        for match in self.form.finditer(text):
            if self.check is None or self.check(match.group(group)):
                yield match.span(group)

    def _may_be_in(self, lowered: str) -> bool:
        for word in self.words:  # noqa: SIM110 -- a generator costs more than the search
            if word in lowered:
                return True
        return False


def pattern(
    label: str, words: str, form: str, check: Callable[[str], bool] | None = None, *, echoes: bool = False
) -> Pattern:
    """A pattern from its words, separated by blanks, and its form."""
    return Pattern(label, tuple(words.split()), re.compile(form), check, echoes)
