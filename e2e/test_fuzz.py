"""Random contents and queries against a real server: nothing breaks it, nothing crosses banks, memory stays bounded.

The short run is for every change; the long one (`-m slow`) sends 20,000.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from hindsight_server.testing.process import ServerProcess

BANKS = ("fuzz-a", "fuzz-b", "fuzz/ç 银行")
DOCUMENTS = 150  # a bank; they are written again and again, so that what it holds stays about the same
ALLOWED = {200, 400, 413, 422}
CACHE_BYTES = 4 * 2**20  # of banks in memory; the three take more, so that its bound is passed early
GROWTH_MB = 5  # by which the last quarter may exceed the third; 2.2 were measured

_RANGES = (
    *((0x20, 0x7E), (0x00, 0x1F), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x4FF), (0x590, 0x6FF), (0x900, 0xDFF)),
    *((0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x2190, 0x2BFF), (0x3040, 0x30FF), (0x3400, 0x9FFF)),
    *((0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xF8FF), (0xFE00, 0xFEFF), (0xFFF0, 0xFFFF), (0x1F300, 0x1FAFF)),
    *((0x20000, 0x2A6DF), (0xE0000, 0xE007F), (0x10FFF0, 0x10FFFF)),
)
_SYNTAX = (
    *('"', "'", "*", "^", "~", "(", ")", " AND ", " OR ", " NOT ", " NEAR(a b, 5)", "col:", "-", "--", ";"),
    *("{", "}", "["),
    *("%", "_", "\\", "\\u0000", "\x00", "/", "|", "&", "<", ">", "$1", "?1", "@a", ":b", "'; DROP TABLE facts; --"),
    *('"unbalanced', "((((", "]]>", "<script>", "${x}", "{{x}}", "\r\n\r\n", "\u202e", "\u200d", "\ufeff", "..", "%00"),
)
_WORDS = (
    *("Ann", "Boris", "canoe", "yesterday", "last spring", "before her wedding", "3 May 2024", "in 0000"),
    *("每天", "上周一", "去年年底", "東京", "자전거", "ลูกค้า", "shopify-prod-key-2024", "a@b.c", "10.0.0.1"),
    *("99:99", "Feb 30", "document d1", "session:x", "9" * 30, "1e999", "-0", "NaN", "null", "true", "1/0"),
    *("٣ مايو", "½", "e\u0301", "ﬁ", "İ", "ß", "100000 years ago", "in 10**9 days", "2024-02-30T25:61:61Z"),
    *("31 December 9999", "year 275760", "0001-01-01"),
)


def _piece(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(_WORDS)
    if kind < 0.6:
        return rng.choice(_SYNTAX)
    low, high = rng.choice(_RANGES)
    return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 12)))


def _text(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(("", " ", "\n", "\x00", "\ud800"))
    if kind < 0.05:
        return _piece(rng) * rng.randint(1000, 20_000)
    if kind < 0.08:
        return json.dumps([{"role": _piece(rng), "text": _piece(rng), "timestamp": _piece(rng)} for _ in range(5)])
    return rng.choice((" ", "", "\n", ", ")).join(_piece(rng) for _ in range(rng.randint(1, 25)))


def _groups(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    kind = rng.random() if depth < 4 else 0.0
    if kind < 0.5:
        match = rng.choice(("any", "all", "any_strict", "all_strict", "exact", "odd"))
        return {"tags": [_tag(rng)], "match": match, "resolve": rng.choice(("exact", "fuzzy"))}
    if kind < 0.7:
        return {"not": _groups(rng, depth + 1)}
    return {rng.choice(("and", "or")): [_groups(rng, depth + 1) for _ in range(rng.randint(0, 3))]}


def _tag(rng: random.Random) -> str:
    return rng.choice(("user:ann", "user:anne", "x", "标签", _piece(rng)))


def _moment(rng: random.Random) -> str:
    return rng.choice(("2024-05-01T00:00:00Z", "0001-01-01", "9999-12-31T23:59:59+14:00", "soon", "", _piece(rng)))


_OPTIONS: dict[str, Callable[[random.Random], Any]] = {
    "budget": lambda rng: rng.choice(("low", "mid", "high", None, "odd")),
    "max_tokens": lambda rng: rng.choice((0, 1, 50, 4096, 10**6, 10**30, -1, None)),
    "types": lambda rng: rng.choice((["world"], ["observation", "experience"], [], ["opinion"], ["odd"], None)),
    "trace": lambda rng: rng.choice((True, False, None)),
    "query_timestamp": _moment,
    "tags": lambda rng: [_tag(rng) for _ in range(rng.randint(0, 3))],
    "tags_match": lambda rng: rng.choice(("any", "all", "any_strict", "all_strict", "exact")),
    "tag_groups": lambda rng: [_groups(rng) for _ in range(rng.randint(0, 3))],
    "prefer_observations": lambda rng: rng.choice((True, False, None)),
    "min_scores": lambda rng: {
        rng.choice(("semantic", "keyword", "reranker", "final")): rng.choice((0, 0.5, -1e308, 1e308, None))
    },
    "temporal_window": lambda rng: {"start": _moment(rng), "end": _moment(rng)},
    "time_filter": lambda rng: {
        "start": _moment(rng),
        "end": _moment(rng),
        "on": rng.choice(("occurred", "mentioned")),
    },
    "include": lambda rng: {
        rng.choice(("entities", "chunks", "source_facts")): rng.choice(({}, None, {"max_tokens": rng.choice((0, 9))}))
    },
}


class Client:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def post(self, bank: str, path: str, body: Any) -> tuple[int, Any]:
        url = f"/v1/default/banks/{quote(bank, safe='')}{path}"
        self._connection.request("POST", url, json.dumps(body).encode(), {"content-type": "application/json"})
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


def _retain(rng: random.Random, client: Client, number: int) -> int:
    bank = BANKS[number % len(BANKS)]
    owner = BANKS.index(bank)
    items = [
        {
            "content": _text(rng),
            "document_id": f"{owner}:{rng.randrange(DOCUMENTS)}",
            "tags": [_tag(rng) for _ in range(rng.randint(0, 2))],
            "context": rng.choice((None, "chat", _piece(rng))),
            **({"timestamp": _moment(rng)} if rng.random() < 0.2 else {}),
            **({"entities": [{"text": _piece(rng)}]} if rng.random() < 0.2 else {}),
        }
        for _ in range(rng.choice((1, 1, 1, 3)))
    ]
    status, answer = client.post(bank, "/memories", {"items": items})
    assert status in ALLOWED, (status, answer, items)
    return status


def _recall(rng: random.Random, client: Client, number: int) -> int:
    bank = BANKS[number % len(BANKS)]
    owner = BANKS.index(bank)
    names = rng.sample(sorted(_OPTIONS), rng.choice((0, 0, 1, 2, 4)))
    body = {"query": _text(rng), **{name: _OPTIONS[name](rng) for name in names}}
    status, answer = client.post(bank, "/memories/recall", body)
    assert status in ALLOWED, (status, answer, body)
    if status == 200:
        facts = [*answer["results"], *(answer["source_facts"] or {}).values()]
        assert all(fact["document_id"].startswith(f"{owner}:") for fact in facts), (facts, body)
        assert (answer["trace"] or {"degraded": []})["degraded"] == [], (answer["trace"], body)
    return status


def _megabytes(pid: int) -> float:
    pages = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in pages if line.startswith("Pss:")) / 1024


def _fuzz(server: ServerProcess, count: int, seed: int) -> Iterator[int]:
    """The status of each answer."""
    rng = random.Random(seed)
    with closing(Client(server.port)) as client:
        for owner, bank in enumerate(BANKS):
            item = {"content": "Ann has a canoe.", "document_id": f"{owner}:0"}
            client.post(bank, "/memories", {"items": [item]})
        for number in range(count):
            yield (_retain if rng.random() < 0.3 else _recall)(rng, client, number)


def test_random_requests_break_nothing(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        statuses = Counter(_fuzz(server, 500, seed=1))
    assert (statuses.total(), statuses[200] > 200) == (500, True)
    assert "Traceback" not in server.log.read_text()


@pytest.mark.slow
def test_twenty_thousand_random_requests_break_nothing_and_memory_stays_bounded(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, environment={"HINDSIGHT_API_RECALL_CACHE_BYTES": str(CACHE_BYTES)}) as server:
        statuses, measured = Counter[int](), []
        for number, status in enumerate(_fuzz(server, 20_000, seed=2), start=1):
            statuses[status] += 1
            if number % 250 == 0:
                measured.append(_megabytes(server.pid))
    print("answers:", dict(statuses), "memory in MB after each thousand:", *map(round, measured[3::4]))
    assert statuses[200] > 10_000
    assert "Traceback" not in server.log.read_text(), "nor is anything passed over in silence"
    # Medians, since a long document takes some megabytes while it is stored. The first half fills what is bounded.
    quarter = len(measured) // 4
    third, last = (statistics.median(measured[at * quarter : (at + 1) * quarter]) for at in (2, 3))
    print(f"third quarter {third:.1f} MB, last {last:.1f} MB")
    assert last - third < GROWTH_MB
