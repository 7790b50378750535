"""Refreshing a mental model: computed here, written by the store in one transaction."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from hindsight_server.domain.errors import HindsightServerError, ModelError, ModelUnavailable, Overloaded, ReflectFailed
from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.text import Section, attributed, cited, parsed, rendered
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.language import CallAbout, LanguageModel
from hindsight_server.engine.language.checking import problems
from hindsight_server.engine.language.prompts import data_block, prompt
from hindsight_server.engine.mental_models import types as kinds
from hindsight_server.engine.mental_models.delta import Reads, ask_for_edits, trustworthy
from hindsight_server.engine.mental_models.grounding import answer_grounds, strings, without_inventions
from hindsight_server.engine.mental_models.scope import memory_scope, scope_warnings
from hindsight_server.engine.mental_models.types import Refreshing
from hindsight_server.engine.recall.types import Budget, RecallOutcome, RecallQuery
from hindsight_server.engine.reflect.types import ReflectOutcome, ReflectQuery
from hindsight_server.ports.llm import Message, Schema
from hindsight_server.ports.mental_models import MentalModel, PageContent, PageIndex
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)
_NEW_AT_ONCE = 60  # memories that one delta is shown
_NEW_CONSIDERED = 400
_SEARCH_TOKENS = 8192
_ENCODED_CHARACTERS = 2000  # a model reads no more of a text than about that
_PURPOSE = "mental_model"


class Answers(Protocol):
    """What answers a question from memory; `engine.reflect.Reflector` does."""

    async def reflect(self, bank_id: str, asked: ReflectQuery) -> ReflectOutcome: ...


class Finds(Protocol):
    """What finds memories; `engine.recall.Recaller` does."""

    async def recall(self, bank_id: str, query: RecallQuery) -> RecallOutcome: ...


class Refresher:
    """Computes refreshes.

    Args:
        model: edits pages; None when no language model is configured: then every refresh is a full one, and the page
            is made of quotations.
    """

    def __init__(
        self,
        store: Store,
        answers: Answers,
        finds: Finds,
        indexer: Indexer,
        reads: Reads,
        model: LanguageModel | None = None,
    ) -> None:
        self._store = store
        self._answers = answers
        self._finds = finds
        self._indexer = indexer
        self._reads = reads
        self._analyzer = reads.analyzer
        self._model = model

    async def compute(self, model: MentalModel, *, full: bool = False, operation_id: str | None = None) -> Refreshing:
        """What a refresh comes to; nothing is written.

        Raises:
            ModelUnavailable, Overloaded: a later try may succeed.
        """
        started = time.perf_counter()
        scope = await memory_scope(self._store, model)
        mark = await self._store.scope_mark(model.bank_id, scope)
        requested = "full" if full else model.trigger.mode
        run = Refreshing(model=model, scope=scope, mark=mark, requested=requested, effective=requested)
        run.warnings += scope_warnings(model, mark)
        self._choose_mode(run)
        try:
            if not mark.facts:
                run.outcome = kinds.NOTHING_NEW
            elif run.effective == "delta":
                await self._delta(run, operation_id)
            else:
                await self._full(run, operation_id)
        except (ModelUnavailable, Overloaded):
            raise
        except (ReflectFailed, ModelError) as problem:
            _failed(run, problem, searching=isinstance(problem, ReflectFailed) and self._model is None)
        if run.content is not None:
            await self._finish(run, run.content)
        run.duration_seconds = time.perf_counter() - started
        return run

    async def index(self, model: MentalModel, words: str) -> PageIndex:
        """What a model that says `words` is found by; its name and question are looked at when it is searched for."""
        text = f"{model.name}\n{model.source_query}\n{words}"[:_ENCODED_CHARACTERS]
        (encoding,) = await self._indexer.encode([text])
        return PageIndex(terms=Counter(self._analyzer.index_terms(words)), encoding=encoding)

    def _choose_mode(self, run: Refreshing) -> None:
        """A delta needs a page that answers the same question, and a model that edits it."""
        if run.effective != "delta":
            return
        model = run.model
        if model.content.text.is_empty:
            run.fallback = "no_baseline_content"
        elif model.content.answered_query != model.source_query:
            run.fallback = "source_query_changed"
        elif model.cut_at is not None:
            run.warnings.append("Memories that the page rested on were deleted or edited: it is written anew.")
        elif self._model is None:
            run.warnings.append("No language model is configured: the page is made of quotations, and written anew.")
        else:
            return
        run.effective = "full"

    async def _full(self, run: Refreshing, operation_id: str | None) -> None:
        model, trigger = run.model, run.model.trigger
        query = ReflectQuery(
            query=model.source_query,
            budget=Budget(trigger.budget or "mid"),
            max_tokens=model.max_tokens,
            tags=run.scope.tags,
            fact_types=trigger.fact_types,
            response_schema=trigger.response_schema,
            exclude_mental_models=trigger.exclude_mental_models,
            excluded_mental_models=frozenset((*(trigger.exclude_mental_model_ids or ()), model.mental_model_id)),
            purpose=_PURPOSE,
            operation_id=operation_id,
            **_search_options(model),
        )
        outcome = await self._answers.reflect(model.bank_id, query)
        run.tool_calls, run.model_calls, run.usage = outcome.tool_calls, outcome.model_calls, outcome.usage
        run.used, run.candidate = outcome.based_on, outcome.text.strip()
        if not run.candidate:
            run.fail(kinds.EMPTY, "empty_candidate", "The answer was empty; the page stays as it was.")
        elif not outcome.based_on and not outcome.mental_models:
            run.fail(kinds.EMPTY, "no_answer", "No memory answers the question; the page stays as it was.")
        elif trigger.response_schema is not None and self._model is not None and outcome.structured_output is None:
            why = outcome.structured_output_error or "the model gave none"
            run.fail(kinds.NO_STRUCTURE, "structured_output_failed", f"No answer by the response_schema: {why}")
        else:
            await self._take(run, outcome)

    async def _take(self, run: Refreshing, outcome: ReflectOutcome) -> None:
        """The page of an answer, with what each section rests on."""
        fact_ids = [fact.fact_id for fact in outcome.based_on]
        page = parsed(run.candidate, first_number=run.model.content.text.next_number)
        if self._model is None:
            page = cited(page, fact_ids)
        seen = [*fact_ids, *outcome.seen, *(await self._read_models(run.model, outcome))]
        facts = await self._closure(run.model.bank_id, seen)
        run.retrieved = Counter(fact.fact_type.value for fact in facts)
        if self._model is not None:
            page = without_inventions(run, page, answer_grounds(run, outcome, facts, self._reads))
        if run.failure is not None:
            return
        memories = {fact.fact_id: self._indexer.words(fact).terms.keys() for fact in facts}
        run.content = PageContent(
            text=attributed(page, self._terms, memories),
            fact_ids=tuple(fact_ids),
            seen_ids=tuple(dict.fromkeys([*seen, *memories])),
            answered_query=run.model.source_query,
            structured_output=outcome.structured_output,
            structured_output_error=outcome.structured_output_error,
        )

    async def _delta(self, run: Refreshing, operation_id: str | None) -> None:
        model, content = run.model, run.model.content
        run.changed_at = model.last_memory_seen_at
        found = await self._news(run)
        facts = trustworthy(found)
        if len(facts) < len(found):
            run.warnings.append(f"{len(found) - len(facts)} new memories that give orders were left out.")
        run.retrieved = Counter(fact.fact_type.value for fact in facts)
        run.candidate = rendered(content.text)
        about = CallAbout(bank_id=model.bank_id, purpose=_PURPOSE, operation_id=operation_id, scope="page_edits")
        if not facts and _lacks_structure(model):
            await self._structure(run, content, about)
            return
        if not facts or self._model is None:
            run.outcome = kinds.NOTHING_NEW
            return
        try:
            done, run.usage = await ask_for_edits(self._model, self._reads, model, facts, about)
        except ModelUnavailable:
            raise
        except ModelError as problem:
            run.fail(kinds.NOT_APPLIED, "delta_ops_failed", f"The edits could not be read: {problem}")
            return
        run.applied, run.skipped, run.skipped_by = done.applied, done.skipped, done.reasons
        if done.skipped and not done.applied:
            # The reasons quote the model. The error is kept, and stays when what it would quote is forgotten.
            told = f"None of the {len(done.skipped)} edits could be trusted; a dry run says why."
            run.fail(kinds.NOT_APPLIED, "delta_ops_all_skipped", told)
            return
        run.warnings += [f"An edit ({one['kind']}) was left out: {one['reason']}." for one in done.skipped]
        named = {fact_id for section in done.page.sections for fact_id in section.fact_ids}
        run.used = [fact for fact in facts if fact.fact_id in named]
        run.candidate = rendered(done.page)
        seen = await self._closure(model.bank_id, [fact.fact_id for fact in facts])
        run.content = replace(
            content,
            text=done.page,
            fact_ids=tuple(dict.fromkeys([*content.fact_ids, *(fact.fact_id for fact in run.used)])),
            seen_ids=tuple(dict.fromkeys([*content.seen_ids, *(fact.fact_id for fact in seen)])),
            trace=None,
        )
        if _lacks_structure(model) or (model.trigger.response_schema is not None and done.applied):
            await self._structure(run, run.content, about)

    async def _news(self, run: Refreshing) -> list[Fact]:
        """What was written since the last refresh; of much, what fits the question best."""
        model = run.model
        new = await self._store.facts_after(model.bank_id, model.seen_seq, run.scope, _NEW_CONSIDERED)
        if len(new) <= _NEW_AT_ONCE:
            return new[::-1]
        query = RecallQuery(
            query=model.source_query,
            types=model.trigger.fact_types,
            budget=Budget.HIGH,
            max_tokens=_SEARCH_TOKENS,
            tags=run.scope.tags,
        )
        fits = {hit.fact.fact_id for hit in (await self._finds.recall(model.bank_id, query)).results}
        chosen = [fact for fact in new if fact.fact_id in fits][:_NEW_AT_ONCE]
        chosen += [fact for fact in new if fact.fact_id not in fits][: _NEW_AT_ONCE - len(chosen)]
        run.warnings.append(
            f"{len(new)} or more memories are new; the {len(chosen)} that fit best were looked at. "
            "A full refresh looks at all."
        )
        return sorted(chosen, key=lambda fact: fact.seq)

    async def _structure(self, run: Refreshing, content: PageContent, about: CallAbout) -> None:
        """The edited page by the trigger's schema."""
        schema = run.model.trigger.response_schema
        assert schema is not None
        assert self._model is not None
        text = prompt(
            "mental_model_structure.v1",
            question=data_block("question", run.model.source_query),
            page=data_block("page", rendered(content.text)),
            schema=json.dumps(schema, ensure_ascii=False),
        )
        wanted = Schema(name="page", schema=schema, from_caller=True)
        try:
            said = await self._model.structured(
                [Message(role="user", text=text)], wanted, about=replace(about, scope="page_structure")
            )
        except ModelUnavailable:
            raise
        except ModelError as problem:
            run.fail(kinds.NO_STRUCTURE, "structured_output_failed", f"No answer by the response_schema: {problem}")
        else:
            run.usage += said.usage
            run.content = replace(content, structured_output=said.value, structured_output_error=None)

    async def _finish(self, run: Refreshing, content: PageContent) -> None:
        """What the page is found by, and whether it says anything new."""
        if content.text.is_empty:
            run.fail(kinds.EMPTY, "empty_candidate", "The answer is headings alone; the page stays as it was.")
            return
        terms = {section.section_id: tuple(self._terms(section)) for section in content.text.sections}
        run.content = replace(content, section_terms=terms)
        words = rendered(content.text)
        if words == rendered(run.model.content.text):
            run.outcome = kinds.UNCHANGED
        run.index = await self.index(run.model, words)

    async def _read_models(self, model: MentalModel, outcome: ReflectOutcome) -> list[str]:
        """What the mental models rest on that the writer was shown."""
        named = {one.mental_model_id for one in outcome.mental_models}
        named |= {one for call in outcome.tool_calls if "mental_model" in call.tool for one in strings(call.output)}
        if not named:
            return []
        held = await self._store.list_mental_models(model.bank_id)
        return [fact_id for one in held if one.mental_model_id in named for fact_id in one.content.seen_ids]

    async def _closure(self, bank_id: str, fact_ids: Iterable[str]) -> list[Fact]:
        """Memories with those that they were drawn from, as far as they are there."""
        facts = await self._store.facts_by_id(bank_id, list(dict.fromkeys(fact_ids)))
        known = {fact.fact_id for fact in facts}
        below = {one for fact in facts for one in fact.source_fact_ids} - known
        return [*facts, *(await self._store.facts_by_id(bank_id, sorted(below)))] if below else facts

    def _terms(self, section: Section) -> set[str]:
        return set(self._analyzer.index_terms(f"{section.heading}\n{section.text}"))


def _lacks_structure(model: MentalModel) -> bool:
    """Whether the trigger's schema came, or changed, after the page was answered by it."""
    schema, held = model.trigger.response_schema, model.content.structured_output
    return schema is not None and (held is None or bool(problems(schema, held)))


def _search_options(model: MentalModel) -> dict[str, Any]:
    """What the trigger says of the searches; the bank decides where it says nothing."""
    trigger = model.trigger
    given = {
        "observation_tokens": trigger.reflect_search_observations_max_tokens,
        "observation_entities": trigger.reflect_search_observations_include_entities,
        "recall_tokens": trigger.recall_max_tokens,
        "passages": trigger.include_chunks,
        "passage_tokens": trigger.recall_chunks_max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def _failed(run: Refreshing, problem: HindsightServerError, *, searching: bool) -> None:
    _log.warning(
        "refresh of mental model %r of bank %r failed: %s", run.model.mental_model_id, run.model.bank_id, problem
    )
    run.fail(kinds.FAILED, "retrieval_failed" if searching else "no_answer", str(problem))
