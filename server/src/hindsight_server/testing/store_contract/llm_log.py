"""What every store does with the log of questions to language models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.ports.llm import Usage
from hindsight_server.ports.llm_log import LlmFilter, LlmRequest
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, later


def asked(request_id: str, **options: Any) -> LlmRequest:
    """A request; `options` are its fields, `at` the seconds after NOW."""
    values: dict[str, Any] = {
        "operation": "retain",
        "provider": "openai",
        "model": "m",
        "status": "success",
        "started_at": later(options.pop("at", 0)),
        "duration_ms": 5,
    }
    return LlmRequest(request_id=request_id, **(values | options))


async def listed(store: Store, bank_id: str = "a", **wanted: Any) -> list[str]:
    page = await store.list_llm_requests(bank_id, LlmFilter(**wanted), 100, 0)
    assert page.total == len(page.items)
    return [one.request_id for one in page.items]


class LlmLogContract:
    """The request log: kept, filtered, summed, bounded, emptied of texts, gone with its bank."""

    async def test_a_request_is_given_back_as_it_was(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        usage = Usage(input_tokens=9, output_tokens=8, cached_tokens=7, thought_tokens=6)
        whole = asked(
            "x", scope="s", run_id="r", operation_id="o", document_id="d", usage=usage, input="问", output="答", at=1.5
        )
        failed = asked("y", status="error", error="busy", at=2)
        await store.add_llm_requests("a", [whole, failed])
        assert (await store.list_llm_requests("a", LlmFilter(), 10, 0)).items == (failed, whole)

    async def test_requests_are_filtered(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        await store.add_llm_requests(
            "a",
            [
                asked("1", run_id="r", scope="s", at=1),
                asked("2", status="error", document_id="d", at=2),
                asked("3", operation="reflect", provider="anthropic", at=3),
            ],
        )
        assert await listed(store) == ["3", "2", "1"]
        assert await listed(store, status="error") == ["2"]
        assert await listed(store, operation="reflect") == ["3"]
        assert await listed(store, scope="s") == await listed(store, run_id="r") == ["1"]
        assert await listed(store, provider="anthropic") == ["3"]
        assert await listed(store, document_id="d") == ["2"]
        assert await listed(store, start=later(2), end=later(2)) == ["2"]
        page = await store.list_llm_requests("a", LlmFilter(), 1, 1)
        assert ([one.request_id for one in page.items], page.total) == (["2"], 3)

    async def test_runs_are_listed_whole(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        rows = [asked("1", run_id="r", at=1), asked("2", at=2), asked("3", run_id="r", at=3, status="error")]
        await store.add_llm_requests("a", [*rows, asked("4", run_id="q", at=4)])
        page = await store.list_llm_requests("a", LlmFilter(), 2, 0, by_run=True)
        assert ([one.request_id for one in page.items], page.total) == (["4", "3", "1"], 3)
        page = await store.list_llm_requests("a", LlmFilter(status="error"), 2, 0, by_run=True)
        assert ([one.request_id for one in page.items], page.total) == (["3", "1"], 1)

    async def test_requests_are_summed(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        usage = Usage(input_tokens=10, output_tokens=5, cached_tokens=1, thought_tokens=2)
        rows = [asked(str(at), usage=usage, at=at) for at in (0, 10, 3600)]
        await store.add_llm_requests("a", [*rows, asked("e", status="error", at=20), asked("old", at=-1)])
        found = await store.sum_llm_requests("a", None, NOW, timedelta(hours=1))
        assert [(one.start, one.status, one.count, one.usage.input_tokens) for one in found] == [
            (NOW, "error", 1, 0),
            (NOW, "success", 2, 20),
            (later(3600), "success", 1, 10),
        ]
        assert found[1].usage == usage + usage
        assert await store.sum_llm_requests("a", "reflect", NOW, timedelta(hours=1)) == []

    async def test_counts_that_no_model_can_have_do_not_break_the_sums(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        senseless = Usage(input_tokens=2**62, output_tokens=2**62, cached_tokens=2**62 + 1, thought_tokens=2**63 - 1)
        await store.add_llm_requests("a", [asked(str(number), usage=senseless) for number in range(3)])
        (found,) = await store.sum_llm_requests("a", None, NOW, timedelta(hours=1))
        billion = Usage(input_tokens=10**9, output_tokens=10**9, cached_tokens=10**9, thought_tokens=10**9)
        assert found.usage == billion + billion + billion

    async def test_texts_are_forgotten_and_the_rest_is_kept(
        self, store: Store, dump: Callable[[], Awaitable[str]]
    ) -> None:
        for bank_id in ("a", "b"):
            await store.ensure_bank(bank_id, NOW)
            await store.add_llm_requests(bank_id, [asked("x", input=f"quixotherm {bank_id}", output="snargleflux")])
        assert await store.forget_llm_texts("a") == 1
        assert await store.forget_llm_texts("a") == 0
        assert (await store.list_llm_requests("a", LlmFilter(), 10, 0)).items == (asked("x"),)
        kept = await dump()
        assert ("quixotherm a" in kept, "quixotherm b" in kept) == (False, True)

    async def test_old_requests_go(self, store: Store, dump: Callable[[], Awaitable[str]]) -> None:
        for bank_id in ("a", "b"):
            await store.ensure_bank(bank_id, NOW)
            await store.add_llm_requests(bank_id, [asked("old", input="quixotherm", at=-1), asked("new")])
        assert await store.expire_llm_requests(NOW) == 2
        assert await listed(store, "a") == await listed(store, "b") == ["new"]
        assert "quixotherm" not in await dump()

    async def test_no_more_are_kept_than_there_may_be(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        await store.add_llm_requests("a", [asked(str(number), at=number, input="x") for number in range(20_010)])
        page = await store.list_llm_requests("a", LlmFilter(), 1, 19_999)
        assert (page.total, page.items[0].request_id) == (20_000, "10")

    async def test_the_log_of_a_bank_is_apart_and_goes_with_it(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        await store.add_llm_requests("a", [asked("x", input="x")])
        await store.add_llm_requests("gone", [asked("x")])
        with pytest.raises(BankNotFound):
            await store.list_llm_requests("gone", LlmFilter(), 10, 0)
        await store.delete_bank("a")
        await store.ensure_bank("a", NOW)
        assert await listed(store) == []
