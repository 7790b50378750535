"""The contract of task memory in real agents, as a test class to subclass.

The agent is the framework's own, its model plays a script. Each scenario looks at what the model was asked, and at
what reached the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from ..bridge import get_bridge
from ..delivery import DeliveryOptions
from ..retry import MAX_ATTEMPTS
from ..settings import Deadlines
from .agent_contract import Reply, ToolCalls
from .fake_server import FakeHindsight

__all__ = ["AgentWithTasks", "TaskContract", "check"]

_BANK = "tasks"


def check(key: str) -> str:
    """Check whether something works."""
    if key == "broken":
        raise ValueError("port 8000 is taken by nginx")
    return f"port 8001 is free for {key}"


@dataclass(frozen=True, kw_only=True)
class AgentWithTasks:
    """An agent with task memory and the tool :func:`check`.

    Attributes:
        ask: ``await ask(text, user_id, task_id)`` runs it once; gives the final answer.
        requests: for each call of the model so far, all the words that it was sent.
    """

    ask: Callable[[str, str, str | None], Coroutine[Any, Any, str]]
    requests: Callable[[], list[str]]


class TaskContract:
    """Subclass it, implement :meth:`agent`, and let pytest collect it. No test may be overridden away."""

    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentWithTasks:
        """An agent whose model gives ``replies``.

        Args:
            replies: texts, and calls of the tool ``check``.
            **options: ``bank_id``, ``hindsight_api_url`` and maybe ``deadlines`` and ``delivery``, for task memory.
        """
        raise NotImplementedError

    def at(self, server: FakeHindsight, *replies: Reply, **options: Any) -> AgentWithTasks:
        """An agent with bank ``tasks`` of that server."""
        return self.agent(replies, **{"bank_id": _BANK, "hindsight_api_url": server.url, **options})

    @staticmethod
    def events(server: FakeHindsight) -> list[tuple[str, str]]:
        """Kind and words of each event that the bank holds, in order."""
        bank = server.banks.get(_BANK)
        return [(fact.metadata.get("event", ""), fact.text) for fact in bank.facts] if bank else []

    def test_a_run_is_a_task(self) -> None:
        with FakeHindsight() as server:
            agent = self.at(server, ToolCalls(("broken",)), ToolCalls(("flask",)), "It runs on port 8001 now.")
            said = asyncio.run(agent.ask("Deploy flask v2.3, please.", "ann", None))
            assert said == "It runs on port 8001 now."
            kinds = [kind for kind, _ in self.events(server)]
            assert kinds == ["start", "tool_failure", "tool_success", "message", "summary"]
            words = [text for _, text in self.events(server)]
            assert words[0] == "Deploy flask v2.3, please."
            assert "port 8000 is taken by nginx" in words[1]
            assert "port 8001 is free for flask" in words[2]
            assert len({item["document_id"] for item in server.items(_BANK)}) == 1

    def test_the_next_run_is_shown_what_was_done(self) -> None:
        with FakeHindsight() as server:
            first = self.at(server, ToolCalls(("broken",)), "Port 8000 of flask is taken by nginx.")
            asyncio.run(first.ask("Deploy flask v2.3, please.", "ann", None))
            assert "<MEMORY_SNAPSHOT>" not in first.requests()[0]
            before = len(self.events(server))
            later = self.at(server, "By nginx.")
            asyncio.run(later.ask("Which port of flask was taken?", "ann", None))
            assert "<MEMORY_SNAPSHOT>" in later.requests()[0]
            assert "taken by nginx" in later.requests()[0]
            fresh = self.events(server)[before:]
            assert [kind for kind, _ in fresh] == ["start", "message", "summary"]
            assert not any("MEMORY_SNAPSHOT" in text for _, text in fresh)

    def test_users_see_their_own_tasks(self) -> None:
        with FakeHindsight() as server:
            asyncio.run(self.at(server, "Saved as crimson.").ask("Remember the crimson build key.", "ann", None))
            other = self.at(server, "I don't know.")
            asyncio.run(other.ask("Which build key did I remember?", "bob", None))
            assert "crimson" not in other.requests()[0]

    def test_runs_with_one_id_are_one_task(self) -> None:
        with FakeHindsight() as server:
            agent = self.at(server, ToolCalls(("flask",)), "Port 8001 is free for it.", "Glad to hear that it works.")
            asyncio.run(agent.ask("Find a port for flask, please.", "ann", "ticket-42"))
            assert [kind for kind, _ in self.events(server)][-1] == "message", "the task goes on"
            asyncio.run(agent.ask("It works now on that port, thanks!", "ann", "ticket-42"))
            assert len({item["document_id"] for item in server.items(_BANK)}) == 1
            assert [kind for kind, _ in self.events(server)].count("summary") == 1

    def test_the_service_is_down_and_comes_back(self) -> None:
        with FakeHindsight() as server:
            gone = server.url
        agent = self.agent(
            (ToolCalls(("flask",)), "Port 8001 is free for flask."),
            bank_id=_BANK,
            hindsight_api_url=gone,
            deadlines=Deadlines(retain=0.3, recall=0.3),
            delivery=DeliveryOptions(first_pause=0.05, longest_pause=0.1),
        )
        said = asyncio.run(agent.ask("Deploy flask v2.3, please.", "ann", None))
        assert said == "Port 8001 is free for flask."
        assert len(agent.requests()) == 2
        with FakeHindsight(port=int(gone.rpartition(":")[2])) as back:
            assert get_bridge().drain() == 0, "what waited was delivered"
            assert [kind for kind, _ in self.events(back)] == ["start", "tool_success", "message", "summary"]

    def test_a_service_that_is_away_is_not_waited_for(self) -> None:
        with FakeHindsight() as server:
            server.drop("recall", times=MAX_ATTEMPTS)
            server.drop("retain")
            late = DeliveryOptions(first_pause=30, longest_pause=30)
            agent = self.at(server, ToolCalls(("flask",)), "Port 8001 is free for flask.", delivery=late)
            asyncio.run(agent.ask("Deploy flask v2.3, please.", "ann", None))
            assert len(server.requests_for("recall")) == MAX_ATTEMPTS, "one search, for the snapshot"
            assert len(server.requests_for("retain")) == 1, "what comes after the one that was kept is kept behind it"
            assert get_bridge().drain() == 0
            assert [kind for kind, _ in self.events(server)] == ["start", "tool_success", "message", "summary"]
            assert len(server.requests_for("retain")) == 5
