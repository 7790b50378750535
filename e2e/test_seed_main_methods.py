"""The guide to the three main methods, as a reader would type it: the Python client and the command line.

The snippets are those of the public guide; only the server they talk to is this one, with its built-in answers in the
place of a language model.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hindsight_client import Hindsight
from pydantic import BaseModel

CONVERSATION = """
User: What did you work on today?
Assistant: I reviewed the new ML pipeline architecture.
User: How did it look?
Assistant: Promising, but needs better error handling.
"""


@pytest.fixture
def client(server_url: str) -> Iterator[Hindsight]:
    with Hindsight(base_url=server_url) as client:
        yield client


@pytest.fixture
def bank() -> str:
    return f"my-bank-{uuid4().hex[:8]}"


@pytest.fixture
def filled(client: Hindsight, bank: str) -> str:
    client.retain(bank_id=bank, content="Alice joined Google in March 2024 as a Senior ML Engineer")
    client.retain(bank_id=bank, content=CONVERSATION, context="Daily standup conversation")
    client.retain_batch(
        bank_id=bank,
        items=[
            {"content": "Bob prefers Python for data science"},
            {"content": "Alice recommends using pytest for testing"},
            {"content": "The team uses GitHub for code reviews"},
        ],
    )
    return bank


def test_retain_one_fact_a_conversation_and_a_batch(client: Hindsight, bank: str) -> None:
    one = client.retain(bank_id=bank, content="Alice joined Google in March 2024 as a Senior ML Engineer")
    assert (one.success, one.bank_id, one.items_count, one.var_async) == (True, bank, 1, False)
    assert one.usage is not None
    talk = client.retain(bank_id=bank, content=CONVERSATION, context="Daily standup conversation")
    assert talk.success
    batch = client.retain_batch(
        bank_id=bank,
        items=[
            {"content": "Bob prefers Python for data science"},
            {"content": "Alice recommends using pytest for testing"},
            {"content": "The team uses GitHub for code reviews"},
        ],
    )
    assert batch.items_count == 3


def test_recall_from_basic_to_chunks(client: Hindsight, filled: str) -> None:
    results = client.recall(bank_id=filled, query="What does Alice do at Google?")
    assert "Senior ML Engineer" in results.results[0].text

    results = client.recall(
        bank_id=filled, query="What happened last spring?", budget="high", max_tokens=8192, types=["world"]
    )
    assert {result.type for result in results.results} <= {"world"}

    results = client.recall(bank_id=filled, query="Tell me about Alice", include_chunks=True, max_chunk_tokens=500)
    assert any("Alice" in result.text for result in results.results)
    for result in results.results:
        if results.chunks and result.chunk_id in results.chunks:
            assert results.chunks[result.chunk_id].text
    assert results.chunks
    assert "Alice" in results.to_prompt_string()


def test_what_the_conversation_said_is_recalled_with_its_speaker(client: Hindsight, filled: str) -> None:
    results = client.recall(bank_id=filled, query="What did you review: the ML pipeline architecture?")
    top = next(result for result in results.results if "pipeline" in result.text)
    assert top.context == "Daily standup conversation"
    assert top.type == "experience"


def test_reflect_with_facts_and_a_structure(client: Hindsight, filled: str) -> None:
    response = client.reflect(bank_id=filled, query="Should we use Python for data science?", include_facts=True)
    assert response.text
    assert len(response.based_on.memories if response.based_on else []) > 0

    response = client.reflect(
        bank_id=filled,
        query="What are Alice's strengths for the team lead role?",
        budget="high",
        include_facts=True,
    )
    facts = response.based_on.memories if response.based_on else []
    assert any("Alice" in fact.text for fact in facts)

    class HiringRecommendation(BaseModel):
        recommendation: str
        confidence: str
        key_factors: list[str]
        risks: list[str] = []

    response = client.reflect(
        bank_id=filled,
        query="Should we hire Alice for the ML team lead position?",
        response_schema=HiringRecommendation.model_json_schema(),
    )
    # Without a language model there is no structured view; the answer still stands, and says why.
    assert response.text
    assert response.structured_output is None
    assert response.structured_output_error


Command = Callable[..., str]


@pytest.fixture
def hindsight(server_url: str, tmp_path: Path) -> Command:
    """The command line, run in an empty directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hindsight_server.cli.main", *arguments],
            cwd=tmp_path,
            env={**environment, "HINDSIGHT_API_URL": server_url},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.feature("O2")
def test_the_command_line(hindsight: Command, tmp_path: Path, bank: str) -> None:
    hindsight("memory", "retain", bank, "Alice joined Google in March 2024 as a Senior ML Engineer")
    (tmp_path / "conversation.txt").write_text(CONVERSATION)
    hindsight("memory", "retain-files", bank, "conversation.txt", "--context", "Daily standup")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "stack.md").write_text("Our backend is written in TypeScript.")
    hindsight("memory", "retain-files", bank, "docs/")

    assert "Senior ML Engineer" in hindsight("memory", "recall", bank, "What does Alice do at Google?")
    options = ["--budget", "high", "--max-tokens", "8192", "--fact-type", "world,experience"]
    assert "Alice" in hindsight("memory", "recall", bank, "What does Alice do at Google?", *options)
    assert "mentioned_at" in hindsight("memory", "recall", bank, "Tell me about Alice", "-v")

    assert "TypeScript" in hindsight("memory", "reflect", bank, "Should we adopt TypeScript for our backend?")
    assert "TypeScript" in hindsight("memory", "reflect", bank, "Analyze our TypeScript stack", "--budget", "high")
    (tmp_path / "schema.json").write_text(
        """{"type": "object", "properties": {"recommendation": {"type": "string"},
        "confidence": {"type": "string", "enum": ["low", "medium", "high"]},
        "key_factors": {"type": "array", "items": {"type": "string"}}},
        "required": ["recommendation", "confidence", "key_factors"]}"""
    )
    asked = "Should we hire Alice for the ML team lead position?"
    assert "Alice" in hindsight("memory", "reflect", bank, asked, "--schema", "schema.json")
