"""Whose memory a run uses: bank and tags from the run, for tools, wrapper and hook; and never from the model."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from scripted import ScriptedChatGenerator, needs_haystack_3, trust_this_module

from haystack_integrations.tools.hindsight.scope import ScopedMemories
from hindsight_adapter_core import SettingsError
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_haystack import (
    HindsightMemoryHook,
    HindsightMemoryWrapper,
    HindsightTaskHook,
    configure,
    create_hindsight_tools,
)

user = ChatMessage.from_user


@pytest.mark.parametrize("hook", [HindsightMemoryHook, HindsightTaskHook])
def test_a_hook_refuses_what_it_does_not_know(hook: type) -> None:
    with pytest.raises(SettingsError, match=f"{hook.__name__} knows no option retain_asinc"):
        hook(bank_id="b", hindsight_api_url="http://127.0.0.1:9", retain_asinc=True)


#: To be copied for each agent: Haystack 2.12 writes into it.
SCHEMA = {"user_id": {"type": str}, "labels": {"type": list}}
INPUTS = {"user_id": "bank_id", "labels": "tags"}


def scoped_tools(server: FakeHindsight, **options: Any) -> list[Any]:
    return create_hindsight_tools(
        **{"bank_id": None, "hindsight_api_url": server.url, "inputs_from_state": INPUTS, **options}
    )


def agent_of(server: FakeHindsight, *replies: Any, **options: Any) -> Agent:
    tools = options.pop("tools", None) or scoped_tools(server, **options)
    return Agent(chat_generator=ScriptedChatGenerator([*replies, "done"]), tools=tools, state_schema=dict(SCHEMA))


def tool_results(result: dict[str, Any]) -> list[str]:
    return [one.result for message in result["messages"] for one in message.tool_call_results]


class TestTools:
    def test_bank_and_tags_come_from_the_agents_state(self, server: FakeHindsight) -> None:
        server.remember("bob", "bob likes blue")
        agent = agent_of(server, ("retain_memory", "ann likes red"), ("recall_memory", "likes"), tags=["app"])
        result = agent.run(messages=[user("hi")], user_id="ann", labels=["team-a"])
        assert tool_results(result) == ["Memory stored successfully.", "1. ann likes red"]
        assert server.texts("ann") == ["ann likes red"]
        assert server.items("ann")[0]["tags"] == ["app", "team-a"]
        recall = server.requests_for("recall")[0]
        assert (recall.bank_id, recall.body["tags"]) == ("ann", ["team-a"])

    @needs_haystack_3
    async def test_the_same_in_an_async_run(self, server: FakeHindsight) -> None:
        agent = agent_of(server, ("retain_memory", "ann likes red"), ("reflect_on_memory", "likes"))
        result = await agent.run_async(messages=[user("hi")], user_id="ann", labels=["team-a"])
        assert tool_results(result) == ["Memory stored successfully.", "ann likes red"]
        assert server.requests_for("reflect")[0].body["tags"] == ["team-a"]

    @pytest.mark.parametrize("argument", ["bank_id", "tags", "user_id", "scope", "run_0"])
    def test_a_model_cannot_choose_the_bank(self, server: FakeHindsight, argument: str) -> None:
        server.remember("bob", "bob's secret")
        call = ("recall_memory", {"query": "secret", argument: "bob"})
        agent = agent_of(server, call)
        agent.raise_on_tool_invocation_failure = False
        if hasattr(agent, "_tool_invoker"):
            agent._tool_invoker.raise_on_failure = False
        result = agent.run(messages=[user("hi")], user_id="ann")
        assert "bob's secret" not in str(tool_results(result))
        assert {request.bank_id for request in server.requests} <= {"ann"}

    def test_the_model_sees_one_argument(self, server: FakeHindsight) -> None:
        for tool in scoped_tools(server):
            assert len(tool.parameters["properties"]) == 1
            assert "user_id" not in json.dumps(tool.tool_spec)

    def test_a_run_without_a_bank_is_told_so(self, server: FakeHindsight) -> None:
        agent = agent_of(server, ("recall_memory", "x"), ("retain_memory", "x"))
        results = tool_results(agent.run(messages=[user("hi")]))
        assert all("bank" in result and result.startswith("Failed to") for result in results)
        agent = agent_of(server, ("recall_memory", "x"), bank_id="shared")
        (result,) = tool_results(agent.run(messages=[user("hi")], user_id=""))
        assert "blank bank_id" in result
        assert server.requests == []

    def test_users_in_parallel_never_meet(self, server: FakeHindsight) -> None:
        agent = agent_of(server)

        def talk(name: str) -> None:
            model = ScriptedChatGenerator([("retain_memory", f"note of {name}"), ("recall_memory", "note"), "done"])
            own = Agent(chat_generator=model, tools=agent.tools, state_schema=dict(SCHEMA))
            results = tool_results(own.run(messages=[user("hi")], user_id=name, labels=[name]))
            assert results[1] == f"1. note of {name}"

        names = [f"user-{number}" for number in range(12)]
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(talk, names))
        assert {name: server.texts(name) for name in names} == {name: [f"note of {name}"] for name in names}

    @needs_haystack_3
    async def test_parallel_tool_calls_of_one_turn(self, server: FakeHindsight) -> None:
        calls = [("retain_memory", f"fact {number}") for number in range(5)]
        agent = agent_of(server, calls)
        await agent.run_async(messages=[user("hi")], user_id="ann")
        assert sorted(server.texts("ann")) == [f"fact {number}" for number in range(5)]

    def test_wrong_mappings_are_named(self) -> None:
        for wrong in ({"user_id": "bank"}, {"a": "bank_id", "b": "bank_id"}):
            with pytest.raises(SettingsError, match="inputs_from_state"):
                create_hindsight_tools(bank_id=None, inputs_from_state=wrong)

    @pytest.mark.feature("H9")
    def test_saved_copied_and_pickled_tools_keep_their_state_keys(
        self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trust_this_module()
        monkeypatch.setenv("MY_KEY", "hsk_mine")
        agent = agent_of(
            server, ("retain_memory", "ann likes red"), api_key=Secret.from_env_var("MY_KEY"), raise_on_error=True
        )
        dumped = agent.to_dict()
        assert "hsk_mine" not in json.dumps(dumped)
        loaded = Agent.from_dict(json.loads(json.dumps(dumped)))
        assert loaded.to_dict() == dumped
        for number, one in enumerate((loaded, copy.deepcopy(agent), agent)):
            one.run(messages=[user("hi")], user_id=f"ann-{number}")
            assert server.texts(f"ann-{number}") == ["ann likes red"]
        tool = pickle.loads(pickle.dumps(loaded.tools[0]))
        assert tool.to_dict() == loaded.tools[0].to_dict()
        assert {request.headers["Authorization"] for request in server.requests} == {"Bearer hsk_mine"}

    def test_what_was_settled_stays_when_configure_is_called_later(self, server: FakeHindsight) -> None:
        configure(hindsight_api_url=server.url, budget="high", recall_tags=["own"])
        agent = agent_of(server, ("recall_memory", "x"), ("recall_memory", "y"), hindsight_api_url=None)
        configure(hindsight_api_url="http://127.0.0.1:9", budget="low")
        agent.run(messages=[user("hi")], user_id="ann", labels=["l"])
        assert [r.body["budget"] for r in server.requests_for("recall")] == ["high", "high"]
        assert [r.body["tags"] for r in server.requests_for("recall")] == [["l"], ["l"]]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_wrapper_serves_many_users(server: FakeHindsight, asynchronous: bool) -> None:
    wrapper = HindsightMemoryWrapper(
        bank_id=None, hindsight_api_url=server.url, inputs_from_state=INPUTS, auto_recall=True, auto_retain=True
    )
    agent = agent_of(server, tools=wrapper)

    def say(name: str, text: str) -> None:
        arguments: dict[str, Any] = {"messages": [user(text)], "user_id": name, "labels": [name]}
        if asynchronous:
            asyncio.run(wrapper.run_async(agent, **arguments))
        else:
            wrapper.run(agent, **arguments)

    for name in ("ann", "bob"):
        say(name, f"I am {name}")
    say("ann", "Who am I?")
    assert server.texts("ann") == ["I am ann", "done", "Who am I?", "done"]
    assert server.texts("bob") == ["I am bob", "done"]
    assert server.items("ann")[0]["tags"] == ["ann"]
    prompts = agent.chat_generator.system_texts()
    assert "I am ann" in (prompts[0] or "")
    assert "bob" not in (prompts[0] or "")
    loaded = HindsightMemoryWrapper.from_dict(json.loads(json.dumps(wrapper.to_dict())))
    assert loaded.to_dict() == wrapper.to_dict()


@needs_haystack_3
class TestHook:
    def hooked(self, server: FakeHindsight, **options: Any) -> Agent:
        hook = HindsightMemoryHook(hindsight_api_url=server.url, **options)
        return Agent(chat_generator=ScriptedChatGenerator(["ok"]), hooks={"before_run": [hook], "after_run": [hook]})

    def test_tags_and_conversation_of_a_run(self, server: FakeHindsight) -> None:
        agent = self.hooked(server, tags_from="labels", bank_id="b")
        agent.run(messages=[user("hello")], hook_context={"labels": ["a"], "conversation_id": "c"})
        (item, answer) = server.items("b")
        assert (item["tags"], item["document_id"]) == (["a"], "c")
        assert answer["tags"] == ["a"]
        assert server.requests_for("recall")[0].body["tags"] == ["a"]

    @pytest.mark.parametrize(
        "context", [{"bank_id": " "}, {"memory_tags": [3]}, {"memory_tags": 3}, {"conversation_id": ""}]
    )
    def test_an_unusable_run_goes_on_without_memory(
        self, server: FakeHindsight, context: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        agent = self.hooked(server, bank_id="shared")
        assert agent.run(messages=[user("hello")], hook_context=context)["messages"][-1].text == "ok"
        assert server.items("shared") == []
        assert caplog.text


def test_what_runs_of_many_tags_wrote_in_the_background_is_waited_for(server: FakeHindsight) -> None:
    memory = HindsightMemoryHook(bank_id="b", hindsight_api_url=server.url, retain_async=True).memory
    scoped = ScopedMemories(memory, limit=1)
    server.delay("retain", 0.5)
    for tag in ("ann", "bob", "eve"):
        scoped.tagged([tag]).answer("retain", f"{tag} likes red")
    assert memory.flush(0.05) == 1, "the first one is slow, and its tags were used longest ago"
    assert memory.flush(10) == 0
    assert sorted(server.texts("b")) == ["ann likes red", "bob likes red", "eve likes red"]
