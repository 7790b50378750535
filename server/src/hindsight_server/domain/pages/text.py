"""The structure of a page: sections with ids that stay, and the Markdown that they are written as.

A section begins with a heading of the ``#`` kind; words before the first one are a section without a heading. The words
of a section hold no such heading, and no code fence is left open in them, so that what is rendered is parsed into the
same sections again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+(.*))?\Z")  # `one_line` takes closing marks off
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)\Z")
# A run of spaces is taken whole, and from its beginning only: models that loop write very long ones.
_CITATION = re.compile(r"(?:(?<![ \t])[ \t]++)?\[(\d{1,4}(?:[ \t]*+,[ \t]*+\d{1,4})*+)\](?![(\[:])")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MARKS = " \t\n#*+-=>_`|~"  # of rules, lists, quotes, tables and code; without words they say nothing
_DEEPEST = 6
_LONGEST_HEADING = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page.

    Args:
        section_id: its name within the page; it is never used for another section of it.
        heading: one line without marks; empty for words before the first heading.
        level: how deep the heading is, 1 to 6.
        text: Markdown, as `settled` makes it.
        fact_ids: the memories that it rests on, as far as it cites them.
    """

    section_id: str
    heading: str = ""
    level: int = 2
    text: str = ""
    fact_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """A page's words. `next_number` is that of the next new section."""

    sections: tuple[Section, ...] = ()
    next_number: int = 1

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing: there are headings at most, and marks of Markdown beneath."""
        return not any(section.text.strip(_MARKS) for section in self.sections)

    def section(self, section_id: str) -> Section | None:
        """The section of that id."""
        return next((section for section in self.sections if section.section_id == section_id), None)

    def added(self, section: Section, at: int) -> PageText:
        """With a further section at a place; it gets a fresh id."""
        made = replace(section, section_id=f"s{self.next_number}")
        sections = (*self.sections[:at], made, *self.sections[at:])
        return PageText(sections=sections, next_number=self.next_number + 1)

    def with_section(self, changed: Section) -> PageText:
        """With another section in the place of the one of its id."""
        sections = tuple(changed if one.section_id == changed.section_id else one for one in self.sections)
        return replace(self, sections=sections)

    def without(self, section_ids: Collection[str]) -> PageText:
        """Without these sections."""
        return replace(self, sections=tuple(one for one in self.sections if one.section_id not in section_ids))


def parsed(markdown: str, *, first_number: int = 1) -> PageText:
    """A page from Markdown.

    Example:
        >>> [section.heading for section in parsed("Hello.\\n\\n## Food\\n\\nShe likes tea.").sections]
        ['', 'Food']
    """
    pieces: list[tuple[str, int, list[str]]] = [("", 2, [])]
    for line, is_code in _lines(markdown):
        match = None if is_code else _HEADING.match(line)
        if match is None:
            pieces[-1][2].append(line)
        else:
            pieces.append((one_line(match[2] or ""), len(match[1]), []))
    page = PageText(next_number=first_number)
    for heading, level, lines in pieces:
        text = settled("\n".join(lines))
        if heading or text:
            # Words under a heading without words belong to nothing that has a name.
            page = page.added(Section(section_id="", heading=heading, level=level, text=text), len(page.sections))
    return joined(page)


def joined(page: PageText) -> PageText:
    """Sections without a heading that follow another one become a part of it: rendered they could not be told apart."""
    sections: list[Section] = []
    for section in page.sections:
        if sections and not section.heading:
            before = sections.pop()
            section = replace(before, text=settled(f"{before.text}\n\n{section.text}"))
        sections.append(section)
    return replace(page, sections=tuple(sections))


def rendered(page: PageText) -> str:
    """A page as Markdown: headings and words with an empty line between.

    Example:
        >>> rendered(parsed("# Ann\\nLikes tea."))
        '# Ann\\n\\nLikes tea.'
    """
    blocks = []
    for section in page.sections:
        if section.heading:
            blocks.append(f"{'#' * section.level} {section.heading}")
        if section.text:
            blocks.append(section.text)
    return "\n\n".join(blocks)


def settled(text: str) -> str:
    """Words as a section holds them: headings made bold lines, an open code fence closed, no blank ends."""
    lines: list[str] = []
    fence = ""
    for line, is_code in _lines(text):
        match = _HEADING.match(line)
        if is_code or match is None:
            lines.append(line.rstrip() if not is_code else line)
        elif heading := one_line(match[2] or ""):
            lines.append(f"**{heading}**")
        opened = _FENCE.match(line)
        fence = _fence_after(fence, opened)
    said = [at for at, line in enumerate(lines) if line.strip()]
    lines = lines[said[0] : said[-1] + 1] if said else []
    if fence:
        lines.append(fence)
    return "\n".join(lines)


def one_line(text: str) -> str:
    """Words as a heading holds them: one line without marks at its ends, not longer than a heading may be."""
    words = " ".join(text.split())[:_LONGEST_HEADING]
    while True:
        bare = words.strip().strip("#").strip()
        if bare == words:
            return words
        words = bare


def level_of(value: Any) -> int:
    """A heading's level, brought into its bounds; 2 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 2
    return min(max(value, 1), _DEEPEST)


def cited(page: PageText, fact_ids: Sequence[str]) -> PageText:
    """The page with the numbers of its citations (``[2]``) taken out of the words and kept as ids.

    Args:
        fact_ids: what the numbers stand for: 1 is the first. Numbers beyond stay in the words.
    """

    def settle(section: Section) -> Section:
        found: list[str] = list(section.fact_ids)
        heading = one_line(_without_numbers(section.heading, fact_ids, found))
        text = settled(_without_numbers(section.text, fact_ids, found))
        return replace(section, heading=heading, text=text, fact_ids=tuple(dict.fromkeys(found)))

    sections = tuple(settle(section) for section in page.sections)
    return joined(replace(page, sections=tuple(one for one in sections if one.heading or one.text)))


def _without_numbers(text: str, fact_ids: Sequence[str], found: list[str]) -> str:
    def drop(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[1].split(",")]
        if not all(1 <= number <= len(fact_ids) for number in numbers):
            return match[0]
        found.extend(fact_ids[number - 1] for number in numbers)
        return ""

    return "\n".join(line if is_code else _CITATION.sub(drop, line) for line, is_code in _lines(text))


def attributed(
    page: PageText, terms_of: Callable[[Section], Collection[str]], memories: Mapping[str, Collection[str]]
) -> PageText:
    """The page with, for each section that cites nothing, the memories that it shares a telling term with.

    A term tells something when at most a third of the memories have it, and always when one has it. A section that
    shares none goes on citing nothing.

    Args:
        memories: the index terms of each memory that the writer was shown.
    """
    counts: dict[str, int] = {}
    for terms in memories.values():
        for term in set(terms):
            counts[term] = counts.get(term, 0) + 1
    most = max(1, len(memories) // 3)

    def settle(section: Section) -> Section:
        if section.fact_ids:
            return section
        telling = {term for term in terms_of(section) if 0 < counts.get(term, 0) <= most}
        found = tuple(fact_id for fact_id, terms in memories.items() if not telling.isdisjoint(terms))
        return replace(section, fact_ids=found)

    return replace(page, sections=tuple(settle(section) for section in page.sections))


def withdrawn(
    page: PageText,
    gone: Mapping[str, Iterable[str]],
    *,
    terms_of: Callable[[Section], Collection[str]],
    kept_terms: Callable[[Section], Collection[str]],
) -> PageText:
    """The page without what may hold words of memories that are gone.

    A section goes when it cites one of them, when it cites nothing, and when it holds a term of one of them that is in
    none of the memories it cites.

    Args:
        gone: the memories and their index terms.
        terms_of: the index terms of a section.
        kept_terms: the index terms of the memories that a section cites and that stay.
    """
    terms = {term for some in gone.values() for term in some}
    cut = set()
    for section in page.sections:
        rests_on_it = not section.fact_ids or not gone.keys().isdisjoint(section.fact_ids)
        shared = terms.intersection(terms_of(section))
        if rests_on_it or (shared and not shared <= set(kept_terms(section))):
            cut.add(section.section_id)
    return joined(page.without(cut))


def page_json(page: PageText) -> dict[str, Any]:
    """As plain values, for a store."""
    sections = [
        {
            "id": section.section_id,
            "heading": section.heading,
            "level": section.level,
            "text": section.text,
            "facts": list(section.fact_ids),
        }
        for section in page.sections
    ]
    return {"sections": sections, "next": page.next_number}


def page_from_json(value: Mapping[str, Any]) -> PageText:
    """What `page_json` made. Raises KeyError, TypeError or ValueError for what it did not make."""
    sections = tuple(
        Section(
            section_id=str(one["id"]),
            heading=str(one["heading"]),
            level=int(one["level"]),
            text=str(one["text"]),
            fact_ids=tuple(map(str, one["facts"])),
        )
        for one in value["sections"]
    )
    return PageText(sections=sections, next_number=int(value["next"]))


def _fence_after(fence: str, match: re.Match[str] | None) -> str:
    """The fence that is open after a line, empty for none."""
    if match is None:
        return fence
    marks, rest = match[1], match[2]
    if not fence:
        return "" if marks[0] == "`" and "`" in rest else marks
    closes = marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip()
    return "" if closes else fence


def _lines(text: str) -> list[tuple[str, bool]]:
    """The lines of a text, each with whether it is code in a fence (the fences themselves are)."""
    found, fence = [], ""
    for line in _LINE_ENDS.sub("\n", text).split("\n"):
        after = _fence_after(fence, _FENCE.match(line))
        found.append((line, bool(fence or after)))
        fence = after
    return found
