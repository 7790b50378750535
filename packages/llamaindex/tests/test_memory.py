"""HindsightMemory as a BaseMemory, through both of its faces."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import pickle
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory.types import BaseMemory

from hindsight_adapter_core import Deadlines, DeliveryOptions
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightError, HindsightMemory, configure
from hindsight_llamaindex.compat import AGENTS_KEEP_THE_QUESTION
from hindsight_llamaindex.memory import DEFAULT_SYSTEM_PROMPT

FACT = "Ada prefers a dark theme."
QUESTION = "Which theme does Ada prefer?"


def user(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text, additional_kwargs=extra)


def assistant(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text, additional_kwargs=extra)


def elements(server: FakeHindsight, bank: str = "ada") -> list[dict[str, str]]:
    return [element for item in server.items(bank) for element in json.loads(item["content"])]


def words(server: FakeHindsight, bank: str = "ada") -> list[str]:
    return [element["content"] for element in elements(server, bank)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


Face = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Face:
    """Calls a method by its sync name; the async face awaits its twin. Both run inside this test's loop."""

    async def call(memory: HindsightMemory, method: str, *arguments: Any, **options: Any) -> Any:
        if request.param == "sync":
            return getattr(memory, method)(*arguments, **options)
        return await getattr(memory, f"a{method}")(*arguments, **options)

    return call


# -- construction ----------------------------------------------------------------------------------------------


@pytest.mark.feature("L1")
def test_it_is_a_base_memory_and_every_method_is_its_own() -> None:
    assert issubclass(HindsightMemory, BaseMemory)
    assert HindsightMemory.class_name() == "HindsightMemory"
    names = ("get", "get_all", "put", "put_messages", "set", "reset")
    for name in (*names, *(f"a{name}" for name in names)):
        assert getattr(HindsightMemory, name) is not getattr(BaseMemory, name, None), name
        assert inspect.iscoroutinefunction(getattr(HindsightMemory, name)) == name.startswith("a"), name


@pytest.mark.feature("L12")
def test_the_documented_parameters_and_defaults() -> None:
    parameters = inspect.signature(HindsightMemory.from_client).parameters
    assert {name: one.default for name, one in parameters.items() if one.default is not inspect.Parameter.empty} == {
        "mission": None,
        "context": "llamaindex",
        "budget": "mid",
        "max_tokens": 4096,
        "tags": None,
        "recall_tags": None,
        "recall_tags_match": "any",
        "system_prompt": DEFAULT_SYSTEM_PROMPT,
        "chat_history_limit": 100,
    }
    assert list(parameters)[:2] == ["client", "bank_id"]
    assert len(parameters) == 11
    assert set(parameters) <= set(inspect.signature(HindsightMemory.from_defaults).parameters)


@pytest.mark.feature("L1")
async def test_three_ways_to_make_one(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch, face: Face) -> None:
    from hindsight_client import Hindsight

    client = Hindsight(base_url=server.url)
    made = [
        HindsightMemory.from_client(client, "one"),
        HindsightMemory.from_client(client=client, bank_id="one", mission="m"),
        HindsightMemory.from_url(server.url, "one"),
        HindsightMemory.from_defaults("one", client=client),
        HindsightMemory(client=client, bank_id="one"),
    ]
    monkeypatch.setenv("HINDSIGHT_API_URL", server.url)
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "one")
    made.append(HindsightMemory.from_defaults())
    for number, memory in enumerate(made):
        await face(memory, "put", user(f"Fact number {number}."))
    assert words(server, "one") == [f"Fact number {number}." for number in range(len(made))]
    await client.aclose()


@pytest.mark.feature("L12")
def test_the_user_agent_and_the_key_from_the_environment(
    server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_API_KEY", "hsk_from_env")
    HindsightMemory.from_url(server.url, "ada").put(user("Hello Ada."))
    request = server.requests_for("retain")[0]
    assert request.headers["User-Agent"].startswith("hindsight-llamaindex/0.1.0")
    assert request.headers["Authorization"] == "Bearer hsk_from_env"


def test_the_client_class_is_looked_up_where_tests_replace_it(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[dict[str, Any]] = []

    class Stub:
        def __init__(self, **arguments: Any) -> None:
            built.append(arguments)

    monkeypatch.setattr("hindsight_llamaindex._client.Hindsight", Stub)
    HindsightMemory.from_url("http://h:1", "ada", api_key="k")
    HindsightMemory.from_defaults("ada")
    assert built[0] == {
        "base_url": "http://h:1",
        "api_key": "k",
        "timeout": 30.0,
        "user_agent": "hindsight-llamaindex/0.1.0",
    }
    assert built[1]["base_url"] == "https://api.hindsight.vectorize.io"


@pytest.mark.feature("L1")
async def test_any_object_with_the_methods_of_a_client_will_do(face: Face) -> None:
    client = MagicMock(spec=["retain", "aretain", "recall", "arecall", "create_bank", "acreate_bank"])
    for name in ("aretain", "arecall", "acreate_bank"):
        setattr(client, name, AsyncMock())
    for method in (client.recall, client.arecall):
        method.return_value.results = [SimpleNamespace(text=FACT)]
    memory = HindsightMemory.from_client(client, "ada", mission="m", tags=["t"])
    await face(memory, "put", user("Hello Ada."))
    assert f"- {FACT}" in (await face(memory, "get"))[0].content
    stored = client.aretain.await_args.kwargs
    assert (stored["bank_id"], stored["tags"], stored["update_mode"]) == ("ada", ["t"], "append")
    assert len(stored["document_id"].rpartition("-")[2]) == 12
    assert client.arecall.await_args.kwargs["query"] == "Hello Ada."
    assert client.acreate_bank.await_count == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"budget": "huge"}, "budget"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"tags": "one"}, "tags"),
        ({"recall_tags_match": "some"}, "recall_tags_match"),
        ({"system_prompt": "no place"}, "system_prompt"),
        ({"chat_history_limit": 0}, "chat_history_limit"),
        ({"bank_id": " "}, "bank_id"),
        ({"bank_id": None}, "bank"),
        ({"taggs": ["a"]}, "taggs"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(HindsightError, match=named):
        HindsightMemory.from_defaults(**{"bank_id": "ada", **options})


@pytest.mark.feature("L12")
async def test_configure_is_honoured_and_arguments_win(server: FakeHindsight, face: Face) -> None:
    configure(
        hindsight_api_url=server.url,
        api_key="hsk_configured",
        budget="high",
        max_tokens=77,
        tags=["source:config"],
        recall_tags=["source:config"],
        recall_tags_match="all",
        context="my-app",
        mission="Track everything",
    )
    memory = HindsightMemory.from_defaults("ada")
    await face(memory, "put", user("Hello Ada."))
    await face(memory, "get")
    assert server.banks["ada"].mission == "Track everything"
    item = server.items("ada")[0]
    assert (item["tags"], item["context"]) == (["source:config"], "my-app")
    body = server.requests_for("recall")[0].body
    assert (body["budget"], body["max_tokens"]) == ("high", 77)
    assert (body["tags"], body["tags_match"]) == (["source:config"], "all")
    assert server.requests_for("retain")[0].headers["Authorization"] == "Bearer hsk_configured"
    assert memory.explain()["budget"] == ("high", "configure()")

    explicit = HindsightMemory.from_defaults("ada", budget="mid", context="llamaindex", max_tokens=4096)
    assert (explicit.budget, explicit.context, explicit.max_tokens) == ("mid", "llamaindex", 4096)
    assert explicit.explain()["budget"] == ("mid", "argument")


@pytest.mark.feature("L12")
async def test_further_options_of_the_tools_hold_for_the_memory_and_its_dumps(server: FakeHindsight) -> None:
    configure(hindsight_api_url=server.url, recall_tags=["of everyone"])
    groups = [{"or": [{"tags": ["a"]}, {"tags": ["b"]}]}]
    memory = HindsightMemory.from_defaults(
        "ada",
        retain_metadata={"team": "blue"},
        source_tag=True,
        recall_types=["world"],
        tag_groups=groups,
        min_scores={"final": 0.2},
    )
    for one in (memory, HindsightMemory.from_dict(memory.to_dict()), pickle.loads(pickle.dumps(memory))):
        await one.aput(user(f"Hello {id(one)}."))
        one.get()
    for item in server.items("ada"):
        assert item["metadata"]["team"] == "blue"
        assert item["tags"] == ["source:llamaindex"]
    assert len(server.requests_for("recall")) == 3
    for asked in server.requests_for("recall"):
        assert asked.body["types"] == ["world"]
        assert asked.body["min_scores"]["final"] == 0.2
        assert [[part["tags"] for part in one["or"]] for one in asked.body["tag_groups"]] == [[["a"], ["b"]]]
        assert not asked.body.get("tags")


# -- get -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("L2")
async def test_memories_come_as_a_leading_system_message(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    server.remember("ada", FACT, "Ada likes the theme of rivers.")
    await face(memory, "put", user("Hi."))
    block, *history = await face(memory, "get", QUESTION)
    assert block.role == MessageRole.SYSTEM
    assert block.content == (
        "Below are relevant memories from previous conversations:\n\n"
        "- Ada likes the theme of rivers.\n- Ada prefers a dark theme.\n\n"
        "Use these memories to provide more personalized and contextual responses."
    )
    assert [message.content for message in history] == ["Hi."]
    assert memory.get_all() == history, "the block is no part of the buffer"


@pytest.mark.feature("L3")
async def test_the_query_is_the_input_or_the_last_user_message(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    await face(memory, "put_messages", [user("First words."), assistant("Aha."), user("Second words."), user(" ")])
    await face(memory, "get")
    await face(memory, "get", "Asked directly")
    await face(memory, "get", input="  ")
    assert [one.body["query"] for one in server.requests_for("recall")] == ["Second words.", "Asked directly"]


@pytest.mark.feature("L3")
async def test_nothing_to_ask_sends_nothing(server: FakeHindsight, memory: HindsightMemory, face: Face) -> None:
    assert await face(memory, "get") == []
    await face(memory, "put_messages", [assistant("Hello, how are you?"), ChatMessage(role="system", content="s")])
    assert len(await face(memory, "get")) == 2
    assert server.requests_for("recall") == []


@pytest.mark.feature("L3")
async def test_a_turn_recalls_once_and_the_next_turn_again(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    await face(memory, "put", user(QUESTION))
    for _ in range(3):
        await face(memory, "get")
        await face(memory, "get", QUESTION)
    await face(memory, "put", assistant("Dark."))
    await face(memory, "get")
    assert len(server.requests_for("recall")) == 1
    server.remember("ada", FACT)
    await face(memory, "put", user(QUESTION))
    assert FACT in (await face(memory, "get"))[0].content
    assert len(server.requests_for("recall")) == 2


@pytest.mark.skipif(AGENTS_KEEP_THE_QUESTION, reason="agents of 0.11 ask outside of turns, at every step")
async def test_outside_a_turn_every_question_is_asked_anew(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    assert await face(memory, "get", QUESTION) == []
    server.remember("ada", FACT)
    assert FACT in (await face(memory, "get", QUESTION))[0].content


@pytest.mark.feature("L12")
async def test_a_template_with_other_braces(server: FakeHindsight, face: Face) -> None:
    server.remember("ada", "Ada said {memories} and {0} about the theme.")
    memory = HindsightMemory.from_url(server.url, "ada", system_prompt='Reply as {"json": true}.\n{memories}\n{end}')
    block = (await face(memory, "get", "theme"))[0].content
    assert block == 'Reply as {"json": true}.\n- Ada said {memories} and {0} about the theme.\n{end}'


@pytest.mark.feature("L10")
@pytest.mark.parametrize("trouble", ["error", "drop", "slow"])
async def test_failures_are_logged_and_never_raised(
    server: FakeHindsight, face: Face, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="hindsight_llamaindex")
    memory = HindsightMemory(
        bank_id="ada",
        hindsight_api_url=server.url,
        deadlines=Deadlines(retain=0.2, recall=0.2),
        delivery=DeliveryOptions(first_pause=0.05, longest_pause=0.1),
    )
    for operation in ("retain", "recall"):
        if trouble == "error":
            server.fail(operation, status=500, times=4)
        elif trouble == "drop":
            server.drop(operation, times=4)
        else:
            server.delay(operation, 1.0, times=4)
    await face(memory, "put", user(QUESTION))
    assert [message.content for message in await face(memory, "get")] == [QUESTION]
    assert "Failed to store memory: " in caplog.text
    assert "Failed to search memory: " in caplog.text
    assert await memory.aflush() == 0
    assert server.texts("ada") == [QUESTION]


@pytest.mark.feature("L10")
async def test_without_a_key_nothing_goes_to_the_cloud(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    memory = HindsightMemory.from_defaults("ada")
    await face(memory, "put", user("A secret of mine."))
    assert len(await face(memory, "get")) == 1
    assert "HINDSIGHT_API_KEY" in caplog.text
    assert "hindsight serve" in caplog.text


# -- put -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("L6")
async def test_each_turn_is_one_dated_element_appended_to_one_document(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    await face(memory, "put", user("I am Ada.", name="ada_l", timestamp="2026-03-02T09:00:00+01:00"))
    await face(memory, "put", assistant("Hi Ada.", timestamp=datetime(2026, 3, 2, 8, 1, tzinfo=UTC)))
    await face(memory, "put", user("yes"))
    await face(memory, "put", user("yes"))
    first, second, third, fourth = elements(server)
    assert first == {
        "role": "user",
        "name": "ada_l",
        "content": "I am Ada.",
        "timestamp": "2026-03-02T09:00:00+01:00",
    }
    assert (second["role"], second["timestamp"]) == ("assistant", "2026-03-02T08:01:00+00:00")
    assert "name" not in second
    assert datetime.fromisoformat(third["timestamp"]).tzinfo is not None
    assert fourth["content"] == "yes"
    items = server.items("ada")
    assert len({item["document_id"] for item in items}) == 1
    assert {item["update_mode"] for item in items} == {"append"}
    assert items[0]["metadata"] == {"role": "user", "source": "llamaindex"}
    assert items[0]["context"] == "llamaindex"
    assert len({request.body["operation_id"] for request in server.requests_for("retain")}) == 4


@pytest.mark.skipif("blocks" not in ChatMessage.model_fields, reason="messages of 0.11 have no blocks")
async def test_only_genuine_words_are_stored(server: FakeHindsight, memory: HindsightMemory, face: Face) -> None:
    await face(
        memory,
        "put_messages",
        [
            ChatMessage(role="system", content="You are terse."),
            ChatMessage(role="developer", content="Be nice."),
            user("   "),
            ChatMessage(role="user", blocks=[ImageBlock(url="http://h/x.png")]),
            ChatMessage(role="user", blocks=[TextBlock(text="Look"), ImageBlock(url="http://h/x.png")]),
            ChatMessage(role="assistant", content=None),
            ChatMessage(role="tool", content="42"),
            ChatMessage(role="chatbot", content="Nice picture."),
        ],
    )
    assert words(server) == ["Look", "Nice picture."]
    assert len(memory.get_all()) == 8


@pytest.mark.feature("L4")
@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("Plain.", "Plain."),
        ("Thought: hm\nAnswer: Dark.", "Dark."),
        ("Thought: a\nAnswer: One.\nThought: b\nAnswer: Two.", "Two."),
        ("Thought: x\nAction: t\nAction Input: {}\nObservation: 1\nAnswer: Line one\nline two", "Line one\nline two"),
        ("Thought: only thinking", None),
        ("Action: t\nAction Input: {}", None),
        ("The Answer: is not at the head of a line", "The Answer: is not at the head of a line"),
    ],
)
async def test_react_traces(
    server: FakeHindsight, memory: HindsightMemory, face: Face, said: str, stored: str | None
) -> None:
    await face(memory, "put", assistant(said))
    assert words(server) == ([] if stored is None else [stored])
    assert memory.get_all()[0].content == said
    await face(memory, "put", user("Thought: mine\nAction: none"))
    assert words(server)[-1] == "Thought: mine\nAction: none"


@pytest.mark.feature("L5")
async def test_the_buffer_is_trimmed_and_reset_touches_nothing_else(server: FakeHindsight, face: Face) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", chat_history_limit=3)
    for number in range(5):
        await face(memory, "put", user(f"Message {number}."))
    assert [message.content for message in await face(memory, "get_all")] == [f"Message {n}." for n in (2, 3, 4)]
    assert len(words(server)) == 5
    sent = len(server.requests)
    await face(memory, "reset")
    assert await face(memory, "get_all") == []
    assert len(server.requests) == sent
    assert len(server.texts("ada")) == 5
    assert "Message 4." in (await face(memory, "get", "Message 4."))[0].content, "what was said may now be recalled"


async def test_the_question_is_searched_for_while_it_is_stored(
    server: FakeHindsight, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.remember("ada", "Ada likes the dark theme.")
    memory = HindsightMemory.from_url(server.url, "ada")
    done: list[str] = []
    work = server._work
    monkeypatch.setattr(server, "_work", lambda request: (done.append(request.operation), work(request))[1])
    server.delay("retain", 0.2)
    await face(memory, "put", user("Which theme?"))
    assert done[-2:] == ["recall", "retain"], "the search was done when the question was not stored yet"
    assert [one.body["query"] for one in server.requests_for("recall")] == ["Which theme?"]
    assert "dark theme" in str(await face(memory, "get"))
    assert len(server.requests_for("recall")) == 1


async def test_nothing_is_searched_ahead_where_nobody_asks(server: FakeHindsight, face: Face) -> None:
    memory = HindsightMemory.from_url(server.url, "ada")
    for number in range(4):
        await face(memory, "put", user(f"Message {number}."))
    assert len(server.requests_for("recall")) <= 1
    await face(memory, "get", "Message 3.")
    await face(memory, "put", user("Asked again."))
    await face(memory, "get")
    assert [one.body["query"] for one in server.requests_for("recall")][-2:] == ["Message 3.", "Asked again."]


@pytest.mark.feature("L5")
async def test_trimming_leaves_no_tool_output_without_its_call(server: FakeHindsight, face: Face) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", chat_history_limit=2)
    call = assistant("", tool_calls=[{"id": "1"}])
    await face(
        memory, "put_messages", [user("q"), call, ChatMessage(role="tool", content="42"), assistant("It is 42.")]
    )
    assert [message.content for message in memory.get_all()] == ["It is 42."]


async def test_turns_that_left_the_buffer_are_recalled(server: FakeHindsight, face: Face) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", chat_history_limit=2)
    await face(memory, "put_messages", [user("Ada prefers tea."), assistant("Noted."), user("What does Ada prefer?")])
    block, *history = await face(memory, "get")
    assert "- Ada prefers tea." in block.content
    assert "What does Ada prefer?" not in block.content
    assert len(history) == 2


@pytest.mark.feature("L10")
async def test_a_refused_turn_is_dropped_with_a_warning(
    server: FakeHindsight, memory: HindsightMemory, face: Face, caplog: pytest.LogCaptureFixture
) -> None:
    server.fail("retain", status=400)
    await face(memory, "put", user("Refused."))
    await face(memory, "put", user("Kept."))
    assert server.texts("ada") == ["Kept."]
    assert [message.content for message in memory.get_all()] == ["Refused.", "Kept."]
    assert "this turn is not remembered" in caplog.text
    assert await face(memory, "flush") == 0


@pytest.mark.feature("L10")
@pytest.mark.parametrize("trouble", ["refused for now", "broken", "cut after the work", "slow"])
async def test_a_turn_that_could_not_be_stored_is_stored_later_and_once(
    server: FakeHindsight, face: Face, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = quick(server.url, deadlines=Deadlines(retain=0.4))
    if trouble == "refused for now":
        server.fail("retain", status=503, times=5)
    elif trouble == "broken":
        server.fail("retain", status=500)
    elif trouble == "cut after the work":
        server.drop("retain", after_work=True)
    else:
        server.delay("retain", 1.0, after_work=True)
    await face(memory, "put", user("First."))
    await face(memory, "put", assistant("Second."))
    await face(memory, "put", user("Third."))
    assert await face(memory, "flush") == 0
    assert words_of(server) == ["First.", "Second.", "Third."]
    assert "tried again in the background" in caplog.text
    first = [request for request in server.requests_for("retain") if "First." in str(request.body)]
    assert len(first) > 1
    assert len({json.dumps(request.body, sort_keys=True) for request in first}) == 1, "each try is the same request"


@pytest.mark.feature("L10")
@pytest.mark.parametrize("through", ["dict", "pickle"])
async def test_what_could_not_be_stored_travels_with_a_dump(face: Face, through: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    memory = quick(url, deadlines=Deadlines(retain=0.2))
    await face(memory, "put_messages", [user("Said while the server was down."), assistant("Noted.")])
    dumped = json.dumps(memory.to_dict()) if through == "dict" else pickle.dumps(memory)
    with FakeHindsight(port) as server:
        again = pickle.loads(dumped) if isinstance(dumped, bytes) else HindsightMemory.from_dict(json.loads(dumped))
        await face(again, "put", user("Said when it was back."))
        assert await face(again, "flush") == 0
        assert await face(memory, "flush") == 0
        assert sorted(words_of(server)) == ["Noted.", "Said when it was back.", "Said while the server was down."]
        assert again.to_dict()["conversation"]["waiting"] == []
        assert memory.to_dict()["conversation"]["waiting"] == []


@pytest.mark.feature("L10")
async def test_background_storing_does_not_hold_the_agent(server: FakeHindsight, face: Face) -> None:
    memory = quick(server.url, retain_async=True)
    server.delay("retain", 1.0)
    await face(memory, "put", user("First."))
    assert words_of(server) == []
    await face(memory, "put", assistant("Second."))
    assert await face(memory, "flush") == 0
    assert words_of(server) == ["First.", "Second."]
    assert memory.retain_async
    assert all(request.body["async"] for request in server.requests_for("retain"))


def quick(url: str, **options: Any) -> HindsightMemory:
    pauses = DeliveryOptions(first_pause=0.05, longest_pause=0.1)
    return HindsightMemory.from_url(url, "ada", delivery=pauses, **options)


def words_of(server: FakeHindsight) -> list[str]:
    """What the server did store, in order; the words of refused requests are not among it."""
    return server.texts("ada")


def test_explain_names_the_server_and_where_the_address_came_from(
    server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HindsightMemory.from_url(server.url, "ada").explain()["hindsight_api_url"] == (server.url, "argument")
    monkeypatch.setenv("HINDSIGHT_API_URL", server.url)
    assert HindsightMemory.from_defaults("ada").explain()["hindsight_api_url"] == (server.url, "environment")
    configure(hindsight_api_url=server.url)
    assert HindsightMemory.from_defaults("ada").explain()["hindsight_api_url"] == (server.url, "configure()")


# -- set -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("L6")
async def test_set_replaces_the_buffer_and_stores_what_is_new(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    first = [user("One."), assistant("Two.")]
    await face(memory, "set", first)
    assert words(server) == ["One.", "Two."]
    await face(memory, "set", [*first, user("Three."), assistant("Four.")])
    assert words(server) == ["One.", "Two.", "Three.", "Four."]
    await face(memory, "set", [*first, user("Three."), assistant("Four.")])
    assert words(server) == ["One.", "Two.", "Three.", "Four."], "the same history again holds nothing new"
    await face(memory, "set", [user("Other."), assistant("Else."), user("Three?"), assistant("Four!")])
    assert words(server)[4:] == ["Three?", "Four!"], "as long as before, but another history"
    await face(memory, "set", [])
    assert memory.get_all() == []


@pytest.mark.feature("L6")
async def test_set_after_put_and_after_trimming_stores_nothing_twice(server: FakeHindsight, face: Face) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", chat_history_limit=2)
    history: list[ChatMessage] = []
    for number in range(4):
        history.append(user(f"Question {number}."))
        await face(memory, "set", history)
        answer = assistant(f"Thought: easy.\nAnswer: Reply {number}.")
        await face(memory, "put", answer)
        # The caller keeps the bare answer, the buffer kept the reasoning as well.
        history.append(assistant(f"Reply {number}."))
    await face(memory, "set", history[-2:])
    assert words(server) == [text for n in range(4) for text in (f"Question {n}.", f"Reply {n}.")]


@pytest.mark.feature("L6")
async def test_a_whole_history_given_to_a_new_memory_stores_its_last_exchange_only(
    server: FakeHindsight, memory: HindsightMemory, face: Face
) -> None:
    await face(memory, "set", [user("Old."), assistant("Older."), user("New."), assistant("Newer.")])
    assert words(server) == ["New.", "Newer."]
    again = HindsightMemory.from_defaults("ada", hindsight_api_url=server.url, chat_history=[user("Known.")])
    assert [message.content for message in again.get_all()] == ["Known."]
    await face(again, "set", [user("Known."), assistant("Yes.")])
    assert words(server) == ["New.", "Newer.", "Yes."]


# -- isolation -------------------------------------------------------------------------------------------------


@pytest.mark.feature("L1")
async def test_two_users_never_meet(server: FakeHindsight, face: Face) -> None:
    ada, bob = (HindsightMemory.from_url(server.url, bank) for bank in ("ada", "bob"))
    await face(ada, "put", user("My theme is dark."))
    await face(bob, "put", user("My theme is light."))
    new_ada, new_bob = (HindsightMemory.from_url(server.url, bank) for bank in ("ada", "bob"))
    assert "light" not in str(await face(new_ada, "get", "theme"))
    assert "dark" in str(await face(new_ada, "get", "theme"))
    assert "dark" not in str(await face(new_bob, "get", "theme"))


async def test_a_copy_for_another_bank_is_another_conversation(server: FakeHindsight, face: Face) -> None:
    ada = HindsightMemory.from_url(server.url, "ada")
    await face(ada, "put", user("My theme is dark."))
    bob = ada.model_copy(update={"bank_id": "bob"})
    assert bob.get_all() == []
    await face(bob, "put", user("My theme is light."))
    assert (server.texts("ada"), server.texts("bob")) == (["My theme is dark."], ["My theme is light."])
    assert len({item["document_id"] for item in server.items()}) == 2
    with pytest.raises(HindsightError, match="tags"):
        ada.model_copy(update={"tags": ["other"]})
    with pytest.raises(ValueError, match="frozen"):
        ada.tags = ["other"]


@pytest.mark.feature("L12")
async def test_tags_divide_a_bank(server: FakeHindsight, face: Face) -> None:
    def tagged(tag: str) -> HindsightMemory:
        return HindsightMemory.from_url(
            server.url, "shared", tags=[tag], recall_tags=[tag], recall_tags_match="any_strict"
        )

    await face(tagged("user:ada"), "put", user("My theme is dark."))
    await face(tagged("user:bob"), "put", user("My theme is light."))
    found = str(await face(tagged("user:ada"), "get", "theme"))
    assert "dark" in found
    assert "light" not in found


async def test_the_mission_creates_the_bank_once(server: FakeHindsight, face: Face) -> None:
    memory = HindsightMemory.from_url(server.url, "with-mission", mission="Track preferences")
    await face(memory, "put", user("Hello there."))
    await face(memory, "get")
    assert len(server.requests_for("bank")) == 1
    assert server.banks["with-mission"].mission == "Track preferences"


async def test_overlapping_puts_lose_and_repeat_nothing(server: FakeHindsight, memory: HindsightMemory) -> None:
    await asyncio.gather(*(memory.aput(user(f"Message {number}.")) for number in range(20)))
    assert sorted(words(server)) == sorted(f"Message {number}." for number in range(20))
    assert len({request.body["operation_id"] for request in server.requests_for("retain")}) == 20
