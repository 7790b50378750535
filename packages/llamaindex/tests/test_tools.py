"""The memory tools: the contract of all adapters, and what is LlamaIndex's own."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from llamaindex_scripted import FunctionAgent, ReActAgent, ScriptedLLM, calling, react

from hindsight_adapter_core import TOOL_SPECS, DeliveryOptions
from hindsight_adapter_core.testing import AdapterContract, AdapterUnderTest, FakeHindsight
from hindsight_llamaindex import HindsightError, HindsightToolSpec, configure, create_hindsight_tools

NAMES = ["retain_memory", "recall_memory", "reflect_on_memory"]

# The framework's own, see test_agents.py.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]


@pytest.mark.feature("L7")
class TestTools(AdapterContract):
    """The adapters' contract on FunctionTool objects."""

    def adapt(self, **options: Any) -> AdapterUnderTest:
        tools = {tool.metadata.name: tool for tool in create_hindsight_tools(**options)}

        async def acall(name: str, **arguments: Any) -> str:
            return str((await tools[name].acall(**arguments)).content)

        return AdapterUnderTest(
            call=lambda name, **arguments: str(tools[name].call(**arguments).content),
            acall=acall,
            dump=lambda: "\n".join(f"{tool!r} {vars(tool)} {tool.metadata}" for tool in tools.values()),
        )


@pytest.mark.feature("L12")
def test_the_documented_parameters_and_defaults() -> None:
    documented = {
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
        "retain_context": "llamaindex",
        "recall_types": None,
        "recall_include_entities": False,
        "reflect_context": None,
        "reflect_max_tokens": None,
        "reflect_response_schema": None,
        "reflect_tags": None,
        "reflect_tags_match": None,
        "mission": None,
    }
    ours = {
        "raise_on_error": False,
        "retain_async": False,
        "source_tag": False,
        "tag_groups": None,
        "min_scores": None,
        "deadlines": None,
        "delivery": None,
    }
    for target, own in (
        (HindsightToolSpec, ours),
        (create_hindsight_tools, {**ours, "include_retain": True, "include_recall": True, "include_reflect": True}),
    ):
        parameters = dict(inspect.signature(target).parameters)
        assert parameters.pop("bank_id").default is inspect.Parameter.empty
        assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters.values())
        assert {name: one.default for name, one in parameters.items()} == {**documented, **own}


@pytest.mark.feature("L7")
def test_the_spec_is_a_tool_spec_of_three_pairs(server: FakeHindsight) -> None:
    spec = HindsightToolSpec(bank_id="ada", hindsight_api_url=server.url)
    assert isinstance(spec, BaseToolSpec)
    assert spec.spec_functions == [(name, f"a{name}") for name in NAMES]
    assert [tool.metadata.name for tool in spec.to_tool_list()] == NAMES


@pytest.mark.feature("L7")
@pytest.mark.parametrize(
    "chosen",
    [
        ["recall_memory", "reflect_on_memory"],
        [("recall_memory", "arecall_memory"), ("reflect_on_memory", "areflect_on_memory")],
        ["arecall_memory", "areflect_on_memory"],
    ],
)
async def test_chosen_tools_are_real_in_both_forms(server: FakeHindsight, chosen: list[Any]) -> None:
    server.remember("ada", "Ada likes tea.")
    tools = HindsightToolSpec(bank_id="ada", hindsight_api_url=server.url).to_tool_list(spec_functions=chosen)
    assert [tool.metadata.name for tool in tools] == NAMES[1:]
    for tool in tools:
        assert isinstance(tool, FunctionTool)
        assert inspect.iscoroutinefunction(tool.async_fn)
        assert not inspect.iscoroutinefunction(tool.fn)
        # Sync, inside this running loop, and awaited.
        assert "Ada likes tea." in tool.call("tea").content
        assert "Ada likes tea." in (await tool.acall("tea")).content
        assert "Ada likes tea." in tool(query="tea").content


@pytest.mark.feature("L7")
@pytest.mark.parametrize("kept", range(8))
def test_include_flags_trim_the_list(server: FakeHindsight, kept: int) -> None:
    flags = [bool(kept & 1), bool(kept & 2), bool(kept & 4)]
    tools = create_hindsight_tools(
        bank_id="ada",
        hindsight_api_url=server.url,
        include_retain=flags[0],
        include_recall=flags[1],
        include_reflect=flags[2],
    )
    assert [tool.metadata.name for tool in tools] == [name for name, flag in zip(NAMES, flags, strict=True) if flag]


@pytest.mark.feature("L7")
def test_what_a_model_sees(server: FakeHindsight) -> None:
    for tool, spec in zip(create_hindsight_tools(bank_id="a", hindsight_api_url=server.url), TOOL_SPECS, strict=True):
        assert tool.metadata.description == spec.description
        schema = tool.metadata.get_parameters_dict()
        assert schema["required"] == [spec.argument]
        assert schema["properties"][spec.argument]["type"] == "string"
        assert schema["properties"][spec.argument]["description"] == spec.argument_description
        assert tool.metadata.to_openai_tool()["function"]["name"] == spec.name


@pytest.mark.feature("L12")
async def test_every_option_reaches_the_wire(server: FakeHindsight) -> None:
    server.reflect_output = {"theme": "dark"}
    retain, recall, reflect = create_hindsight_tools(
        bank_id="ada",
        hindsight_api_url=server.url,
        api_key="hsk_1",
        budget="high",
        max_tokens=99,
        tags=["source:chat"],
        recall_tags=["source:chat"],
        recall_tags_match="all_strict",
        retain_metadata={"origin": "test"},
        retain_document_id="doc-1",
        retain_context="notes",
        recall_types=["world"],
        recall_include_entities=True,
        reflect_context="be brief",
        reflect_max_tokens=55,
        reflect_response_schema={"type": "object"},
        reflect_tags=["source:other"],
        reflect_tags_match="any_strict",
        mission="Track themes",
    )
    assert retain.call(content="Dark theme.").content == "Memory stored successfully."
    assert recall.call(query="theme").content == "1. Dark theme."
    assert json.loads((await reflect.acall(query="theme")).content) == {"theme": "dark"}

    item = server.items("ada")[0]
    assert (item["tags"], item["metadata"], item["document_id"], item["context"]) == (
        ["source:chat"],
        {"origin": "test"},
        "doc-1",
        "notes",
    )
    asked = server.requests_for("recall")[0].body
    assert (asked["budget"], asked["max_tokens"], asked["types"]) == ("high", 99, ["world"])
    assert (asked["tags"], asked["tags_match"]) == (["source:chat"], "all_strict")
    assert asked["include"]["entities"] is not None
    reflected = server.requests_for("reflect")[0].body
    assert (reflected["context"], reflected["max_tokens"]) == ("be brief", 55)
    assert (reflected["tags"], reflected["tags_match"]) == (["source:other"], "any_strict")
    assert reflected["response_schema"] == {"type": "object"}
    assert server.banks["ada"].mission == "Track themes"
    assert server.requests_for("retain")[0].headers["Authorization"] == "Bearer hsk_1"


@pytest.mark.feature("L12")
def test_configure_is_honoured_and_arguments_win(server: FakeHindsight) -> None:
    configure(hindsight_api_url=server.url, budget="high", context="my-app", tags=["source:config"], mission="m")
    create_hindsight_tools(bank_id="ada")[0].call("Stored.")
    create_hindsight_tools(bank_id="ada", retain_context="llamaindex", tags=["mine"])[0].call("Stored too.")
    first, second = server.items("ada")
    assert (first["context"], first["tags"]) == ("my-app", ["source:config"])
    assert (second["context"], second["tags"]) == ("llamaindex", ["mine"])
    spec = HindsightToolSpec(bank_id="ada", max_tokens=10)
    assert spec.explain()["budget"] == ("high", "configure()")
    assert spec.explain()["max_tokens"] == (10, "argument")


@pytest.mark.feature("L7")
async def test_stored_in_the_background_when_asked(server: FakeHindsight) -> None:
    spec = HindsightToolSpec(
        bank_id="ada",
        hindsight_api_url=server.url,
        retain_async=True,
        source_tag=True,
        delivery=DeliveryOptions(first_pause=0.01),
    )
    (retain,) = spec.to_tool_list(["retain_memory"])
    server.fail("retain", status=503, headers={"Retry-After": "0"}, times=2)
    for number, answer in enumerate((retain.call(content="One."), await retain.acall(content="Two."))):
        assert answer.content == "Memory accepted; it is being stored in the background.", number
    assert spec.flush() == await spec.aflush() == 0
    assert sorted(server.texts("ada")) == ["One.", "Two."]
    assert server.items("ada")[0]["tags"] == ["source:llamaindex"]


@pytest.mark.feature("L7")
async def test_filters_reach_the_wire(server: FakeHindsight) -> None:
    groups = [{"or": [{"tags": ["a"]}, {"tags": ["b"]}]}]
    _, recall, reflect = create_hindsight_tools(
        bank_id="ada", hindsight_api_url=server.url, tag_groups=groups, min_scores={"final": 0.2}
    )
    recall.call(query="tea")
    await reflect.acall(query="tea")
    asked = server.requests_for("recall")[0].body
    assert [one["or"][0]["tags"] for one in asked["tag_groups"]] == [["a"]]
    assert asked["min_scores"]["final"] == 0.2
    assert len(server.requests_for("reflect")[0].body["tag_groups"]) == 1


@pytest.mark.feature("L7")
async def test_a_failure_is_a_failed_tool_call_when_asked(server: FakeHindsight) -> None:
    server.fail("recall", status=400, detail="no such luck", times=2)
    tools = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url, raise_on_error=True)
    with pytest.raises(HindsightError, match=r"Failed to search memory: .*no such luck"):
        tools[1].call(query="tea")
    llm = ScriptedLLM(calling("recall_memory", query="tea"), "I could not look.")
    handler = FunctionAgent(tools=tools, llm=llm).run("What do I drink?")
    outputs = [event.tool_output async for event in handler.stream_events() if hasattr(event, "tool_output")]
    assert "I could not look." in str(await handler)
    assert [one.is_error for one in outputs] == [True]
    assert "Failed to search memory: " in str(outputs[0].content)


@pytest.mark.feature("K1")
async def test_a_spec_says_where_its_settings_come_from_and_closes(
    server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_API_KEY", "hsk_from-the-environment")
    spec = HindsightToolSpec(bank_id="ada", hindsight_api_url=server.url)
    assert spec.explain()["hindsight_api_url"] == (server.url, "argument")
    assert spec.explain()["api_key"] == ("set", "environment")
    assert "hsk_" not in repr(spec.explain())
    for _ in range(2):
        spec.retain_memory("Said.")
        spec.close()
        await spec.aretain_memory("Said again.")
        await spec.aclose()
    assert len(server.texts("ada")) == 4


@pytest.mark.parametrize(
    ("options", "named"),
    [({"budget": "huge"}, "budget"), ({"recall_types": ["opinions"]}, "recall_types"), ({"bank_id": ""}, "bank_id")],
)
def test_bad_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(HindsightError, match=named):
        create_hindsight_tools(**{"bank_id": "ada", **options})


@pytest.mark.feature("L7")
@pytest.mark.parametrize("kind", ["react", "function"])
async def test_an_agent_remembers_by_its_tools(server: FakeHindsight, kind: str) -> None:
    tools = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url)
    if kind == "react":
        llm = ScriptedLLM(
            'Thought: Save it.\nAction: retain_memory\nAction Input: {"content": "Ada prefers a dark theme."}',
            'Thought: Check.\nAction: recall_memory\nAction Input: {"query": "theme"}',
            react("Dark."),
        )
        agent: Any = ReActAgent(tools=tools, llm=llm)
    else:
        llm = ScriptedLLM(
            calling("retain_memory", content="Ada prefers a dark theme."),
            calling("recall_memory", query="theme"),
            "Dark.",
        )
        agent = FunctionAgent(tools=tools, llm=llm)
    assert "Dark." in str(await agent.run("Remember that I prefer dark mode"))
    assert server.texts("ada") == ["Ada prefers a dark theme."]
    assert "1. Ada prefers a dark theme." in (llm.prompts[2][-1].content or "")
