"""Which of a bank's speakers a question names."""

from __future__ import annotations

import re

# Parts in a conversation, and titles: they name nobody.
_PARTS = "user assistant system tool human ai bot agent model narrator speaker customer client me you i the"
_TITLES = "dr mr mrs ms prof"
_NO_NAMES = frozenset(f"{_PARTS} {_TITLES}".split())
_WORD = re.compile(r"[^\W_]+")
_SHORTEST = 2


class SpeakerNames:
    """The names by which speakers may be called: the whole name, and its first word. Grows with the bank."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[int]] = {}
        self._spaceless: list[tuple[str, int]] = []
        self._seen = 0

    def learn(self, speakers: list[str]) -> None:
        """Take in speakers that were not there at the last call; the list only grows."""
        for number in range(self._seen, len(speakers)):
            words = _WORD.findall(speakers[number].casefold())
            whole = " ".join(words)
            if not whole or whole in _NO_NAMES:
                continue
            for name in dict.fromkeys([whole, words[0]]):
                if len(name) >= _SHORTEST and name not in _NO_NAMES:
                    self._by_name.setdefault(name, []).append(number)
            if not whole.isascii():
                self._spaceless.append((whole, number))
        self._seen = len(speakers)

    def named(self, text: str) -> list[list[int]]:
        """Speakers called in the text, in order of first mention; those that share a name stand together."""
        folded = text.casefold()
        found: dict[tuple[int, ...], int] = {}
        words = [(match.group(), match.start()) for match in _WORD.finditer(folded)]
        for at, (word, place) in enumerate(words):
            pair = f"{word} {words[at + 1][0]}" if at + 1 < len(words) else ""
            numbers = self._by_name.get(pair) or self._by_name.get(word)
            if numbers:
                found.setdefault(tuple(numbers), place)
        for name, number in self._spaceless:
            place = folded.find(name)
            if place >= 0 and not any(number in numbers for numbers in found):
                found[(number,)] = place
        return [list(numbers) for numbers in sorted(found, key=found.__getitem__)]
