#!/usr/bin/env python3
"""Stores pairs of mentions in a real server and looks which became one entity; see README.md.

python benchmarks/suites/entities.py                          the dev half against a fresh server
python benchmarks/suites/entities.py --misses                 and every pair judged wrong
python benchmarks/suites/entities.py --extra --misses         further pairs for training
python benchmarks/suites/entities.py --half frozen --json     once, when the tuning is done
"""

from __future__ import annotations

import json
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import httpx
from run import more_parser, parsed, server, show_bars
from suite_format import FOLDER, HALVES

BARS = {"precision": 0.99, "recall": 0.90}
PAGE = 500
Same = Literal[True, False, "ambiguous", "either"]
_NO_MARKS = str.maketrans("łŁøØđĐ", "lLoOdD")


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A name and the facts that name it so."""

    name: str
    facts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two mentions. With `ambiguous`, `b` fits `a` and each of `others`, and should stay apart from all of them."""

    id: str
    kind: str
    language: str
    a: Mention
    b: Mention
    same: Same
    why: str
    others: tuple[Mention, ...] = ()
    batch: bool = False


@dataclass(frozen=True, kw_only=True)
class Never:
    """Facts, and names that none of them may bring into the list of entities."""

    id: str
    bank: str
    facts: tuple[str, ...]
    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What became of a pair: `half` is partly one entity and partly two; `unseen`, a mention without any entity."""

    pair: Pair
    merged: bool
    half: bool
    unseen: bool
    found: tuple[frozenset[str], ...]

    @property
    def is_right(self) -> bool:
        """Whether it became what it should; a half merge is never right."""
        if self.half:
            return False
        return self.pair.same == "either" or self.merged == (self.pair.same is True)


def load(half: str, folder: Path = FOLDER, name: str = "entities") -> tuple[list[Pair], list[Never]]:
    """The pairs, and the names that may never become entities, of ``dev``, ``frozen`` or ``both``."""
    pairs, never = [], []
    for part in HALVES if half == "both" else (half,):
        data = json.loads((folder / f"{name}.{part}.json").read_text(encoding="utf-8"))
        for one in data["pairs"]:
            others = tuple(_mention(other) for other in one.get("others", []))
            pairs.append(Pair(**{**one, "a": _mention(one["a"]), "b": _mention(one["b"]), "others": others}))
        for one in data["never"]:
            never.append(Never(**{**one, "facts": tuple(one["facts"]), "names": tuple(one["names"])}))
    return pairs, never


def words(name: str) -> tuple[str, ...]:
    """The words of a name without case, accents, emoji and signs, to find which entity a mention became."""
    plain = unicodedata.normalize("NFKD", name.translate(_NO_MARKS)).casefold()
    kept = "".join(one if one.isalnum() else "" if unicodedata.combining(one) or one in "'’" else " " for one in plain)
    return tuple(kept.split())


def became(mention: str, other: str, entities: Iterable[str]) -> str | None:
    """The one of a fact's entities that a mention became.

    Its own name, the other name, or else the one that holds its name or is held by it with the most in common.
    """
    listed = list(entities)
    for exact in (mention, other):
        for spelled in (lambda entity: entity, words):
            for entity in listed:
                if spelled(entity) == spelled(exact) and words(exact):
                    return entity
    mine = words(mention)
    partly = [entity for entity in listed if words(entity) and _holds(mine, words(entity))]
    return max(partly, key=lambda entity: len("".join(words(entity))), default=None)


class Bank:
    """A bank that lives as long as one pair."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self._client = client
        self._path = f"/v1/default/banks/{quote(name, safe='')}"

    def retain(self, facts: dict[str, str]) -> None:
        """One call with these documents."""
        items = [{"content": text, "document_id": name} for name, text in facts.items()]
        self._client.post(f"{self._path}/memories", json={"items": items}).raise_for_status()

    def names(self) -> Counter[str]:
        """How many entities bear each name."""
        page = self._client.get(f"{self._path}/entities", params={"limit": PAGE}).raise_for_status().json()
        return Counter(one["canonical_name"] for one in page["items"])

    def memories(self) -> list[dict[str, Any]]:
        """Every memory, with the names of its entities."""
        page = self._client.get(f"{self._path}/memories/list", params={"limit": PAGE}).raise_for_status().json()
        items: list[dict[str, Any]] = page["items"]
        return items

    def delete(self) -> None:
        """Remove it."""
        self._client.delete(self._path).raise_for_status()


def judge(client: httpx.Client, pair: Pair, run: str) -> Judged:
    """Store the facts of a pair in a bank of its own and see what its mentions became."""
    bank = Bank(client, f"suite-entities-{run}-{pair.id}")
    sides = [pair.a, *pair.others, pair.b]
    told = [{f"{side}-{at}": text for at, text in enumerate(one.facts)} for side, one in enumerate(sides)]
    for facts in [{name: text for one in told for name, text in one.items()}] if pair.batch else told:
        bank.retain(facts)
    names, memories = bank.names(), bank.memories()
    bank.delete()
    found = []
    for side, mention in enumerate(sides):
        other = pair.b if mention is not pair.b else pair.a
        mine = [one for one in memories if str(one["document_id"]).startswith(f"{side}-")]
        naming = [one for one in mine if mention.name.casefold() in one["text"].casefold()] or mine
        entities = [became(mention.name, other.name, _listed(one, names)) for one in naming]
        found.append(frozenset(one for one in entities if one))
    return _verdict(pair, found, names)


def violations(client: httpx.Client, one: Never, run: str) -> list[str]:
    """The forbidden names that became entities."""
    bank = Bank(client, f"{one.bank}::{run}::{one.id}" if one.bank == "plain" else one.bank)
    bank.retain({f"n-{at}": text for at, text in enumerate(one.facts)})
    listed = {name.casefold() for name in bank.names()}
    bank.delete()
    return [name for name in one.names if name.casefold() in listed]


def make_report(judged: Sequence[Judged], broken: Sequence[str], half: str) -> dict[str, Any]:
    """The bars, what was merged wrongly or only by half, and the share that is right by kind."""
    merged = [one for one in judged if one.merged and one.pair.same != "either"]
    right = sum(one.pair.same is True for one in merged)
    same = [one for one in judged if one.pair.same is True]
    figures = {"precision": right / len(merged) if merged else 1.0, "recall": right / len(same)}
    kinds: dict[str, list[Judged]] = {}
    for one in judged:
        kinds.setdefault(one.pair.kind, []).append(one)
    return {
        "suite": "entities",
        "half": half,
        "pairs": len(judged),
        "bars": {
            name: {"bar": bar, "is": round(figures[name], 4), "met": figures[name] >= bar} for name, bar in BARS.items()
        },
        "merged": len(merged),
        "merged_rightly": right,
        "half_merged": sum(one.half for one in judged),
        "unseen": sum(one.unseen for one in judged),
        "forbidden_names": len(broken),
        "right_by_kind": {
            kind: {"pairs": len(group), "right": round(sum(one.is_right for one in group) / len(group), 4)}
            for kind, group in kinds.items()
        },
    }


def show(report: dict[str, Any]) -> None:
    """The report as a table."""
    for kind, row in report["right_by_kind"].items():
        print(f"{kind:10} {row['pairs']:4} pairs, right {row['right']:.3f}")
    print(f"merged {report['merged']}, rightly {report['merged_rightly']}; by half {report['half_merged']}")
    print(f"pairs with a mention that no entity stands for: {report['unseen']}")
    print(f"names that may never be entities, and are: {report['forbidden_names']}")
    show_bars(report)


def show_misses(judged: Sequence[Judged], broken: Sequence[str]) -> None:
    """Every pair of the dev half that became what it should not."""
    for one in judged:
        if not one.is_right:
            became_what = " | ".join(", ".join(sorted(names)) or "nothing" for names in one.found)
            print(f"{one.pair.id} {one.pair.a.name} / {one.pair.b.name}: same {one.pair.same}; became {became_what}")
    for line in broken:
        print(line)


def main() -> None:
    arguments = parsed(more_parser(__doc__, misses="what was judged wrong"))
    pairs, never = load(arguments.half, name="entities_extra" if arguments.extra else "entities")
    run = str(int(time.time()))
    with server(arguments.url, arguments.embeddings) as url, httpx.Client(base_url=url, timeout=300.0) as client:
        judged = [judge(client, pair, run) for pair in pairs]
        broken = [f"{one.id}: {name!r} is an entity" for one in never for name in violations(client, one, run)]
    report = make_report(judged, broken, arguments.half)
    if arguments.json:
        print(json.dumps(report, indent=1))
        return
    if arguments.misses:
        show_misses(judged, broken)
    show(report)


def _mention(one: dict[str, Any]) -> Mention:
    return Mention(name=one["name"], facts=tuple(one["facts"]))


def _listed(memory: dict[str, Any], names: Counter[str]) -> list[str]:
    """A memory's entities: the API lists them as one text, and a name may hold its comma."""
    text = f", {memory['entities'] or ''}, "
    return [name for name in names if f", {name}, " in text]


def _verdict(pair: Pair, found: Sequence[frozenset[str]], names: Counter[str]) -> Judged:
    """From the entities that each side became; a name that two entities bear says nothing of their being one."""
    first, last = found[0], found[-1]
    shared = {name for side in found[:-1] for name in side & last if names[name] == 1}
    sides = [side for side in found if side]
    is_half = bool(shared) and pair.same in (True, "either") and len(first | last) > 1
    return Judged(
        pair=pair,
        merged=bool(shared) and not is_half,
        half=is_half,
        unseen=len(sides) < len(found),
        found=tuple(found),
    )


def _holds(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether all words of one are in the other, or, where a script has no spaces, one text in the other."""
    if set(one) <= set(other) or set(other) <= set(one):
        return True
    first, second = "".join(one), "".join(other)
    return not (first + second).isascii() and (first in second or second in first)


if __name__ == "__main__":
    main()
