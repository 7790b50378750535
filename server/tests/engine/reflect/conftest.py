"""A bank with some memories, and reflect over it with a model whose answers are written beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.directives import Directives
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallOutcome, RecallQuery
from hindsight_server.engine.reflect import (
    MentalModelScope,
    MentalModelText,
    Reasoning,
    ReflectOptions,
    Reflector,
    ReflectOutcome,
    ReflectQuery,
)
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.llm import ChatReply, ChatRequest, ToolRequest, Usage
from hindsight_server.testing.scripted_model import ScriptedProvider, tool_call

TALK = """Ann: I adopted a dog yesterday, her name is Luna.
Bob: Lovely! My sister Carol moved to Oslo in 2015.
Ann: I work at the harbour museum now."""
QUESTION = "What is the name of Ann's dog?"


def calls(*named: tuple[str, dict[str, Any]]) -> ChatReply:
    """One turn that calls several tools."""
    asked = tuple(
        ToolRequest(request_id=f"call_{number}", name=name, arguments=arguments, raw=str(arguments))
        for number, (name, arguments) in enumerate(named)
    )
    return ChatReply(tool_requests=asked, usage=Usage(input_tokens=10, output_tokens=5))


def broken_call(name: str, raw: str = "{not json") -> ChatReply:
    """A call whose arguments are no JSON object."""
    return ChatReply(tool_requests=(ToolRequest(request_id="c", name=name, arguments=None, raw=raw),))


def recall(query: str = "Ann's dog", **more: Any) -> ChatReply:
    return tool_call("recall", query=query, **more)


def done(answer: str = "Her dog is called Luna.", *ids: str, **more: Any) -> ChatReply:
    return tool_call("done", answer=answer, memory_ids=list(ids), **more)


def told(request: ChatRequest) -> str:
    """The last message that the model was sent."""
    return request.messages[-1].text


class Shelf:
    """Mental models, as reflect reads them."""

    def __init__(self, *models: MentalModelText) -> None:
        self.models = list(models)
        self.scopes: list[MentalModelScope] = []
        self.failure: Exception | None = None

    def _visible(self, scope: MentalModelScope) -> list[MentalModelText]:
        self.scopes.append(scope)
        return [one for one in self.models if one.mental_model_id not in scope.excluded]

    async def any_mental_model(self, bank_id: str, scope: MentalModelScope) -> bool:
        return bool(self._visible(scope))

    async def search_mental_models(
        self, bank_id: str, query: str, scope: MentalModelScope, limit: int
    ) -> Sequence[MentalModelText]:
        if self.failure:
            raise self.failure
        return self._visible(scope)[:limit]

    async def read_mental_models(
        self, bank_id: str, mental_model_ids: Sequence[str], scope: MentalModelScope
    ) -> Sequence[MentalModelText]:
        return [one for one in self._visible(scope) if one.mental_model_id in mental_model_ids]


def mental_model(name: str = "dogs", text: str = "Ann has a dog, Luna.", *, fresh: bool = True) -> MentalModelText:
    return MentalModelText(mental_model_id=name, name=name, question=f"What of {name}?", text=text, fresh=fresh)


class WatchedRecaller:
    """The real one; what it is asked is kept, and it can be made to fail or to lack arms."""

    def __init__(self, recaller: Recaller) -> None:
        self._recaller = recaller
        self.asked: list[RecallQuery] = []
        self.failure: Exception | None = None
        self.degraded: tuple[str, ...] = ()

    async def recall(self, bank_id: str, query: RecallQuery) -> RecallOutcome:
        self.asked.append(query)
        if self.failure:
            raise self.failure
        found = await self._recaller.recall(bank_id, query)
        return replace(found, trace=replace(found.trace, degraded=self.degraded)) if self.degraded else found


class Desk:
    """Asks questions of a scripted model."""

    def __init__(self, engine: Any) -> None:
        analyzer = Analyzer()
        self.engine = engine
        self.analyzer = analyzer
        self.recaller = WatchedRecaller(Recaller(engine.store, HashingEmbedder(), analyzer, engine.clock))
        self.directives = Directives(engine.store, engine.clock)
        self.shelf: Shelf | None = None
        self.options = ReflectOptions()
        self.model_options = ModelOptions(max_retries=0, backoff_seconds=0.0)
        self.provider = ScriptedProvider([])

    async def retain(self, *texts: str, bank_id: str = "b", **options: Any) -> list[str]:
        """Keep texts, each a document of its own; the ids of the facts, in order."""
        items = [ItemInput(content=text, timestamp="2023-05-08T13:00:00Z", **options) for text in texts]
        await self.engine.retain(bank_id, items)
        return await self.ids(bank_id)

    async def ids(self, bank_id: str = "b") -> list[str]:
        from hindsight_server.ports.records import FactFilter

        page = await self.engine.memories.list(bank_id, FactFilter(), 1000)
        return [fact.fact_id for fact in sorted(page.items, key=lambda fact: fact.seq)]

    async def ask(self, script: Iterable[Any] | Any, question: str = QUESTION, **options: Any) -> ReflectOutcome:
        """One reflect; `options` are those of the query."""
        self.provider = ScriptedProvider(script)
        reasoning = Reasoning(
            model=LanguageModel(self.provider, self.model_options),
            banks=self.engine.banks,
            directives=self.directives,
            mental_models=self.shelf,
            options=self.options,
        )
        reflector = Reflector(self.engine.store, self.recaller, self.analyzer, self.engine.clock, reasoning)
        return await reflector.reflect("b", ReflectQuery(query=question, **options))

    @property
    def choices(self) -> list[str]:
        """What the model was made to do at each turn."""
        return [request.tool_choice for request in self.provider.requests if request.tools]

    @property
    def tools(self) -> set[str]:
        """What it was offered at first."""
        return {tool.name for tool in self.provider.requests[0].tools}


@pytest.fixture
async def desk(engine: Any) -> Desk:
    made = Desk(engine)
    await made.retain(TALK)
    return made
