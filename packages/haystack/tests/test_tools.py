from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
from typing import Any

import pytest
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.tools.errors import ToolInvocationError
from hindsight_client import Hindsight
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import HAYSTACK_3, ScriptedChatGenerator, needs_haystack_3, trust_this_module

from hindsight_adapter_core import DeliveryOptions
from hindsight_adapter_core.testing import AdapterContract, AdapterUnderTest, FakeHindsight
from hindsight_haystack import (
    HindsightError,
    HindsightHaystackConfig,
    HindsightMemoryWrapper,
    configure,
    create_hindsight_tools,
    explain,
    get_config,
    reset_config,
)


async def invoke_async(tool: Tool, **arguments: Any) -> str:
    """Haystack 2 has no async tools; its agents run them in a thread."""
    if hasattr(tool, "invoke_async"):
        return await tool.invoke_async(**arguments)
    return await asyncio.to_thread(tool.invoke, **arguments)


#: The 27 parameters of the documented table, with their defaults.
FACTORY_DEFAULTS: dict[str, Any] = {
    "bank_id": inspect.Parameter.empty,
    "client": None,
    "hindsight_api_url": None,
    "api_key": None,
    "budget": None,
    "max_tokens": None,
    "tags": None,
    "recall_tags": None,
    "recall_tags_match": None,
    "retain_metadata": None,
    "retain_document_id": None,
    "retain_context": None,
    "recall_types": None,
    "recall_include_entities": False,
    "reflect_context": None,
    "reflect_max_tokens": None,
    "reflect_response_schema": None,
    "reflect_tags": None,
    "reflect_tags_match": None,
    "mission": None,
    "include_retain": True,
    "include_recall": True,
    "include_reflect": True,
}
DEFAULT_TEMPLATE = (
    "Below are relevant memories from previous conversations:\n{memories}\n"
    "Use these memories to provide more personalized and contextual responses."
)


def tools_at(server: FakeHindsight, **options: Any) -> list[Tool]:
    return create_hindsight_tools(bank_id="b", hindsight_api_url=server.url, **options)


@pytest.mark.feature("H11")
class TestToolsKeepTheContract(AdapterContract):
    def adapt(self, **options: Any) -> AdapterUnderTest:
        tools = {tool.name: tool for tool in create_hindsight_tools(**options)}
        wrapper = HindsightMemoryWrapper(**options)
        return AdapterUnderTest(
            call=lambda name, **arguments: tools[name].invoke(**arguments),
            acall=lambda name, **arguments: invoke_async(tools[name], **arguments),
            dump=lambda: json.dumps([t.to_dict() for t in tools.values()] + [wrapper.to_dict()]) + repr(wrapper),
        )


@pytest.mark.feature("H1")
def test_three_tools_in_order_with_one_string_argument() -> None:
    tools = create_hindsight_tools(bank_id="b")
    assert [tool.name for tool in tools] == ["retain_memory", "recall_memory", "reflect_on_memory"]
    for tool, argument in zip(tools, ("content", "query", "query"), strict=True):
        assert isinstance(tool, Tool)
        assert tool.parameters["type"] == "object"
        assert list(tool.parameters["properties"]) == [argument] == tool.parameters["required"]
        assert tool.parameters["properties"][argument]["type"] == "string"
        assert len(tool.description) > 80
        assert not HAYSTACK_3 or tool.async_function is not None


@pytest.mark.feature("H2")
@pytest.mark.parametrize("retain", [True, False])
@pytest.mark.parametrize("recall", [True, False])
@pytest.mark.parametrize("reflect", [True, False])
def test_tools_can_be_left_out(retain: bool, recall: bool, reflect: bool) -> None:
    flags = {"include_retain": retain, "include_recall": recall, "include_reflect": reflect}
    expected = [
        name
        for name, wanted in zip(
            ("retain_memory", "recall_memory", "reflect_on_memory"), (retain, recall, reflect), strict=True
        )
        if wanted
    ]
    assert [tool.name for tool in create_hindsight_tools(bank_id="b", **flags)] == expected
    assert [tool.name for tool in HindsightMemoryWrapper(bank_id="b", **flags)] == expected


@pytest.mark.feature("H8")
def test_signatures_are_the_documented_ones() -> None:
    def defaults(callable_: Any) -> dict[str, Any]:
        return {
            name: parameter.default
            for name, parameter in inspect.signature(callable_).parameters.items()
            if name != "self"
        }

    factory = defaults(create_hindsight_tools)
    assert {name: factory[name] for name in FACTORY_DEFAULTS} == FACTORY_DEFAULTS
    wrapper = defaults(HindsightMemoryWrapper.__init__)
    wrapper_only = {
        "auto_recall": False,
        "auto_retain": False,
        "max_recall_results": 10,
        "memory_prompt_template": DEFAULT_TEMPLATE,
    }
    assert {name: wrapper[name] for name in FACTORY_DEFAULTS | wrapper_only} == FACTORY_DEFAULTS | wrapper_only
    assert len(FACTORY_DEFAULTS | wrapper_only) == 27
    assert list(defaults(configure)) == [
        "hindsight_api_url",
        "api_key",
        "budget",
        "max_tokens",
        "tags",
        "recall_tags",
        "recall_tags_match",
        "context",
        "mission",
        "verbose",
        "deadlines",
    ]


@pytest.mark.feature("H8")
def test_every_parameter_reaches_the_server(server: FakeHindsight) -> None:
    retain, recall, reflect = tools_at(
        server,
        api_key="k-parameter-test",
        budget="high",
        max_tokens=100,
        tags=["t"],
        recall_tags=["rt"],
        recall_tags_match="all",
        retain_metadata={"m": "1"},
        retain_document_id="doc",
        retain_context="app",
        recall_types=["world"],
        recall_include_entities=True,
        reflect_context="ctx",
        reflect_max_tokens=50,
        reflect_response_schema={"type": "object"},
        reflect_tags=["ft"],
        reflect_tags_match="exact",
        mission="mission",
    )
    retain.invoke(content="x")
    recall.invoke(query="x")
    reflect.invoke(query="x")
    (item,) = server.items("b")
    assert (item["tags"], item["metadata"], item["document_id"], item["context"]) == (["t"], {"m": "1"}, "doc", "app")
    body = server.requests_for("recall")[0].body
    assert (body["budget"], body["max_tokens"], body["types"]) == ("high", 100, ["world"])
    assert (body["tags"], body["tags_match"], body["include"]["entities"]) == (["rt"], "all", {"max_tokens": 500})
    body = server.requests_for("reflect")[0].body
    assert (body["budget"], body["max_tokens"], body["context"]) == ("high", 50, "ctx")
    assert (body["tags"], body["tags_match"], body["response_schema"]) == (["ft"], "exact", {"type": "object"})
    assert server.requests_for("bank")[0].body == {"name": "b", "mission": "mission"}
    assert {r.headers["Authorization"] for r in server.requests} == {"Bearer k-parameter-test"}
    agents = [r.headers["User-Agent"] for r in server.requests if r.operation != "bank"]  # 0.9 clients name none there
    assert all(agent.startswith("hindsight-haystack/") for agent in agents)


def test_defaults_on_the_wire(server: FakeHindsight) -> None:
    retain, recall, _ = tools_at(server)
    retain.invoke(content="x")
    recall.invoke(query="x")
    assert server.items("b")[0]["context"] == "haystack"
    body = server.requests_for("recall")[0].body
    assert (body["budget"], body["max_tokens"], body["tags"]) == ("mid", 4096, None)


def test_configuration(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_config() is None
    config = configure(hindsight_api_url=server.url, budget="low", tags=["source:haystack"], context="my-app")
    assert isinstance(config, HindsightHaystackConfig)
    assert get_config() is config
    retain, recall, _ = create_hindsight_tools(bank_id="b")
    retain.invoke(content="x")
    recall.invoke(query="x")
    assert (server.items()[0]["tags"], server.items()[0]["context"]) == (["source:haystack"], "my-app")
    assert server.requests_for("recall")[0].body["budget"] == "low"
    assert explain(bank_id="b", budget="high")["budget"] == ("high", "argument")
    assert explain(bank_id="b")["hindsight_api_url"] == (server.url, "configure()")
    reset_config()
    monkeypatch.setenv("HINDSIGHT_API_KEY", "from-env")
    assert configure().api_key == "from-env"
    assert configure().context == "haystack"
    assert explain()["api_key"] == ("set", "environment")


def test_client_class_can_be_replaced_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from unittest.mock import patch

    with patch("hindsight_haystack._client.Hindsight") as cls:
        create_hindsight_tools(bank_id="b")
    arguments = cls.call_args.kwargs
    assert arguments["base_url"] == "https://api.hindsight.vectorize.io"
    assert arguments["timeout"] == 30.0
    assert arguments["user_agent"].startswith("hindsight-haystack/")
    assert "api_key" not in arguments


@pytest.mark.feature("H10")
def test_failures_are_sentences_or_real_tool_failures(server: FakeHindsight) -> None:
    server.fail("recall", status=400, times=3)
    user = [ChatMessage.from_user("hi")]
    for raise_on_error, error in ((False, False), (True, True)):
        model = ScriptedChatGenerator([("recall_memory", "x"), "done"])
        agent = Agent(chat_generator=model, tools=tools_at(server, raise_on_error=raise_on_error))
        result = agent.run(messages=user)
        tool_result = result["messages"][2].tool_call_results[0]
        assert tool_result.error is error
        assert "Failed to search memory: " in tool_result.result
    with pytest.raises(ToolInvocationError, match="Failed to search memory: ") as caught:
        tools_at(server, raise_on_error=True)[1].invoke(query="x")
    assert isinstance(caught.value.__cause__, HindsightError)


def test_an_agent_stores_and_recalls_with_its_tools(server: FakeHindsight) -> None:
    model = ScriptedChatGenerator(
        [("retain_memory", "The user prefers dark mode"), ("recall_memory", "Which mode?"), "Dark mode."]
    )
    agent = Agent(chat_generator=model, tools=tools_at(server), system_prompt="You have memory.")
    result = agent.run(messages=[ChatMessage.from_user("Remember that I prefer dark mode")])
    assert result["messages"][-1].text == "Dark mode."
    results = [m.tool_call_results[0].result for m in result["messages"] if m.tool_call_results]
    assert results == ["Memory stored successfully.", "1. The user prefers dark mode"]


@needs_haystack_3
@pytest.mark.feature("H11")
async def test_agents_run_async_and_in_running_loops(server: FakeHindsight) -> None:
    def agent() -> Agent:
        model = ScriptedChatGenerator([("retain_memory", "dark mode"), "ok"])
        return Agent(chat_generator=model, tools=tools_at(server))

    message = [ChatMessage.from_user("hi")]
    results = await asyncio.gather(*(agent().run_async(messages=message) for _ in range(4)))
    results.append(agent().run(messages=message))
    for result in results:
        assert result["messages"][2].tool_call_results[0].result == "Memory stored successfully."


@pytest.mark.feature("H11")
async def test_a_client_already_used_on_this_loop_works(server: FakeHindsight) -> None:
    server.remember("b", "dark mode")
    client = Hindsight(base_url=server.url)
    await client.arecall(bank_id="b", query="mode")
    recall = create_hindsight_tools(bank_id="b", client=client)[1]
    assert recall.invoke(query="mode") == "1. dark mode"
    assert await invoke_async(recall, query="mode") == "1. dark mode"
    await client.arecall(bank_id="b", query="mode")
    await client.aclose()


@pytest.mark.feature("H9")
class TestSaving:
    def test_a_tool_is_saved_with_its_options_and_the_clients_address(self, server: FakeHindsight) -> None:
        client = Hindsight(base_url=server.url, api_key="hsk_saved")
        tool = create_hindsight_tools(bank_id="b", client=client, budget="low", mission="m")[1]
        dumped = tool.to_dict()
        assert dumped["type"] == "haystack_integrations.tools.hindsight.tool.HindsightTool"
        assert list(dumped["data"]) == ["name", "description", "parameters", "backend_kwargs"]
        assert len(dumped["data"]["backend_kwargs"]) == 18
        assert dumped["data"]["backend_kwargs"]["hindsight_api_url"] == server.url
        assert dumped["data"]["backend_kwargs"]["budget"] == "low"
        assert "hsk_saved" not in json.dumps(dumped)

    def test_loaded_tools_work_with_the_key_of_the_new_host(
        self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.remember("b", "dark mode")
        tool = tools_at(server, api_key="old-key", raise_on_error=True)[1]
        monkeypatch.setenv("HINDSIGHT_API_KEY", "new-key")
        loaded = type(tool).from_dict(json.loads(json.dumps(tool.to_dict())))
        assert loaded.invoke(query="mode") == "1. dark mode"
        assert server.requests[-1].headers["Authorization"] == "Bearer new-key"
        assert loaded.to_dict() == tool.to_dict()

    @pytest.mark.parametrize("kind", ["list", "wrapper"])
    def test_pipelines_and_agents_load_without_any_flag(self, server: FakeHindsight, kind: str) -> None:
        from haystack import Pipeline

        trust_this_module()
        tools: Any = (
            tools_at(server, tags=["t"])
            if kind == "list"
            else HindsightMemoryWrapper(bank_id="b", hindsight_api_url=server.url, tags=["t"], auto_recall=True)
        )
        model = ScriptedChatGenerator([("retain_memory", "dark mode"), "ok"])
        agent = Agent(chat_generator=model, tools=tools)
        pipeline = Pipeline()
        pipeline.add_component("agent", agent)
        loaded = Pipeline.loads(pipeline.dumps())
        result = loaded.run({"agent": {"messages": [ChatMessage.from_user("hi")]}})
        assert result["agent"]["messages"][-1].text == "ok"
        assert server.items("b")[0]["tags"] == ["t"]
        twin = Agent.from_dict(agent.to_dict())
        assert twin.to_dict() == agent.to_dict()

    @needs_haystack_3
    def test_pipelines_of_the_old_package_load_after_one_call(self, server: FakeHindsight) -> None:
        from haystack import Pipeline
        from haystack.core.errors import DeserializationError

        from hindsight_haystack import migrate

        agent = Agent(chat_generator=ScriptedChatGenerator(["ok"]), tools=tools_at(server))
        pipeline = Pipeline()
        pipeline.add_component("agent", agent)
        new = pipeline.dumps()
        old = new.replace(
            "haystack_integrations.tools.hindsight.tool.HindsightTool", "hindsight_haystack.tools._HindsightTool"
        )
        assert old != new
        with pytest.raises(DeserializationError):
            Pipeline.loads(old)
        assert Pipeline.loads(migrate(old)).dumps() == new

    def test_copies_and_pickles_work(self, server: FakeHindsight) -> None:
        server.remember("b", "dark mode")
        client = Hindsight(base_url=server.url)
        tool = create_hindsight_tools(bank_id="b", client=client)[1]
        tool.invoke(query="mode")
        for twin in (copy.deepcopy(tool), pickle.loads(pickle.dumps(tool)), copy.copy(tool)):
            assert twin.invoke(query="mode") == "1. dark mode"
            assert twin.to_dict() == tool.to_dict()
        wrapper = HindsightMemoryWrapper(bank_id="b", client=client)
        for other in (copy.deepcopy(wrapper), pickle.loads(pickle.dumps(wrapper))):
            assert other[1].invoke(query="mode") == "1. dark mode"
            assert other.to_dict() == wrapper.to_dict()


@pytest.mark.feature("K5")
@given(key=st.text(alphabet=st.characters(categories=["L", "N"]), min_size=8, max_size=30).map("hsk_".__add__))
@settings(max_examples=25, deadline=None)
def test_the_key_is_in_no_dump_of_anything(key: str) -> None:
    config = configure(api_key=key)
    try:
        tools = create_hindsight_tools(bank_id="b", hindsight_api_url="http://127.0.0.1:9", api_key=key)
        wrapper = HindsightMemoryWrapper(bank_id="b", hindsight_api_url="http://127.0.0.1:9")
        agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[*tools])
        shown = [repr(config), repr(tools), repr(wrapper), json.dumps(wrapper.to_dict()), str(agent.to_dict())]
        shown += [str(tool.to_dict()) for tool in tools] + [str(explain())]
        assert not any(key in text for text in shown)
        assert key.encode() not in pickle.dumps([tools, wrapper, config])
    finally:
        reset_config()


def test_haystack_secrets_are_accepted_as_keys(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    from haystack.utils import Secret

    monkeypatch.setenv("MY_KEY", "secret-from-env")
    tools_at(server, api_key=Secret.from_env_var("MY_KEY"))[0].invoke(content="x")
    assert server.requests[-1].headers["Authorization"] == "Bearer secret-from-env"


@needs_haystack_3
def test_closing_an_agent_closes_the_session_and_it_opens_again(server: FakeHindsight) -> None:
    tools = tools_at(server)
    agent = Agent(chat_generator=ScriptedChatGenerator(), tools=tools)
    agent.close()
    assert tools[0].invoke(content="x") == "Memory stored successfully."
    agent.close()
    assert tools[0].invoke(content="x") == "Memory stored successfully."


@pytest.mark.feature("K1")
async def test_everything_says_its_settings_waits_and_closes(server: FakeHindsight) -> None:
    from haystack_integrations.memory_stores.hindsight import HindsightMemoryStore

    options: dict[str, Any] = {
        "bank_id": "b",
        "hindsight_api_url": server.url,
        "api_key": "hsk_secret",
        "budget": "low",
    }
    kinds: list[Any] = [
        lambda **given: create_hindsight_tools(**given)[0],
        HindsightMemoryWrapper,
        HindsightMemoryStore,
    ]
    if HAYSTACK_3:
        from hindsight_haystack import HindsightMemoryHook, HindsightTaskHook

        kinds += [HindsightMemoryHook, HindsightTaskHook]
    for kind in kinds:
        one = kind(**options, retain_async=True, delivery=DeliveryOptions(first_pause=0.01))
        told = one.explain()
        assert told["budget"] == ("low", "argument")
        assert told["api_key"] == ("set", "argument")
        assert told["hindsight_api_url"] == (server.url, "argument")
        assert "hsk_secret" not in repr(told)
        server.delay("retain", 0.1)
        one.memory.retain_in_background(f"Said to {type(one).__name__}.")
        assert one.flush() == await one.flush_async() == 0
        assert server.texts("b")[-1] == f"Said to {type(one).__name__}."
        one.close()
        await one.close_async()


def test_import_is_light() -> None:
    import subprocess
    import sys

    code = (
        "import sys, threading, haystack.tools; before = set(sys.modules); import hindsight_haystack;"
        "hindsight_haystack.create_hindsight_tools;"
        "assert threading.active_count() == 1, threading.enumerate();"
        "assert not {'aiohttp', 'hindsight_client', 'haystack.components.agents'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
