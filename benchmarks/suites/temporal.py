#!/usr/bin/env python3
"""Asks a real server questions with times in them: is the window right, and is the first hit inside it? See README.md.

python benchmarks/suites/temporal.py                          the dev half against a fresh server
python benchmarks/suites/temporal.py --misses                 and every window that is not right
python benchmarks/suites/temporal.py --extra --misses         further questions for training
python benchmarks/suites/temporal.py --half frozen --json     once, when the tuning is done
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import httpx
from run import batches, more_parser, parsed, server, show_bars
from suite_format import FOLDER, HALVES, Evidence, load_suite, normalised

BARS = {"window_right": 0.95, "first_hit_inside": 0.90}
_MIDNIGHT = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class Window:
    """Days, both included; None is open."""

    start: date | None
    end: date | None


@dataclass(frozen=True, kw_only=True)
class TimedQuestion:
    """A question, the moment it is asked at, what its time phrase means, and what answers it."""

    id: str
    question: str
    kind: str
    language: str
    query_timestamp: str
    window: Window
    evidence: tuple[Evidence, ...]
    tolerance_days: int = 0

    @property
    def asked(self) -> datetime:
        """The moment, in the user's zone."""
        return datetime.fromisoformat(self.query_timestamp)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What came back for one question."""

    question: TimedQuestion
    windows: tuple[Window, ...]
    window_right: bool
    first_hit_inside: bool
    evidence_in_3: bool


Happened = dict[str, Window]


def load_happened(folder: Path = FOLDER, name: str = "temporal") -> Happened:
    """The true days of every document, which the server is not told."""
    data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return {name: _window(*days) for name, days in data["happened"].items()}


def load_timed(half: str, folder: Path = FOLDER, name: str = "temporal") -> list[TimedQuestion]:
    """The questions of ``dev``, ``frozen`` or ``both``."""
    found = []
    for part in HALVES if half == "both" else (half,):
        data = json.loads((folder / f"{name}.{part}.json").read_text(encoding="utf-8"))
        for one in data["questions"]:
            window = _window(one["window"]["start"], one["window"]["end"])
            evidence = tuple(Evidence(**pointer) for pointer in one["evidence"])
            found.append(TimedQuestion(**{**one, "window": window, "evidence": evidence}))
    return found


def windows_of(trace: dict[str, Any] | None, zone: tzinfo | None) -> tuple[Window, ...]:
    """The windows that recall understood, as days in the user's zone."""
    stated = (trace or {}).get("time_windows") or (trace or {}).get("windows") or []
    return tuple(_days(one.get("start"), one.get("end"), zone) for one in stated)


def window_is_right(question: TimedQuestion, windows: Sequence[Window], told: Window) -> bool:
    """One window, both of whose days are the expected ones, or within the question's tolerance of them.

    An open side may be open or reach as far as the facts do (`told`), or for the end to the day of the question. A
    window that is not over when the question is asked may end on that day.
    """
    if len(windows) != 1:
        return False
    got, want = windows[0], question.window
    tolerance, today = timedelta(days=question.tolerance_days), question.asked.date()
    if want.start is None:
        start = got.start is None or (told.start is not None and got.start <= told.start)
    else:
        start = got.start is not None and abs(got.start - want.start) <= tolerance
    if want.end is None:
        end = got.end is None or got.end >= today - timedelta(days=1)
    elif got.end is None:
        end = False
    else:
        end = abs(got.end - want.end) <= tolerance or (want.end > today and got.end == today)
    return start and end


def overlaps(one: Window, other: Window, tolerance: timedelta) -> bool:
    """Whether two windows share a day, when each is as wide again as the tolerance."""
    return (one.end is None or other.start is None or other.start <= one.end + tolerance) and (
        one.start is None or other.end is None or one.start <= other.end + tolerance
    )


def judge(question: TimedQuestion, answer: dict[str, Any], happened: Happened) -> Judged:
    """What an answer of recall is worth."""
    results = answer["results"]
    windows = windows_of(answer.get("trace"), question.asked.tzinfo)
    told = Window(
        start=min(days.start for days in happened.values() if days.start),
        end=max(days.end for days in happened.values() if days.end),
    )
    first = happened.get(results[0]["document_id"]) if results else None
    tolerance = timedelta(days=question.tolerance_days)
    return Judged(
        question=question,
        windows=windows,
        window_right=window_is_right(question, windows, told),
        first_hit_inside=first is not None and overlaps(question.window, first, tolerance),
        evidence_in_3=any(
            one.document_id == result["document_id"] and normalised(one.snippet) in normalised(result["text"])
            for one in question.evidence
            for result in results[:3]
        ),
    )


def ask_all(url: str, questions: Sequence[TimedQuestion], name: str = "temporal") -> list[Judged]:
    """Store the suite in a bank of its own and ask every question."""
    happened = load_happened(name=name)
    bank = f"/v1/default/banks/suite-temporal-{int(time.time())}"
    with httpx.Client(base_url=url, timeout=300.0) as client:
        for batch in batches(load_suite(name).items):
            client.post(f"{bank}/memories", json={"items": batch}).raise_for_status()
        judged = []
        for one in questions:
            body = {"query": one.question, "query_timestamp": one.query_timestamp, "trace": True}
            answer = client.post(f"{bank}/memories/recall", json=body).raise_for_status().json()
            judged.append(judge(one, answer, happened))
        client.delete(bank).raise_for_status()
    return judged


def rates(judged: Sequence[Judged]) -> dict[str, float]:
    """The shares of a group of questions."""
    names = ("window_right", "first_hit_inside", "evidence_in_3")
    return {"questions": len(judged)} | {
        name: round(sum(getattr(one, name) for one in judged) / len(judged), 4) for name in names
    }


def make_report(judged: Sequence[Judged], half: str) -> dict[str, Any]:
    """The bars, and the shares by language and kind."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        for name in ("all", one.question.language, one.question.kind):
            groups.setdefault(name, []).append(one)
    total = rates(judged)
    return {
        "suite": "temporal",
        "half": half,
        "bars": {name: {"bar": bar, "is": total[name], "met": total[name] >= bar} for name, bar in BARS.items()},
        "no_window": sum(not one.windows for one in judged),
        "scores": {name: rates(group) for name, group in groups.items()},
    }


def show(report: dict[str, Any]) -> None:
    """The report as a table."""
    print(f"{'kind':12} {'n':>4} {'window':>8} {'first in':>8} {'ev. in 3':>8}")
    for name, row in report["scores"].items():
        figures = " ".join(f"{row[one]:8.3f}" for one in ("window_right", "first_hit_inside", "evidence_in_3"))
        print(f"{name:12} {row['questions']:4} {figures}")
    print(f"questions without any window: {report['no_window']}")
    show_bars(report)


def show_misses(judged: Sequence[Judged]) -> None:
    """Every wrong window of the dev half: what was expected, what came."""
    for one in judged:
        if not one.window_right:
            want, asked = one.question.window, one.question
            got = ", ".join(f"{window.start}..{window.end}" for window in one.windows) or "none"
            print(f"{asked.id} {asked.query_timestamp} {asked.question}\n  {want.start}..{want.end}, not {got}")


def main() -> None:
    arguments = parsed(more_parser(__doc__, misses="the wrong windows"))
    name = "temporal_extra" if arguments.extra else "temporal"
    with server(arguments.url, arguments.embeddings) as url:
        judged = ask_all(url, load_timed(arguments.half, name=name), name)
    report = make_report(judged, arguments.half)
    if arguments.json:
        print(json.dumps(report, indent=1))
        return
    if arguments.misses:
        show_misses(judged)
    show(report)


def _window(start: str | None, end: str | None) -> Window:
    return Window(start=date.fromisoformat(start) if start else None, end=date.fromisoformat(end) if end else None)


def _days(start: str | None, end: str | None, zone: tzinfo | None) -> Window:
    """ISO days as they are; moments in the user's zone, where an end at midnight belongs to the day before."""
    last = _moment(end, zone)
    if isinstance(last, datetime):
        first = _moment(start, zone)
        is_exclusive = last.time() == datetime.min.time() and last != first
        last = (last - _MIDNIGHT if is_exclusive else last).date()
    first = _moment(start, zone)
    return Window(start=first.date() if isinstance(first, datetime) else first, end=last)


def _moment(text: str | None, zone: tzinfo | None) -> date | None:
    if text is None or len(text) == len("2024-02-29"):
        return date.fromisoformat(text) if text else None
    moment = datetime.fromisoformat(text)
    return moment.astimezone(zone) if moment.tzinfo and zone else moment


if __name__ == "__main__":
    main()
