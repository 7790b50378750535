"""Typed edits of a page: each is checked on its own, and one that can't be trusted is skipped with its reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hindsight_server.domain.grounding import Ordinary, content_words
from hindsight_server.domain.pages.grounds import Grounds, no_word
from hindsight_server.domain.pages.text import PageText, Section, level_of, one_line, rendered, settled

KINDS = ("add_section", "append", "replace_section", "set_heading", "remove_section")
MOST_EDITS = 40
_LEAST_KEPT = 0.5  # of the words of content of a section that is replaced
_ENDED = re.compile(
    r"\b(?:no longer|not|never|no more|any ?more|stop(?:s|ped)?|quit|end(?:s|ed)?|cancel(?:s|led|ed)?|instead|"
    r"since|now|moved|left|sold|lost|chang(?:e[sd]?|ing)|switch(?:es|ed)?|replac(?:e[sd]?|ing)|until|formerly|used to|"
    r"gave up|given up|over|wrong|false|mistake(?:n)?|died|closed|broke|divorced|retired|\w+n['’]t)\b"
    r"|不再|没有|不是|停止|结束|取消|改为|改成|换成|搬到|离开|卖掉|错了|以前|现在|已经不",
    re.IGNORECASE,
)

EDITS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["edits"],
    "additionalProperties": False,
    "properties": {
        "edits": {
            "type": "array",
            "maxItems": MOST_EDITS,
            "items": {
                "type": "object",
                "required": ["kind", "facts"],
                "additionalProperties": False,
                "properties": {
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "section_id": {"type": ["string", "null"]},
                    "heading": {"type": ["string", "null"]},
                    "level": {"type": ["integer", "null"]},
                    "text": {"type": ["string", "null"]},
                    "facts": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}
"""What a model answers: edits in the order in which they are done. `facts` are the numbers of the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A memory that an edit may rest on: its words, with its dates as they may be written."""

    fact_id: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRules:
    """What edits are held to.

    Args:
        proofs: the memories, numbered from 1.
        tokens: counts tokens.
        max_tokens: a page of more is not made longer.
        ordinary: whether a lower-case word is an ordinary one, which a capital by custom makes no name.
    """

    proofs: Sequence[Proof]
    tokens: Callable[[str], int]
    max_tokens: int
    ordinary: Ordinary = no_word

    def grounds(self, proofs: Sequence[Proof], before: str) -> Grounds:
        """What an edit that cites these may say."""
        others = [one.words for one in self.proofs]
        return Grounds([*(one.words for one in proofs), before], others=others, ordinary=self.ordinary)


@dataclass(slots=True)
class Edited:
    """A page after edits. Applied and skipped ones are JSON-able; a skipped one has a ``reason``.

    `reasons` counts those by name, without words of the page.
    """

    page: PageText
    applied: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)


class _Refused(Exception):
    """An edit is not done; the text says why, and `reason` is the name under which that is counted."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason


def edited(page: PageText, edits: Sequence[Any], rules: EditRules) -> Edited:
    """A page with the edits done that pass the rules, one after another.

    An edit must name a kind and sections that there are, must cite proofs of the list, may state no number and no name
    that is neither in its proofs nor in the section before, must share a word with its proofs, and may not make the
    page longer than allowed. What takes words away (a removal, or a replacement that keeps less than half of them) must
    cite a memory that says that something ended or changed. All edits together remove at most half of the sections.

    Args:
        edits: what a model answered, of any shape.
    """
    done = Edited(page)
    may_remove = len(page.sections) // 2
    for edit in list(edits)[:MOST_EDITS]:
        shown = _shown(edit)
        try:
            if shown.get("kind") == "remove_section" and may_remove < 1:
                raise _Refused("too_much", "it would remove more than half of the page; a full refresh may do that")
            changed = _changed(done.page, edit, rules, page)
        except _Refused as refusal:
            done.skipped.append({**shown, "reason": str(refusal)})
            done.reasons[refusal.reason] += 1
            continue
        may_remove -= shown["kind"] == "remove_section"
        done.page = changed
        done.applied.append(shown)
    for edit in list(edits)[MOST_EDITS:]:
        done.skipped.append({**_shown(edit), "reason": f"only {MOST_EDITS} edits are done at once"})
        done.reasons["too_many"] += 1
    return done


def _changed(page: PageText, edit: Any, rules: EditRules, begun: PageText) -> PageText:
    if not isinstance(edit, Mapping):
        raise _Refused("shape", "it is no object")
    kind = edit.get("kind")
    if kind not in KINDS:
        raise _Refused("shape", "there is no such kind of edit")
    if kind == "add_section":
        changed = _added(page, edit, rules)
    else:
        section = page.section(str(edit.get("section_id")))
        if section is None:
            raise _Refused("section", "there is no section of that id")
        changed = _on_section(page, section, edit, rules, begun.section(section.section_id) or section)
    if rules.tokens(rendered(changed)) > max(rules.max_tokens, rules.tokens(rendered(page))):
        raise _Refused("too_long", "the page would be longer than its max_tokens")
    return changed


def _added(page: PageText, edit: Mapping[str, Any], rules: EditRules) -> PageText:
    proofs = _proofs(edit.get("facts"), rules)
    heading, text = one_line(_words(edit, "heading")), settled(_words(edit, "text"))
    if not heading or not text:
        raise _Refused("empty", "a new section needs a heading and words")
    _check_grounds(text, heading, rules.grounds(proofs, ""))
    _check_related(f"{heading}\n{text}", proofs)
    at = len(page.sections)
    if edit.get("section_id") is not None:
        before = page.section(str(edit["section_id"]))
        if before is None:
            raise _Refused("section", "there is no section of that id")
        at = page.sections.index(before) + 1
    made = Section(
        section_id="",
        heading=heading,
        level=level_of(edit.get("level")),
        text=text,
        fact_ids=tuple(one.fact_id for one in proofs),
    )
    return page.added(made, at)


def _on_section(
    page: PageText, section: Section, edit: Mapping[str, Any], rules: EditRules, begun: Section
) -> PageText:
    """`begun` is the section before all edits: several of them take away no more than one may."""
    kind, proofs = edit["kind"], _proofs(edit.get("facts"), rules)
    if kind == "remove_section":
        _check_related(f"{section.heading}\n{section.text}", proofs)
        _check_ends(proofs)
        return page.without({section.section_id})
    # What stays of the old words rests on the old proofs, and nobody can tell how much of them stays.
    # A section that cites nothing rests on everything, and goes on doing so.
    rests_on = tuple(dict.fromkeys([*section.fact_ids, *(one.fact_id for one in proofs)])) if section.fact_ids else ()
    grounds = rules.grounds(proofs, f"{section.heading}\n{section.text}")
    if kind == "set_heading":
        heading = one_line(_words(edit, "heading"))
        if not heading:
            raise _Refused("empty", "a heading needs words")
        _check_grounds("", heading, grounds)
        _check_related(f"{heading}\n{section.text}", proofs)
        return page.with_section(replace(section, heading=heading, fact_ids=rests_on))
    text = settled(_words(edit, "text"))
    if not text:
        raise _Refused("empty", "the words are empty; remove_section takes a section away")
    _check_grounds(text, "", grounds)
    _check_related(text, proofs)
    if kind == "replace_section" and _share_kept(begun.text, text) < _LEAST_KEPT:
        _check_ends(proofs)
    if kind == "append":
        text = settled(f"{section.text}\n\n{text}")
    return page.with_section(replace(section, text=text, fact_ids=rests_on))


def _proofs(given: Any, rules: EditRules) -> list[Proof]:
    if not isinstance(given, list) or not given:
        raise _Refused("no_fact", "it cites no memory")
    found = []
    for number in given:
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(rules.proofs):
            raise _Refused("fact", "it cites a memory that was not given")
        found.append(rules.proofs[number - 1])
    return found


def _check_grounds(text: str, heading: str, grounds: Grounds) -> None:
    """Refuses names and numbers from nowhere."""
    missing = grounds.missing(text, heading)
    if missing is not None:
        raise _Refused("ungrounded", f"{missing} is in no memory that it cites")


def _check_ends(proofs: list[Proof]) -> None:
    """Refuses to take words away on the word of memories that do not say that anything ended or changed."""
    if not any(_ENDED.search(one.words) for one in proofs):
        raise _Refused("no_end", "no memory that it cites says that something ended or changed")


def _share_kept(before: str, after: str) -> float:
    words = content_words(before)
    return len(words & content_words(after)) / len(words) if words else 1.0


def _check_related(text: str, proofs: list[Proof]) -> None:
    if not Grounds([one.words for one in proofs]).shares_words(text):
        raise _Refused("words", "its words have nothing in common with the memories that it cites")


def _words(edit: Mapping[str, Any], name: str) -> str:
    value = edit.get(name)
    return value if isinstance(value, str) else ""


def _shown(edit: Any) -> dict[str, Any]:
    """An edit as it is told: its kind and section, never more than a line of its words."""
    if not isinstance(edit, Mapping):
        return {"kind": None}
    names = ("kind", "section_id", "heading", "level", "facts")
    shown = {name: edit[name] for name in names if edit.get(name) is not None}
    return {**shown, "kind": edit.get("kind")}
