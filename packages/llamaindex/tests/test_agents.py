"""Real agents with a scripted model: memories reach the model, answers reach the bank."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from llamaindex_scripted import ScriptedLLM, calling, react

from hindsight_adapter_core import DeliveryOptions
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightMemory, create_hindsight_tools

# The framework's own: building an agent looks at every attribute of a Pydantic model, deprecated ones included, and
# ReActAgent asks its context a question that the workflow package deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

FACT = "Ada prefers a dark theme in every editor."
QUESTION = "Which theme does Ada prefer?"
PREFACE = "Below are relevant memories from previous conversations:"


def spoken(server: FakeHindsight, bank: str = "ada") -> list[tuple[str, str]]:
    """Role and words of every turn that was sent, in order."""
    elements = [json.loads(item["content"]) for item in server.items(bank)]
    assert all(len(one) == 1 for one in elements)
    return [(one[0]["role"], one[0]["content"]) for one in elements]


def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


def agent_of(kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    if kind == "react":
        return ReActAgent(tools=[], llm=llm, **options)
    if kind == "function":
        return FunctionAgent(tools=[], llm=llm, **options)
    if kind == "codeact":
        return CodeActAgent(code_execute_fn=lambda code: "42", llm=llm, **options)
    inner = ReActAgent(name="inner", description="answers", tools=[], llm=llm, **options)
    return AgentWorkflow(agents=[inner], root_agent="inner")


@pytest.mark.feature("L2")
@pytest.mark.parametrize("prompted", [False, True], ids=["no system prompt", "system prompt"])
@pytest.mark.parametrize("kind", ["react", "function", "codeact", "workflow"])
async def test_memories_reach_the_model_before_the_question(
    server: FakeHindsight, memory: HindsightMemory, kind: str, prompted: bool
) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM(react("dark") if kind in ("react", "workflow") else "dark")
    agent = agent_of(kind, llm, **({"system_prompt": "You are terse."} if prompted else {}))

    response = await agent.run(QUESTION, memory=memory)

    assert "dark" in str(response)
    whole = "\n".join(message.content or "" for message in llm.prompts[0])
    assert whole.count(FACT) == 1
    assert whole.count(PREFACE) == 1
    assert whole.index(FACT) < whole.rindex(QUESTION)


@pytest.mark.feature("L2")
async def test_a_react_agent_gets_them_at_the_head_of_the_question(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM(react("dark"))
    await ReActAgent(tools=[], llm=llm).run(QUESTION, memory=memory)
    header, question = llm.prompts[0]
    assert (header.role, question.role) == ("system", "user"), "roles still alternate"
    assert FACT not in (header.content or "")
    memories, asked = question.blocks
    assert memories.text.startswith(PREFACE)
    assert memories.text.endswith("\n\n")
    assert asked.text == QUESTION


@pytest.mark.feature("L2")
async def test_a_function_agent_gets_a_system_message_of_its_own(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM("dark")
    await FunctionAgent(tools=[], llm=llm).run(QUESTION, memory=memory)
    first, second = llm.prompts[0]
    assert first.role == "system"
    assert FACT in first.content
    assert (second.role, second.content) == ("user", QUESTION)


@pytest.mark.feature("L2")
@pytest.mark.parametrize("kind", ["react", "function", "codeact", "workflow"])
async def test_nothing_found_injects_nothing(server: FakeHindsight, memory: HindsightMemory, kind: str) -> None:
    server.remember("ada", "Unrelated.")
    llm = ScriptedLLM(react("hello") if kind in ("react", "workflow") else "hello")
    await agent_of(kind, llm).run("Hello there", memory=memory)
    assert server.requests_for("recall")
    assert not any("memories" in (message.content or "") for message in llm.prompts[0])


@pytest.mark.feature("L2")
async def test_a_handoff_to_a_react_agent_keeps_the_memories(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.remember("ada", FACT)
    first = ScriptedLLM(calling("handoff", to_agent="thinker", reason="harder"))
    second = ScriptedLLM(react("dark"))
    workflow = AgentWorkflow(
        agents=[
            FunctionAgent(name="desk", description="first", llm=first, can_handoff_to=["thinker"]),
            ReActAgent(name="thinker", description="second", llm=second, tools=[]),
        ],
        root_agent="desk",
    )
    await workflow.run(QUESTION, memory=memory)
    assert any(FACT in (message.content or "") for message in first.prompts[0])
    assert any(FACT in (message.content or "") for message in second.prompts[0])


@pytest.mark.feature("L3")
@pytest.mark.parametrize("kind", ["react", "function"])
async def test_one_recall_for_each_user_turn_however_many_tools_run(
    server: FakeHindsight, memory: HindsightMemory, kind: str
) -> None:
    server.remember("ada", FACT)
    act = 'Thought: I need a tool.\nAction: weather\nAction Input: {"city": "Oslo"}'
    step = [act, react("x")] if kind == "react" else [calling("weather", city="Oslo"), "x"]
    llm = ScriptedLLM(*step, *step)
    tools = [FunctionTool.from_defaults(weather)]
    agent = ReActAgent(tools=tools, llm=llm) if kind == "react" else FunctionAgent(tools=tools, llm=llm)
    # Surrounding blanks must not make a second query of the same words.
    await agent.run(QUESTION + " ", memory=memory)
    assert [one.body["query"] for one in server.requests_for("recall")] == [QUESTION]
    assert any(FACT in (message.content or "") for message in llm.prompts[1]), "the second step has them too"
    await agent.run(QUESTION, memory=memory)
    assert [one.body["query"] for one in server.requests_for("recall")] == [QUESTION, QUESTION]


@pytest.mark.feature("L6")
@pytest.mark.parametrize("kind", ["react", "function", "codeact", "workflow"])
async def test_question_and_answer_are_stored_with_every_agent(
    server: FakeHindsight, memory: HindsightMemory, kind: str
) -> None:
    reply = react("Noted.") if kind in ("react", "workflow") else "Noted."
    llm = ScriptedLLM(reply, reply)
    agent = agent_of(kind, llm)
    await agent.run("I moved to Bergen.", memory=memory)
    await agent.run("And I like rain.", memory=memory)
    assert spoken(server) == [
        ("user", "I moved to Bergen."),
        ("assistant", "Noted."),
        ("user", "And I like rain."),
        ("assistant", "Noted."),
    ]
    items = server.items("ada")
    assert len({item["document_id"] for item in items}) == 1
    assert all(item["update_mode"] == "append" for item in items)
    assert [item["metadata"]["role"] for item in items] == ["user", "assistant", "user", "assistant"]
    operations = [request.body["operation_id"] for request in server.requests_for("retain")]
    assert len(set(operations)) == 4, "each turn has an id of its own, equal words included"


@pytest.mark.feature("L6")
async def test_tool_calls_tool_output_and_interim_words_are_not_stored(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    llm = ScriptedLLM(calling("weather", "Let me look.", city="Oslo"), "It is sunny.")
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(weather)], llm=llm)
    await agent.run("How is Oslo?", memory=memory)
    assert spoken(server) == [("user", "How is Oslo?"), ("assistant", "It is sunny.")]
    assert [m.role.value for m in memory.get_all()] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.feature("L6")
async def test_code_and_its_output_are_not_stored(server: FakeHindsight, memory: HindsightMemory) -> None:
    llm = ScriptedLLM("<execute>\nprint(6 * 7)\n</execute>", "It is 42.")
    agent = CodeActAgent(code_execute_fn=lambda code: "42", llm=llm)
    await agent.run("What is six times seven?", memory=memory)
    assert spoken(server) == [("user", "What is six times seven?"), ("assistant", "It is 42.")]


@pytest.mark.feature("L4")
async def test_of_a_react_run_with_tools_only_the_answer_is_stored(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    act = 'Thought: I need a tool.\nAction: weather\nAction Input: {"city": "Oslo"}'
    agent = ReActAgent(tools=[FunctionTool.from_defaults(weather)], llm=ScriptedLLM(act, react("Sunny.")))
    await agent.run("How is Oslo?", memory=memory)
    assert spoken(server) == [("user", "How is Oslo?"), ("assistant", "Sunny.")]


async def test_injected_memories_are_never_stored_again(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.remember("ada", FACT)
    await ReActAgent(tools=[], llm=ScriptedLLM(react("dark"))).run(QUESTION, memory=memory)
    # Somebody feeds what the model saw into another conversation with the same bank.
    seen = await memory.aget()
    merged = [ChatMessage(role="user", blocks=[*seen[0].blocks, *seen[1].blocks])]
    other = HindsightMemory.from_url(server.url, "ada")
    await other.aset([*seen, *merged])
    assert all(FACT not in words for _, words in spoken(server))


async def test_the_state_that_an_agent_writes_into_its_prompt_stays_out_of_the_buffer(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    llm = ScriptedLLM("ok")
    agent = FunctionAgent(tools=[], llm=llm, initial_state={"mood": "calm"})
    await agent.run("Hi, I am Ada.", memory=memory)
    assert "mood" in (llm.prompts[0][-1].content or "")
    assert memory.get_all()[0].content == "Hi, I am Ada."


async def test_what_this_conversation_holds_is_not_recalled_into_it(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    llm = ScriptedLLM("ok", "ok")
    agent = FunctionAgent(tools=[], llm=llm)
    await agent.run("Ada prefers tea.", memory=memory)
    await agent.run("What does Ada prefer?", memory=memory)
    assert [message.role.value for message in llm.prompts[1]] == ["user", "assistant", "user"]


@pytest.mark.feature("L1")
async def test_a_new_conversation_starts_empty_and_recalls_the_earlier_one(server: FakeHindsight) -> None:
    told = HindsightMemory.from_url(server.url, "ada")
    await ReActAgent(tools=[], llm=ScriptedLLM(react("Noted."))).run("Ada prefers tea.", memory=told)
    llm = ScriptedLLM(react("Tea."))
    asked = HindsightMemory.from_url(server.url, "ada")
    assert asked.get_all() == []
    await ReActAgent(tools=[], llm=llm).run("What does Ada prefer?", memory=asked)
    assert any("- Ada prefers tea." in (message.content or "") for message in llm.prompts[0])


@pytest.mark.feature("L10")
@pytest.mark.parametrize("kind", ["react", "function"])
async def test_the_agent_answers_while_the_service_is_down(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with FakeHindsight() as server:
        gone = server.url
    memory = HindsightMemory.from_url(gone, "ada", delivery=DeliveryOptions(first_pause=0.05, longest_pause=0.1))
    llm = ScriptedLLM(react("still here") if kind == "react" else "still here")
    response = await agent_of(kind, llm).run("Hello?", memory=memory)
    assert "still here" in str(response)
    assert "Failed to search memory" in caplog.text
    assert "Failed to store memory" in caplog.text
    assert caplog.text.count("Failed to search memory") == 1, "a failed search is not repeated in the same turn"
    assert len(memory.get_all()) == 2
    with FakeHindsight(port=int(gone.rpartition(":")[2])) as back:
        assert await memory.aflush() == 0
        assert back.texts("ada") == ["Hello?", "still here"]


@pytest.mark.feature("L11")
async def test_memory_and_reflect_tool_together(server: FakeHindsight) -> None:
    server.remember("ada", "Ada must prioritize the release.")
    memory = HindsightMemory.from_url(server.url, "ada")
    tools = create_hindsight_tools(
        bank_id="ada", hindsight_api_url=server.url, include_retain=False, include_recall=False, include_reflect=True
    )
    llm = ScriptedLLM(
        'Thought: Reflect.\nAction: reflect_on_memory\nAction Input: {"query": "what must Ada prioritize"}',
        react("The release."),
    )
    response = await ReActAgent(tools=tools, llm=llm).run("What should I prioritize?", memory=memory)
    assert "The release." in str(response)
    assert len(server.requests_for("reflect")) == 1
    assert any("Ada must prioritize the release." in (m.content or "") for m in llm.prompts[1])
    assert spoken(server) == [("user", "What should I prioritize?"), ("assistant", "The release.")]


@pytest.mark.feature("L9")
async def test_a_context_goes_on_after_a_round_trip(server: FakeHindsight, memory: HindsightMemory) -> None:
    agent = FunctionAgent(tools=[], llm=ScriptedLLM("one", "two"))
    context = Context(agent)
    await agent.run("Ada prefers tea.", memory=memory, ctx=context)
    saved = json.loads(json.dumps(context.to_dict()))
    restored = Context.from_dict(agent, saved)
    await agent.run("Ada prefers rye bread.", ctx=restored)
    assert [words for _, words in spoken(server)] == ["Ada prefers tea.", "one", "Ada prefers rye bread.", "two"]
    assert len({item["document_id"] for item in server.items("ada")}) == 1


@pytest.mark.feature("L9")
@pytest.mark.parametrize("held", [True, False], ids=["held by the caller", "held by the context alone"])
async def test_a_context_keeps_the_key_from_run_to_run(server: FakeHindsight, held: bool) -> None:
    agent = FunctionAgent(tools=[], llm=ScriptedLLM("one", "two", "three"))
    context = Context(agent)
    memory = HindsightMemory.from_url(server.url, "ada", api_key="hsk_right")
    await agent.run("Ada prefers tea.", memory=memory, ctx=context)
    if not held:
        del memory
    await agent.run("Ada prefers rye bread.", ctx=context)
    assert "hsk_right" not in json.dumps(context.to_dict())
    await agent.run("Which bread?", ctx=context)
    assert len(server.requests_for("retain")) == 6
    assert {request.headers.get("Authorization") for request in server.requests} == {"Bearer hsk_right"}


@pytest.mark.feature("L10")
async def test_flush_waits_for_what_the_context_took(server: FakeHindsight) -> None:
    agent = FunctionAgent(tools=[], llm=ScriptedLLM(*"1234"))
    context, pauses = Context(agent), DeliveryOptions(first_pause=0.05, longest_pause=0.1)
    memory = HindsightMemory.from_defaults("ada", hindsight_api_url=server.url, delivery=pauses)
    await agent.run("One.", memory=memory, ctx=context)
    server.fail("retain", status=503, times=1000)
    for words in ("Two.", "Three.", "Four."):
        await agent.run(words, ctx=context)
    assert await memory.aflush(0.1) == 6
    server._trouble["retain"].clear()
    before = len(server.requests_for("retain"))
    assert await memory.aflush() == 0
    assert server.texts("ada") == ["One.", "1", "Two.", "2", "Three.", "3", "Four.", "4"]
    sent = [request.body["operation_id"] for request in server.requests_for("retain")[before:]]
    assert len(sent) == len(set(sent)) == 6, "no copy sends again what another one has queued"
