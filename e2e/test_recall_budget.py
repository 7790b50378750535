"""What the tools of each framework render stays within the token budget that was asked for."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_server.adapters.text import count_tokens

TEXTS = [
    *(
        f"Ann noted the number {n} of the canoe that lies at pier {n * 37} in Bergen, and paid {n}.50 for it."
        for n in range(90)
    ),
    *(f"安娜在卑尔根的第{n}号码头记下了独木舟的编号，并付了{n}元。" for n in range(40)),
    *(f"Canoe list {n}:\n\n- paddle\n\n- rope\n\n- canoe" for n in range(20)),
    *(f"canoe {n}" for n in range(60)),
]


def haystack(url: str, bank: str, **options: Any) -> Callable[[str], str]:
    from hindsight_haystack import create_hindsight_tools

    tool = create_hindsight_tools(bank_id=bank, hindsight_api_url=url, **options)[1]
    return lambda query: str(tool.invoke(query=query))


def llamaindex(url: str, bank: str, **options: Any) -> Callable[[str], str]:
    from hindsight_llamaindex import create_hindsight_tools

    tool = create_hindsight_tools(bank_id=bank, hindsight_api_url=url, **options)[1]
    return lambda query: str(tool.call(query=query))


def langchain(url: str, bank: str, **options: Any) -> Callable[[str], str]:
    from hindsight_langchain import create_hindsight_tools

    tool = create_hindsight_tools(bank_id=bank, hindsight_api_url=url, **options)[1]
    return lambda query: str(tool.invoke({"query": query}))


@pytest.fixture(scope="module")
def filled(server_url: str) -> str:
    from hindsight_client import Hindsight

    bank = f"budget-{uuid.uuid4()}"
    client = Hindsight(base_url=server_url, timeout=60)
    client.retain_batch(bank, [{"content": text} for text in TEXTS])
    client.close()
    return bank


@pytest.mark.parametrize("tool", [haystack, llamaindex, langchain])
def test_case_a41_what_is_rendered_is_within_the_budget(
    server_url: str, filled: str, tool: Callable[..., Callable[[str], str]]
) -> None:
    for max_tokens in (1000, 200, 4096):
        recall = tool(server_url, filled, max_tokens=max_tokens)
        for query in ("Where is the canoe of Ann?", "独木舟在哪里", "canoe list"):
            rendered = recall(query)
            assert count_tokens(rendered) <= max_tokens
            assert count_tokens(rendered) > 0.8 * max_tokens, "nor is the budget left unused"


def test_case_a41_zero_means_what_is_documented(server_url: str, filled: str) -> None:
    from hindsight_client import Hindsight

    client = Hindsight(base_url=server_url, timeout=60)
    try:
        plain = client.recall(filled, "canoe of Ann", max_tokens=300)
        floors = {"semantic": 0.0, "keyword": 0.0, "reranker": 0.0, "final": 0.0}
        assert [
            result.id for result in client.recall(filled, "canoe of Ann", max_tokens=300, min_scores=floors).results
        ] == [result.id for result in plain.results]
        assert client.recall(filled, "canoe of Ann", max_tokens=0).results == []
    finally:
        client.close()
