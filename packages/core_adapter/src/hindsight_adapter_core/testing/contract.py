"""The contract that every framework's memory tools keep, as a test class to subclass.

Example::

    class TestTools(AdapterContract):
        def adapt(self, **options):
            tools = {tool.name: tool for tool in create_hindsight_tools(**options)}
            return AdapterUnderTest(
                call=lambda name, **arguments: tools[name].invoke(**arguments),
                acall=lambda name, **arguments: tools[name].invoke_async(**arguments),
                dump=lambda: json.dumps([tool.to_dict() for tool in tools.values()]),
            )
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..settings import Deadlines
from .fake_server import FakeHindsight

__all__ = ["AdapterContract", "AdapterUnderTest"]

_KEY = "hsk_contract-secret-4711"


@dataclass(frozen=True, kw_only=True)
class AdapterUnderTest:
    """How the contract reaches an adapter.

    Attributes:
        call: runs a tool by its common name (``retain_memory``, ...) with its argument, in sync code.
        acall: the same, awaited.
        dump: everything the adapter can be saved as, in one string.
    """

    call: Callable[..., str]
    acall: Callable[..., Awaitable[str]]
    dump: Callable[[], str]


class AdapterContract:
    """Subclass it, implement :meth:`adapt`, and let pytest collect it. No test may be overridden away."""

    def adapt(self, **options: Any) -> AdapterUnderTest:
        """Build the tools with these keyword arguments (``bank_id``, ``hindsight_api_url``, ``deadlines``, ...)."""
        raise NotImplementedError

    @contextmanager
    def serving(self, **options: Any) -> Iterator[tuple[FakeHindsight, AdapterUnderTest]]:
        """A fake server, and tools that talk to it as bank ``contract``."""
        with FakeHindsight() as server:
            yield server, self.adapt(**{"bank_id": "contract", "hindsight_api_url": server.url, **options})

    def test_store_search_and_reason(self) -> None:
        with self.serving() as (_, tools):
            assert tools.call("retain_memory", content="I prefer dark mode") == "Memory stored successfully."
            assert tools.call("recall_memory", query="Which mode?") == "1. I prefer dark mode"
            assert "dark mode" in tools.call("reflect_on_memory", query="Which mode?")

    def test_nothing_found_and_unknown_bank_are_no_errors(self) -> None:
        with self.serving() as (server, tools):
            assert tools.call("recall_memory", query="anything") == "No relevant memories found."
            server.remember("contract", "unrelated")
            assert tools.call("recall_memory", query="anything") == "No relevant memories found."
            assert tools.call("recall_memory", query="  ") == "No relevant memories found."

    def test_failures_are_sentences(self) -> None:
        with self.serving() as (server, tools):
            for operation, tool, argument, sentence in (
                ("retain", "retain_memory", "content", "Failed to store memory: "),
                ("recall", "recall_memory", "query", "Failed to search memory: "),
                ("reflect", "reflect_on_memory", "query", "Failed to reflect on memory: "),
            ):
                server.fail(operation, status=500, detail="x" * 5000)
                answer = tools.call(tool, **{argument: "hello"})
                assert answer.startswith(sentence)
                assert len(answer) <= len(sentence) + 200

    def test_a_timeout_says_that_the_outcome_is_unknown(self) -> None:
        with self.serving(deadlines=Deadlines(retain=0.2)) as (server, tools):
            server.delay("retain", 5.0)
            answer = tools.call("retain_memory", content="late")
            assert answer == "Failed to store memory: TimeoutError: timed out after 0.2 s, outcome unknown"

    def test_a_refused_write_is_repeated_under_the_same_ids(self) -> None:
        with self.serving() as (server, tools):
            server.fail("retain", status=503, headers={"Retry-After": "0"}, times=2)
            assert tools.call("retain_memory", content="once") == "Memory stored successfully."
            bodies = [request.body for request in server.requests_for("retain")]
            assert len(bodies) == 3
            assert len({body["operation_id"] for body in bodies}) == 1
            assert len({body["items"][0]["document_id"] for body in bodies}) == 1
            assert server.texts("contract") == ["once"]

    def test_a_lost_answer_stores_nothing_twice(self) -> None:
        with self.serving() as (server, tools):
            server.drop("retain", after_work=True)
            assert tools.call("retain_memory", content="once") == "Memory stored successfully."
            assert server.texts("contract") == ["once"]

    def test_document_ids_have_their_shape_and_differ(self) -> None:
        with self.serving() as (server, tools):
            for _ in range(2):
                tools.call("retain_memory", content="a")
            first, second = (item["document_id"] for item in server.items())
            assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{12}", first)
            assert first != second
            assert first[:8] == second[:8]

    def test_every_write_is_dated(self) -> None:
        with self.serving() as (server, tools):
            tools.call("retain_memory", content="a")
            assert re.search(r"T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$", server.items()[0]["timestamp"])

    def test_banks_and_tags_are_apart(self) -> None:
        with FakeHindsight() as server:
            mine, theirs = (self.adapt(bank_id=name, hindsight_api_url=server.url) for name in ("ann", "bob"))
            mine.call("retain_memory", content="my secret colour is red")
            assert "red" in mine.call("recall_memory", query="colour")
            assert theirs.call("recall_memory", query="colour") == "No relevant memories found."
            tagged = [
                self.adapt(
                    bank_id="shared",
                    hindsight_api_url=server.url,
                    tags=[tag],
                    recall_tags=[tag],
                    recall_tags_match="any_strict",
                )
                for tag in ("user:ann", "user:bob")
            ]
            tagged[0].call("retain_memory", content="my secret number is seven")
            assert "seven" in tagged[0].call("recall_memory", query="number")
            assert tagged[1].call("recall_memory", query="number") == "No relevant memories found."

    def test_the_bank_is_created_once_and_only_with_a_mission(self) -> None:
        with self.serving() as (server, tools):
            tools.call("retain_memory", content="a")
            assert server.requests_for("bank") == []
            with_mission = self.adapt(bank_id="m", hindsight_api_url=server.url, mission="Track preferences")
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _: with_mission.call("retain_memory", content="a"), range(8)))
            (request,) = server.requests_for("bank")
            assert request.body["mission"] == "Track preferences"

    def test_works_inside_a_running_loop_and_on_two_loops(self) -> None:
        with self.serving() as (_, tools):

            async def both() -> tuple[str, str]:
                stored = tools.call("retain_memory", content="I prefer dark mode")
                return stored, await tools.acall("recall_memory", query="mode")

            for _ in range(2):
                stored, found = asyncio.run(both())
                assert stored == "Memory stored successfully."
                assert "dark mode" in found

    def test_an_async_call_leaves_the_loop_free(self) -> None:
        with self.serving() as (server, tools):
            server.remember("contract", "dark mode")
            server.delay("recall", 0.3)

            async def race() -> bool:
                recall = asyncio.ensure_future(tools.acall("recall_memory", query="mode"))
                free = 0
                while not recall.done():
                    await asyncio.sleep(0.01)
                    free += 1
                return "dark" in recall.result() and free > 3

            assert asyncio.run(race())

    def test_works_from_many_threads(self) -> None:
        with self.serving() as (server, tools):
            barrier = threading.Barrier(8)

            def work(number: int) -> str:
                barrier.wait()
                return tools.call("retain_memory", content=f"fact {number}")

            with ThreadPoolExecutor(8) as pool:
                assert set(pool.map(work, range(8))) == {"Memory stored successfully."}
            assert sorted(server.texts("contract")) == [f"fact {number}" for number in range(8)]

    def test_the_key_is_sent_and_never_dumped(self) -> None:
        with self.serving(api_key=_KEY) as (server, tools):
            tools.call("retain_memory", content="a")
            assert server.requests[-1].headers["Authorization"] == f"Bearer {_KEY}"
            server.fail("recall", status=500, detail=f"bad key {_KEY}")
            assert _KEY not in tools.call("recall_memory", query="a")
            assert _KEY not in tools.dump()

    def test_without_a_key_nothing_goes_to_the_cloud(self, monkeypatch: Any) -> None:
        monkeypatch.delenv("HINDSIGHT_API_KEY", raising=False)
        tools = self.adapt(bank_id="contract", hindsight_api_url="https://api.hindsight.vectorize.io")
        answer = tools.call("retain_memory", content="private")
        assert "HINDSIGHT_API_KEY" in answer
        assert "HINDSIGHT_API_URL" in answer
