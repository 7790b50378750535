from __future__ import annotations

import asyncio
import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import MagicMock

import pytest
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from scripted import HAYSTACK_3, ScriptedChatGenerator, needs_haystack_3, trust_this_module

from hindsight_adapter_core import Deadlines, SettingsError
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_haystack import DEFAULT_MEMORY_PROMPT, HindsightMemoryHook, HindsightMemoryWrapper

user = ChatMessage.from_user
assistant = ChatMessage.from_assistant


#: On Haystack 3 an agent's own prompt is a template, and must still work as one.
PROMPT = {"system_prompt": "You are {{ role }}." if HAYSTACK_3 else "You are kind."}
VARIABLES = {"role": "kind"} if HAYSTACK_3 else {}


def wrapper_at(server: FakeHindsight, **options: Any) -> HindsightMemoryWrapper:
    both = {"auto_recall": True, "auto_retain": True}
    return HindsightMemoryWrapper(**{"bank_id": "b", "hindsight_api_url": server.url, **both, **options})


def agent_with(*replies: Any, **options: Any) -> tuple[Agent, ScriptedChatGenerator]:
    model = ScriptedChatGenerator(list(replies) or ["Noted."])
    return Agent(chat_generator=model, **options), model


def run(asynchronous: bool, wrapper: HindsightMemoryWrapper, agent: Any, **arguments: Any) -> dict[str, Any]:
    if asynchronous:
        return asyncio.run(wrapper.run_async(agent, **arguments))
    return wrapper.run(agent, **arguments)


@pytest.mark.feature("H3")
@pytest.mark.parametrize("asynchronous", [False, True])
class TestRecall:
    @pytest.mark.feature("H4")
    def test_memories_reach_the_model_behind_the_agents_prompt(self, server: FakeHindsight, asynchronous: bool) -> None:
        server.remember("b", "The user prefers dark mode")
        wrapper = wrapper_at(server)
        agent, model = agent_with(tools=wrapper, **PROMPT)
        result = run(asynchronous, wrapper, agent, messages=[user("Which mode do I like?")], **VARIABLES)
        block = DEFAULT_MEMORY_PROMPT.replace("{memories}", "1. The user prefers dark mode")
        assert model.system_texts() == [f"You are kind.\n\n{block}"]
        assert [m.text for m in result["messages"]] == ["You are kind.", "Which mode do I like?", "Noted."]
        assert result["messages"][-1].text == "Noted."

    def test_an_explicit_prompt_replaces_the_agents(self, server: FakeHindsight, asynchronous: bool) -> None:
        server.remember("b", "dark mode")
        wrapper = wrapper_at(server, memory_prompt_template="<<{memories}>>", auto_retain=False)
        agent, model = agent_with(tools=wrapper, system_prompt="own")
        run(asynchronous, wrapper, agent, messages=[user("mode?")], system_prompt="given {{ literally }}")
        assert model.system_texts() == ["given {{ literally }}\n\n<<1. dark mode>>"]
        run(asynchronous, wrapper, agent, messages=[user("nothing known")], system_prompt="given")
        assert model.system_texts() == ["given"]
        run(asynchronous, wrapper, agent, messages=[user("nothing known")])
        assert model.system_texts() == ["own"]

    def test_without_any_prompt_the_block_is_the_prompt(self, server: FakeHindsight, asynchronous: bool) -> None:
        server.remember("b", "dark mode")
        wrapper = wrapper_at(server, memory_prompt_template="<<{memories}>>")
        agent, model = agent_with(tools=wrapper)
        result = run(asynchronous, wrapper, agent, messages=[user("mode?")])
        assert model.system_texts() == ["<<1. dark mode>>"]
        assert [m.role.value for m in result["messages"]] == ["user", "assistant"]

    @pytest.mark.feature("H4")
    def test_the_query_is_the_last_user_text_and_results_are_bounded(
        self, server: FakeHindsight, asynchronous: bool
    ) -> None:
        server.remember("b", *(f"mode fact {number}" for number in range(20)))
        wrapper = wrapper_at(server, max_recall_results=3, memory_prompt_template="{memories}")
        agent, model = agent_with(tools=wrapper)
        run(asynchronous, wrapper, agent, messages=[user("first"), assistant("a"), user("which mode?"), assistant("b")])
        assert server.requests_for("recall")[0].body["query"] == "which mode?"
        assert len((model.system_texts()[0] or "").splitlines()) == 3

    @pytest.mark.feature("H4")
    def test_template_syntax_in_memories_is_inert(self, server: FakeHindsight, asynchronous: bool) -> None:
        hostile = "mode {{ 7 * 7 }} {% raw %} {% endmessage %} {memories} {x}"
        server.remember("b", hostile)
        wrapper = wrapper_at(server, memory_prompt_template='{"json": 1} {memories} {% {{')
        agent, model = agent_with(tools=wrapper, **PROMPT)
        run(asynchronous, wrapper, agent, messages=[user("mode?")], **VARIABLES)
        assert model.system_texts() == [f'You are kind.\n\n{{"json": 1}} 1. {hostile} {{% {{{{']

    def test_no_user_text_no_recall_and_off_by_default(self, server: FakeHindsight, asynchronous: bool) -> None:
        quiet = HindsightMemoryWrapper(bank_id="b", hindsight_api_url=server.url)
        agent, _ = agent_with(tools=quiet)
        run(asynchronous, quiet, agent, messages=[user("hi")])
        wrapper = wrapper_at(server)
        run(asynchronous, wrapper, agent, messages=[assistant("only me")])
        assert server.requests_for("recall") == []
        assert len(server.requests_for("retain")) <= 2

    def test_a_failing_memory_does_not_stop_the_agent(
        self, server: FakeHindsight, asynchronous: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.fail("recall", status=500)
        server.fail("retain", status=500)
        wrapper = wrapper_at(server)
        agent, _ = agent_with(tools=wrapper)
        assert run(asynchronous, wrapper, agent, messages=[user("hi")])["messages"][-1].text == "Noted."
        assert "Failed to search memory" in caplog.text
        assert "Failed to store memory" in caplog.text


@pytest.mark.feature("H5")
@pytest.mark.parametrize("asynchronous", [False, True])
class TestRetain:
    def test_only_new_turns_are_stored_in_one_document(self, server: FakeHindsight, asynchronous: bool) -> None:
        wrapper = wrapper_at(server, retain_metadata={"app": "x"})
        agent, _ = agent_with("a1", "a2", tools=wrapper, system_prompt="sys")
        first = run(asynchronous, wrapper, agent, messages=[user("one")])
        run(asynchronous, wrapper, agent, messages=[*first["messages"], user("two")])
        items = server.items("b")
        elements = [json.loads(item["content"])[0] for item in items]
        assert [(e["role"], e["content"]) for e in elements] == [
            ("user", "one"),
            ("assistant", "a1"),
            ("user", "two"),
            ("assistant", "a2"),
        ]
        assert len({item["document_id"] for item in items}) == 1
        assert {item["update_mode"] for item in items} == {"append"}
        assert items[0]["metadata"] == {"app": "x", "role": "user", "source": "haystack"}
        assert items[1]["metadata"] == {"app": "x", "role": "assistant", "source": "haystack"}

    def test_a_message_keeps_its_own_name_and_time(self, server: FakeHindsight, asynchronous: bool) -> None:
        wrapper = wrapper_at(server)
        agent, _ = agent_with(tools=wrapper)
        said = user("I moved to Bergen.", name="Ida", meta={"timestamp": "2024-05-06T07:08:09+02:00"})
        run(asynchronous, wrapper, agent, messages=[said])
        (element,) = json.loads(server.items("b")[0]["content"])
        assert (element["name"], element["timestamp"]) == ("Ida", "2024-05-06T07:08:09+02:00")

    def test_twenty_turns_store_forty_and_never_the_injected_memories(
        self, server: FakeHindsight, asynchronous: bool
    ) -> None:
        wrapper = wrapper_at(server)
        agent, _ = agent_with("I see.", tools=wrapper)
        history: list[ChatMessage] = []
        for number in range(20):
            result = run(asynchronous, wrapper, agent, messages=[*history, user(f"fact {number} about modes")])
            history = result["messages"]
        texts = server.texts("b")
        assert len(texts) == 40
        assert not any("Below are relevant memories" in text for text in texts)

    def test_tool_traffic_is_not_stored(self, server: FakeHindsight, asynchronous: bool) -> None:
        wrapper = wrapper_at(server, auto_recall=False)
        agent, _ = agent_with(("recall_memory", "x"), "final", tools=wrapper)
        run(asynchronous, wrapper, agent, messages=[ChatMessage.from_system("be nice"), user("hi")])
        assert server.texts("b") == ["hi", "final"]

    def test_conversations_are_apart(self, server: FakeHindsight, asynchronous: bool) -> None:
        wrapper = wrapper_at(server)
        agent, _ = agent_with(tools=wrapper)
        run(asynchronous, wrapper, agent, messages=[user("one")], conversation_id="c1")
        run(asynchronous, wrapper, agent, messages=[user("one")], conversation_id="c2")
        assert [item["document_id"] for item in server.items("b")] == ["c1", "c1", "c2", "c2"]
        assert server.texts("b") == ["one", "Noted.", "one", "Noted."]


@pytest.mark.feature("H3")
def test_tools_stay_usable_mid_turn_and_the_agent_is_not_changed(server: FakeHindsight) -> None:
    server.remember("b", "dark mode")
    wrapper = wrapper_at(server)
    agent, model = agent_with(("reflect_on_memory", "mode"), "done", tools=wrapper, system_prompt="own")
    before = {name: value for name, value in vars(agent).items() if name != "_is_warmed_up"}
    result = wrapper.run(agent, messages=[user("mode?")])
    assert [r.tool_call_results[0].result for r in result["messages"] if r.tool_call_results] == ["dark mode"]
    assert {name: value for name, value in vars(agent).items() if name != "_is_warmed_up"} == before
    assert "dark mode" in (model.system_texts(0)[0] or "")


@pytest.mark.feature("H3")
def test_runs_side_by_side_never_see_each_others_memories(server: FakeHindsight) -> None:
    wrappers = {}
    for name in ("ann", "bob", "cyd", "dan"):
        server.remember(name, f"secret of {name}")
        wrappers[name] = wrapper_at(server, bank_id=name)
    agent, model = agent_with(system_prompt="own", tools=wrappers["ann"])

    def ask(name: str) -> None:
        wrappers[name].run(agent, messages=[user(f"{name}: what is the secret?")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, list(wrappers) * 5))
    assert len(model.seen) == 20
    for call in model.seen:
        name = (call[-1].text or "").partition(":")[0]
        prompt = call[0].text or ""
        assert f"secret of {name}" in prompt
        assert not any(f"secret of {other}" in prompt for other in wrappers if other != name)


@pytest.mark.feature("H11")
async def test_run_async_leaves_the_loop_free(server: FakeHindsight) -> None:
    server.delay("recall", 0.3)
    wrapper = wrapper_at(server)
    agent, _ = agent_with(tools=wrapper)
    task = asyncio.create_task(wrapper.run_async(agent, messages=[user("hi")]))
    beats = 0
    while not task.done():
        await asyncio.sleep(0.01)
        beats += 1
    assert beats > 5
    assert task.result()["messages"][-1].text == "Noted."


def test_anything_like_an_agent_gets_the_prompt_as_an_argument(server: FakeHindsight) -> None:
    server.remember("b", "dark mode")
    agent = MagicMock()
    agent.system_prompt = "own"
    agent.run.return_value = {"messages": [], "last_message": assistant("ok")}
    wrapper = wrapper_at(server, memory_prompt_template="<{memories}>")
    wrapper.run(agent, messages=[user("mode?")], extra=1)
    agent.run.assert_called_once()
    assert agent.run.call_args.kwargs["system_prompt"] == "own\n\n<1. dark mode>"
    assert agent.run.call_args.kwargs["extra"] == 1
    assert server.texts("b") == ["dark mode", "mode?", "ok"]


def test_a_copied_wrapper_writes_a_conversation_of_its_own(server: FakeHindsight) -> None:
    wrapper = wrapper_at(server, auto_recall=False)
    agent, _ = agent_with(tools=wrapper)
    wrapper.run(agent, messages=[user("first")])
    for one in (wrapper, copy.deepcopy(wrapper), pickle.loads(pickle.dumps(wrapper))):
        one.run(agent, messages=[user("again")])
    assert server.texts("b").count("again") == 3
    assert len({item["document_id"] for item in server.items("b")}) == 3


def test_bad_arguments_are_named() -> None:
    with pytest.raises(SettingsError, match="memory_prompt_template"):
        HindsightMemoryWrapper(bank_id="b", memory_prompt_template="no placeholder")
    half: Any = 2.5
    for number in (0, half, True):
        with pytest.raises(SettingsError, match=r"max_recall_results .*; to recall nothing, set auto_recall=False"):
            HindsightMemoryWrapper(bank_id="b", max_recall_results=number)
    with pytest.raises(SettingsError, match="bank_id"):
        HindsightMemoryWrapper(bank_id="")


@pytest.mark.feature("H9")
def test_the_wrapper_is_saved_with_everything(server: FakeHindsight) -> None:
    wrapper = wrapper_at(
        server, include_reflect=False, max_recall_results=4, raise_on_error=True, deadlines=Deadlines(recall=3)
    )
    dumped = wrapper.to_dict()
    assert dumped["type"] == "haystack_integrations.tools.hindsight.toolset.HindsightMemoryWrapper"
    loaded = HindsightMemoryWrapper.from_dict(json.loads(json.dumps(dumped)))
    assert loaded.to_dict() == dumped
    assert len(loaded) == 2
    assert loaded.memory.settings.deadlines.recall == 3


@needs_haystack_3
@pytest.mark.feature("H6")
class TestHook:
    def hooked(self, hook: HindsightMemoryHook, **options: Any) -> tuple[Agent, ScriptedChatGenerator]:
        return agent_with(hooks={"before_run": [hook], "after_run": [hook]}, **options)

    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_a_plain_run_remembers(self, server: FakeHindsight, asynchronous: bool) -> None:
        server.remember("b", "dark mode")
        hook = HindsightMemoryHook(bank_id="b", hindsight_api_url=server.url, memory_prompt_template="<{memories}>")
        agent, model = self.hooked(hook, system_prompt="own")
        message = [user("mode?")]
        result = asyncio.run(agent.run_async(messages=message)) if asynchronous else agent.run(messages=message)
        assert model.system_texts() == ["own\n\n<1. dark mode>"]
        assert [m.text for m in result["messages"]] == ["own", "mode?", "Noted."]
        assert server.texts("b") == ["dark mode", "mode?", "Noted."]

    def test_the_bank_is_chosen_per_run(self, server: FakeHindsight) -> None:
        hook = HindsightMemoryHook(hindsight_api_url=server.url)
        agent, model = self.hooked(hook, state_schema={"bank_id": {"type": str}})
        agent.run(messages=[user("my colour is red")], hook_context={"bank_id": "ann"})
        agent.run(messages=[user("my colour is blue")], bank_id="bob")
        agent.run(messages=[user("which colour?")], hook_context={"bank_id": "ann"})
        assert server.texts("ann") == ["my colour is red", "Noted.", "which colour?", "Noted."]
        assert server.texts("bob") == ["my colour is blue", "Noted."]
        assert "red" in (model.system_texts()[0] or "")
        assert "blue" not in (model.system_texts()[0] or "")

    def test_a_run_without_a_bank_goes_on_without_memory(self, server: FakeHindsight) -> None:
        agent, _ = self.hooked(HindsightMemoryHook(hindsight_api_url=server.url))
        assert agent.run(messages=[user("hi")])["messages"][-1].text == "Noted."
        assert server.requests == []

    def test_hook_and_wrapper_together_recall_and_store_once(self, server: FakeHindsight) -> None:
        hook = HindsightMemoryHook(bank_id="b", hindsight_api_url=server.url)
        agent, _ = self.hooked(hook)
        wrapper_at(server).run(agent, messages=[user("hi")])
        assert len(server.requests_for("recall")) == 1
        assert server.texts("b") == ["hi", "Noted."]

    @pytest.mark.feature("H9")
    def test_agents_with_hooks_save_and_load(self, server: FakeHindsight) -> None:
        trust_this_module()
        hook = HindsightMemoryHook(bank_id="b", hindsight_api_url=server.url, api_key="hsk_hook", tags=["t"])
        agent, _ = self.hooked(hook)
        dumped = agent.to_dict()
        assert "hsk_hook" not in json.dumps(dumped)
        loaded = Agent.from_dict(json.loads(json.dumps(dumped)))
        loaded.run(messages=[user("hi")])
        assert server.items("b")[0]["tags"] == ["t"]
        assert loaded.to_dict() == dumped
