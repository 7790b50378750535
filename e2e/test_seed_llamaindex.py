"""The public guide to LlamaIndex with Hindsight: its snippets, run against a real server.

The snippets are the guide's. What differs: the model is scripted, and the server listens on a port of its own.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hindsight_client import Hindsight

import hindsight_llamaindex
from hindsight_llamaindex import HindsightMemory, create_hindsight_tools, reset_config

_SCRIPTED = Path(__file__).parents[1] / "packages" / "llamaindex" / "tests" / "scripted.py"
if "llamaindex_scripted" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("llamaindex_scripted", _SCRIPTED)
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["llamaindex_scripted"] = _module
    _spec.loader.exec_module(_module)

from llamaindex_scripted import ScriptedLLM, react  # noqa: E402 - loaded above

# The framework's own: building an agent looks at every attribute of a Pydantic model, deprecated ones included, and
# ReActAgent asks its context a question that the workflow package deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

AUTOMATIC = """
import asyncio
from hindsight_client import Hindsight
from hindsight_llamaindex import HindsightMemory
from llama_index.core.agent import ReActAgent

async def main():
    client = Hindsight(base_url="http://localhost:8888")
    memory = HindsightMemory.from_client(
        client=client,
        bank_id="user-123",
        mission="Track user preferences and project context",
    )
    agent = ReActAgent(tools=[], llm=OpenAI(model="gpt-4o"))
    response = await agent.run("Remember that I prefer dark mode", memory=memory)
    print(response)

asyncio.run(main())
"""

TOOL_SPEC = """
import asyncio
from hindsight_client import Hindsight
from hindsight_llamaindex import HindsightToolSpec
from llama_index.core.agent import ReActAgent

async def main():
    client = Hindsight(base_url="http://localhost:8888")
    spec = HindsightToolSpec(
        client=client,
        bank_id="user-123",
        mission="Track user preferences",
    )
    tools = spec.to_tool_list()
    agent = ReActAgent(tools=tools, llm=OpenAI(model="gpt-4o"))
    response = await agent.run("Remember that I prefer dark mode")
    print(response)

asyncio.run(main())
"""

FACTORY = """
from hindsight_llamaindex import create_hindsight_tools
tools = create_hindsight_tools(
    client=client,
    bank_id="user-123",
    mission="Track user preferences",
)
"""

CHOSEN = """
from hindsight_llamaindex import HindsightToolSpec, create_hindsight_tools
spec = HindsightToolSpec(client=client, bank_id="user-123")
by_name = spec.to_tool_list(spec_functions=["recall_memory", "reflect_on_memory"])
by_switch = create_hindsight_tools(
    client=client,
    bank_id="user-123",
    include_retain=True,
    include_recall=True,
    include_reflect=False,
)
"""

CONFIGURED = """
from hindsight_llamaindex import configure, create_hindsight_tools
configure(
    hindsight_api_url="http://localhost:8888",
    api_key="your-api-key",
    budget="mid",
    tags=["source:llamaindex"],
    context="my-app",
    mission="Track user preferences",
)
tools = create_hindsight_tools(bank_id="user-123")
"""

SCOPED = """
from hindsight_llamaindex import HindsightToolSpec
spec = HindsightToolSpec(
    client=client,
    bank_id="user-123",
    tags=["source:chat", "session:abc"],
    recall_tags=["source:chat"],
    recall_tags_match="any",
)
"""

TOGETHER = """
import asyncio
from hindsight_llamaindex import create_hindsight_tools, HindsightMemory
from llama_index.core.agent import ReActAgent

async def main():
    memory = HindsightMemory.from_client(client=client, bank_id="user-123")
    tools = create_hindsight_tools(
        client=client,
        bank_id="user-123",
        include_retain=False,
        include_recall=False,
        include_reflect=True,
    )
    agent = ReActAgent(tools=tools, llm=llm)
    response = await agent.run("What should I prioritize?", memory=memory)
    print(response)

asyncio.run(main())
"""


@pytest.fixture
def client(server_url: str) -> Hindsight:
    """For the snippets; they never open its own session, so there is nothing to close."""
    return Hindsight(base_url=server_url)


@pytest.fixture
def stored(server_url: str, bank: str) -> Callable[[str], list[Any]]:
    """What the server finds in the test's bank, asked without our packages."""

    async def search(query: str) -> list[Any]:
        client = Hindsight(base_url=server_url)
        try:
            return list((await client.arecall(bank, query)).results)
        finally:
            await client.aclose()

    return lambda query: asyncio.run(search(query))


@pytest.fixture
def bank() -> str:
    return f"user-{uuid4().hex[:8]}"


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HINDSIGHT_API_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK_ID"):
        monkeypatch.delenv(name, raising=False)
    yield
    reset_config()


@pytest.fixture
def run(server_url: str, bank: str) -> Callable[..., dict[str, Any]]:
    """Runs a snippet against the test's server and bank, with a scripted model; gives back its names."""

    def execute(snippet: str, *replies: str, **names: Any) -> dict[str, Any]:
        here = snippet.replace("http://localhost:8888", server_url).replace("user-123", bank)
        llm = ScriptedLLM(*replies)
        namespace: dict[str, Any] = {"OpenAI": lambda model: llm, "llm": llm, **names}
        exec(compile(here, "<guide>", "exec"), namespace)
        return namespace

    return execute


@pytest.mark.feature("L2")
def test_automatic_memory(
    run: Callable[..., dict[str, Any]], stored: Callable[[str], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(AUTOMATIC, react("Noted: dark mode."))
    assert "Noted: dark mode." in capsys.readouterr().out
    assert not any("memories" in (message.content or "") for message in first["llm"].prompts[0]), (
        "nothing to recall yet"
    )
    texts = [memory.text for memory in stored("Which mode is preferred?")]
    assert any("Remember that I prefer dark mode" in text for text in texts)
    assert not any("Thought:" in text for text in texts)

    # The next process, as far as the memory is concerned: another object, an empty buffer.
    second = run(AUTOMATIC.replace("Remember that I prefer dark mode", "Which mode do I prefer?"), react("Dark."))
    seen = "\n".join(message.content or "" for message in second["llm"].prompts[0])
    assert "Remember that I prefer dark mode" in seen
    assert seen.index("Remember that I prefer dark mode") < seen.index("Which mode do I prefer?")


@pytest.mark.feature("L6")
def test_a_session_is_one_document_of_turns(server_url: str, stored: Callable[[str], list[Any]], bank: str) -> None:
    from llama_index.core.agent.workflow import FunctionAgent

    async def talk() -> None:
        memory = HindsightMemory.from_url(server_url, bank)
        agent = FunctionAgent(tools=[], llm=ScriptedLLM("Bergen is rainy.", "Then an umbrella is needed."))
        await agent.run("I moved to Bergen in May 2024.", memory=memory)
        await agent.run("I cycle to work each day.", memory=memory)

    asyncio.run(talk())
    results = stored("Bergen umbrella cycle work rainy")
    assert len({one.document_id for one in results}) == 1
    whole = " ".join(one.text for one in results)
    for words in ("moved to Bergen", "Bergen is rainy", "cycle to work", "umbrella is needed"):
        assert words in whole


@pytest.mark.feature("L7")
def test_tool_spec(run: Callable[..., dict[str, Any]], stored: Callable[[str], list[Any]]) -> None:
    run(
        TOOL_SPEC,
        'Thought: Save it.\nAction: retain_memory\nAction Input: {"content": "The user prefers dark mode."}',
        react("Saved."),
    )
    assert "dark mode" in stored("Which mode does the user prefer?")[0].text


@pytest.mark.feature("L7")
def test_factory(run: Callable[..., dict[str, Any]], client: Hindsight) -> None:
    retain, recall, reflect = run(FACTORY, client=client)["tools"]
    assert recall.call(query="Which editor?").content == "No relevant memories found."
    assert retain.call(content="The user edits with Helix.").content == "Memory stored successfully."
    assert recall.call(query="Which editor, Helix?").content.startswith("1. ")
    assert "Helix" in asyncio.run(recall.acall(query="Which editor, Helix?")).content
    assert "Helix" in reflect.call(query="Which editor, Helix?").content


@pytest.mark.feature("L7")
def test_chosen_tools(run: Callable[..., dict[str, Any]], client: Hindsight, bank: str) -> None:
    names = run(CHOSEN, client=client)
    assert [tool.metadata.name for tool in names["by_name"]] == ["recall_memory", "reflect_on_memory"]
    assert [tool.metadata.name for tool in names["by_switch"]] == ["retain_memory", "recall_memory"]
    assert (
        create_hindsight_tools(
            client=client, bank_id=bank, include_retain=False, include_recall=False, include_reflect=False
        )
        == []
    )


@pytest.mark.feature("L12")
def test_configure(run: Callable[..., dict[str, Any]], stored: Callable[[str], list[Any]], bank: str) -> None:
    tools = run(CONFIGURED)["tools"]
    assert tools[0].call(content="The user likes configuration.").content == "Memory stored successfully."
    found = stored("Who likes configuration?")[0]
    assert (found.tags, found.context) == (["source:llamaindex"], "my-app")
    memory = HindsightMemory.from_defaults(bank)
    assert (memory.tags, memory.context, memory.mission) == (["source:llamaindex"], "my-app", "Track user preferences")


@pytest.mark.feature("L12")
def test_tags(run: Callable[..., dict[str, Any]], client: Hindsight, bank: str) -> None:
    tools = run(SCOPED, client=client)["spec"].to_tool_list()
    other = create_hindsight_tools(client=client, bank_id=bank, tags=["source:other"])
    other[0].call(content="The user parks the car on level five.")
    tools[0].call(content="The user parks the bike on level two.")
    answer = tools[1].call(query="Where does the user park, on which level?").content
    assert "bike" in answer
    assert "car" not in answer


@pytest.mark.feature("L11")
def test_memory_and_tools_together(
    run: Callable[..., dict[str, Any]], client: Hindsight, bank: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create_hindsight_tools(client=client, bank_id=bank)[0].call(content="The release on Friday is what to prioritize.")
    names = run(
        TOGETHER,
        'Thought: Think.\nAction: reflect_on_memory\nAction Input: {"query": "what to prioritize"}',
        react("The release."),
        client=client,
    )
    assert "The release." in capsys.readouterr().out
    observation = names["llm"].prompts[1][-1].content or ""
    assert "The release on Friday is what to prioritize." in observation


@pytest.mark.feature("L1")
def test_two_users_of_one_server(server_url: str, bank: str) -> None:
    ada, bob = f"{bank}-ada", f"{bank}-bob"
    for who, mode in ((ada, "dark"), (bob, "light")):
        HindsightMemory.from_url(server_url, who).put(_user(f"My favourite mode is {mode}."))
    seen = {who: str(HindsightMemory.from_url(server_url, who).get("favourite mode")) for who in (ada, bob)}
    assert ("dark" in seen[ada], "light" in seen[ada]) == (True, False)
    assert ("dark" in seen[bob], "light" in seen[bob]) == (False, True)


def _user(text: str) -> Any:
    from llama_index.core.llms import ChatMessage

    return ChatMessage(role="user", content=text)


def test_the_public_names() -> None:
    for name in hindsight_llamaindex.__all__:
        found = getattr(hindsight_llamaindex, name)
        assert name.startswith("__") or inspect.getdoc(found), name
