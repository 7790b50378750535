"""Reflect with a language model: what the loop needs is put together, and its answer made ready."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_server.domain.directives import Directive
from hindsight_server.domain.errors import ModelError, ReflectFailed, ReflectTimedOut
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.language import CallAbout
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect import tools
from hindsight_server.engine.reflect.defaults import search_settings, with_bank_defaults
from hindsight_server.engine.reflect.extractive import with_context
from hindsight_server.engine.reflect.guard import without_rules
from hindsight_server.engine.reflect.instructions import Instructions
from hindsight_server.engine.reflect.loop import AgentLoop
from hindsight_server.engine.reflect.metered import MeteredModel
from hindsight_server.engine.reflect.order import Order
from hindsight_server.engine.reflect.searches import Recaller, Searches, SearchScope
from hindsight_server.engine.reflect.sources import MentalModelScope
from hindsight_server.engine.reflect.talk import Talk
from hindsight_server.engine.reflect.types import Reasoning, ReflectOutcome, ReflectQuery
from hindsight_server.engine.reflect.writer import NO_ANSWER, Draft, Writer
from hindsight_server.engine.tag_resolution import resolved_tags
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.store import Store

_SHARES = {Budget.LOW: 0.5, Budget.MID: 1.0, Budget.HIGH: 2.0}
_OBSERVATION = "observation"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One reflect."""

    asked: ReflectQuery
    rules: Sequence[Directive]
    model: MeteredModel
    searches: Searches
    writer: Writer
    loop: AgentLoop


class ReasonedReflector:
    """Answers with a language model that searches the bank."""

    def __init__(
        self, store: Store, recaller: Recaller, analyzer: TextAnalyzer, clock: Clock, reasoning: Reasoning
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._analyzer = analyzer
        self._clock = clock
        self._with = reasoning

    async def answer(self, bank_id: str, question: str, asked: ReflectQuery) -> ReflectOutcome:
        """The answer with its evidence.

        Args:
            question: the words of the query, cleaned; its context is added here.
        """
        config = (await self._with.banks.config(bank_id)).config
        asked = with_bank_defaults(asked, config)
        run = await self._prepare(bank_id, with_context(question, asked), asked, config)
        until = asyncio.get_running_loop().time() + self._with.options.wall_seconds
        draft = await self._in_time(run, until)
        structured, problem = await self._structured(run, draft.text, until)
        return ReflectOutcome(
            text=draft.text,
            based_on=draft.citations.facts,
            mental_models=draft.citations.mental_models,
            directives=tuple(run.rules),
            seen=tuple(fact.fact_id for fact in run.searches.evidence.facts.values()),
            unknown_citations=draft.citations.unknown,
            tool_calls=tuple(run.loop.calls),
            model_calls=tuple(run.model.calls),
            structured_output=structured,
            structured_output_error=problem,
            usage=run.model.usage,
        )

    async def _prepare(self, bank_id: str, question: str, asked: ReflectQuery, config: Mapping[str, Any]) -> _Run:
        options, count_tokens = self._with.options, self._analyzer.count_tokens
        about = CallAbout(bank_id=bank_id, purpose=asked.purpose, operation_id=asked.operation_id)
        model = MeteredModel(self._with.model, about)
        rules = await self._with.directives.for_request(bank_id, asked.tags, every=asked.every_directive)
        now = asked.query_timestamp or self._clock.now()
        instructions = Instructions(config=config, directives=rules, now=now)
        writer = Writer(
            model=model,
            instructions=instructions,
            question=question,
            count_tokens=count_tokens,
            context_tokens=options.context_tokens,
        )
        tags = await resolved_tags(self._store, bank_id, asked.tags)
        readable = MentalModelScope(tags=tags, excluded=asked.excluded_mental_models)
        names = await self._offered(bank_id, asked, readable)
        scope = SearchScope(
            bank_id=bank_id, asked=asked, mental_models=readable, settings=search_settings(asked, config)
        )
        searches = Searches(self._store, self._recaller, self._with.mental_models, scope)
        first = (instructions.system("reflect_agent.v1"), instructions.question(question))
        talk = Talk(first, count_tokens, options.context_tokens)
        loop = AgentLoop(model, talk, searches, Order(names, asked.budget), writer, tools.offered(names))
        return _Run(asked=asked, rules=rules, model=model, searches=searches, writer=writer, loop=loop)

    async def _offered(self, bank_id: str, asked: ReflectQuery, readable: MentalModelScope) -> list[str]:
        """Names of the tools that there is something for, and that the request allows."""
        # What stands around a memory may bear tags that the request leaves out.
        names = [tools.DONE] if asked.tags is not None else [tools.DONE, tools.EXPAND]
        mental_models = self._with.mental_models
        wanted = mental_models is not None and not asked.exclude_mental_models
        if mental_models is not None and wanted and await mental_models.any_mental_model(bank_id, readable):
            names += [tools.SEARCH_MENTAL_MODELS, tools.READ_MENTAL_MODELS]
        types = set(asked.fact_types or ())
        if types == {_OBSERVATION} or ((not types or _OBSERVATION in types) and await self._has_observations(bank_id)):
            names.append(tools.SEARCH_OBSERVATIONS)
        if types != {_OBSERVATION}:
            names.append(tools.RECALL)
        return names

    async def _has_observations(self, bank_id: str) -> bool:
        return (await self._store.observation_scopes(bank_id, 1, 0)).total > 0

    async def _in_time(self, run: _Run, until: float) -> Draft:
        """The answer, as long as it may be. Raises ReflectTimedOut."""
        try:
            async with asyncio.timeout_at(until):
                return await self._draft(run)
        except TimeoutError:
            seconds = self._with.options.wall_seconds
            raise ReflectTimedOut(
                f"There was no answer within {seconds:g} seconds ({len(run.model.calls)} questions to the model, "
                f"{len(run.loop.calls)} calls of tools). Ask with a lower budget, or a narrower question."
            ) from None

    async def _draft(self, run: _Run) -> Draft:
        iterations = max(2, round(self._with.options.iterations * _SHARES[run.asked.budget]))
        draft = await run.loop.run(iterations)
        text = await run.writer.shortened(draft.text, run.asked.max_tokens)
        text = without_rules(clean_text(text), (rule.content for rule in run.rules)).strip()
        if not text:
            raise ReflectFailed(NO_ANSWER)
        return Draft(text=text, citations=draft.citations)

    async def _structured(self, run: _Run, text: str, until: float) -> tuple[Mapping[str, Any] | None, str | None]:
        """The answer by the schema of the request, or why there is none: the text stands anyway."""
        if run.asked.response_schema is None:
            return None, None
        try:
            async with asyncio.timeout_at(until):
                return await run.writer.structured(text, run.asked.response_schema), None
        except TimeoutError:
            return None, "There was no time left for the structured answer."
        except ModelError as problem:
            return None, str(problem)
