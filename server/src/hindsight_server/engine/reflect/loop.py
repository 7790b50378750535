"""The loop: the model asks, the memory answers, until the model is done."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hindsight_server.domain.errors import QuestionTooLong, ReflectFailed
from hindsight_server.engine.language import ToolTurn
from hindsight_server.engine.language.reading import without_reasoning
from hindsight_server.engine.reflect import tools
from hindsight_server.engine.reflect.evidence import Citations, without_marks
from hindsight_server.engine.reflect.metered import MeteredModel
from hindsight_server.engine.reflect.negative import says_nothing_found
from hindsight_server.engine.reflect.order import Order
from hindsight_server.engine.reflect.searches import Found, Searches
from hindsight_server.engine.reflect.talk import Talk
from hindsight_server.engine.reflect.types import ToolCall
from hindsight_server.engine.reflect.writer import NO_ANSWER, Draft, Writer
from hindsight_server.engine.together import together
from hindsight_server.ports.llm import Message, Tool, ToolRequest

_MOST_CALLS = 8  # of one turn; the others are not carried out
_MOST_BAD_ARGUMENTS = 2  # turns in a row without one usable call, when arguments are at fault
_MOST_WRONG_NAMES = 3  # likewise, when names are
_MOST_REPEATS = 2  # calls that were made before; then the model has to answer
_LONGEST_NAME = 60


@dataclass(slots=True)
class _State:
    """What has happened so far."""

    proses: int = 0  # turns in a row without a call
    used_tools: bool = False
    usable: bool = False  # a call of this turn
    bad_arguments: bool = False  # likewise
    stumbles: int = 0  # turns in a row without a usable call
    early: int = 0  # answers that came before the searches
    repeats: int = 0
    unsupported: bool = False
    asked: Counter[str] = field(default_factory=Counter)


class AgentLoop:
    """Answers one question with one model.

    Args:
        model: it is asked.
        talk: begins with the instructions and the question.
        searches: carry out its calls.
        order: what has to come before an answer.
        writer: writes the answer where the model calls no `done`.
        offered: the tools.
    """

    def __init__(
        self,
        model: MeteredModel,
        talk: Talk,
        searches: Searches,
        order: Order,
        writer: Writer,
        offered: tuple[Tool, ...],
    ) -> None:
        self._model = model
        self._talk = talk
        self._searches = searches
        self._order = order
        self._writer = writer
        self._offered = offered
        self._state = _State()
        self.calls: list[ToolCall] = []

    async def run(self, iterations: int) -> Draft:
        """The answer, with what it cites.

        Raises:
            ReflectFailed: the model can't use tools, gave no answer, or answered without any evidence; or a search
                failed.
            ModelError: the model did not answer.
        """
        for turn in range(1, iterations + 1):
            said = await self._ask(turn, last=turn == iterations or self._state.repeats >= _MOST_REPEATS)
            if said is None or self._state.proses > 1:
                break
            if not said.requests:
                await self._search_instead(turn, said)
                continue
            draft = await self._carry_out(turn, said)
            if draft is not None and said.truncated:
                break  # the limit of tokens cut the answer off, maybe within a word: it is written from the evidence
            if draft is not None:
                return draft
        return await self._write()

    async def _ask(self, turn: int, *, last: bool) -> ToolTurn | None:
        """The model's next turn; None when the conversation has grown too long for it."""
        if self._talk.full:
            return None
        choice = self._order.choice(last=last)
        offered = tools.offered([tools.DONE]) if last else self._offered
        try:
            said = await self._model.turn(f"agent_{turn}", self._talk.messages, offered, choice)
        except QuestionTooLong:
            if not len(self._searches.evidence):
                raise
            return None
        self._state.proses = self._state.proses + 1 if not said.requests else 0
        if self._state.proses > 1 and not self._state.used_tools:
            raise ReflectFailed(
                f"Model '{self._model.name}' answers in prose where it has to call a tool. Reflect needs a model "
                "that can call tools, and a server of it that hands them on."
            )
        return said

    async def _search_instead(self, turn: int, said: ToolTurn) -> None:
        """The model wrote prose instead of a call: search for it, so that it need not answer from nothing."""
        name = self._order.next_search() or self._order.widest
        found = await self._call(turn, name, {"query": self._writer.question})
        if said.text:
            self._talk.add_turn(said.message)
        told = f"You did not call a tool, so {name} was asked for you. It brought:\n{found.text}\n\n"
        self._talk.add(Message(role="user", text=f"{told}Call a tool: search on, or give the answer with `done`."))

    async def _carry_out(self, turn: int, said: ToolTurn) -> Draft | None:
        """Run what was asked for and tell the model what came of it; an answer that may be given ends the loop."""
        self._state.usable = self._state.bad_arguments = False
        self._talk.add_turn(said.message)
        alone = len(said.requests) == 1
        outcomes = await together(
            self._outcome(turn, number, asked, alone=alone) for number, asked in enumerate(said.requests)
        )
        for asked, outcome in zip(said.requests, outcomes, strict=True):
            if isinstance(outcome, Draft):
                return outcome
            self._talk.add(Message(role="tool", text=outcome, tool_request_id=asked.request_id))
        self._count_stumble()
        return None

    def _count_stumble(self) -> None:
        state = self._state
        state.stumbles = 0 if state.usable else state.stumbles + 1
        most = _MOST_BAD_ARGUMENTS if state.bad_arguments else _MOST_WRONG_NAMES
        if state.stumbles >= most:
            raise ReflectFailed(
                f"Model '{self._model.name}' called tools {state.stumbles} times in a way that can't be carried out. "
                "Reflect needs a model that can call tools."
            )

    async def _outcome(self, turn: int, number: int, asked: ToolRequest, *, alone: bool) -> Draft | str:
        """What came of one request: text for the model, or the answer."""
        known = [tool.name for tool in self._offered]
        if asked.name not in known:
            return f"There is no tool '{asked.name[:_LONGEST_NAME]}'. There are: {', '.join(known)}."
        try:
            arguments = tools.read_arguments(asked.name, asked.arguments)
        except tools.BadArguments as problem:
            self._state.bad_arguments = True
            return f"Not carried out: {problem}. Call {asked.name} again with arguments of its schema."
        self._state.used_tools = self._state.usable = True
        if asked.name == tools.DONE:
            return await self._judged(turn, arguments) if alone else "Not yet: call `done` alone, after the results."
        if number >= _MOST_CALLS:
            return f"Not carried out: at most {_MOST_CALLS} calls a turn."
        key = json.dumps([asked.name, arguments], sort_keys=True)
        self._state.asked[key] += 1
        if self._state.asked[key] > 1:
            self._state.repeats += 1
            return "You have asked exactly this before; the result is the same. Ask something else, or call `done`."
        return (await self._call(turn, asked.name, arguments)).text

    async def _call(self, turn: int, name: str, arguments: dict[str, Any]) -> Found:
        started = time.perf_counter()
        found = await self._searches.run(name, arguments)
        self._note(turn, name, arguments, dict(found.output), started)
        self._order.note(name, found)
        return found

    async def _judged(self, turn: int, arguments: dict[str, Any]) -> Draft | str:
        """The answer of `done`, or why it can't be the answer yet."""
        started = time.perf_counter()
        text, marked = without_marks(without_reasoning(arguments["answer"]))
        evidence = self._searches.evidence
        named = [*arguments.get("memory_ids", []), *marked]
        citations = evidence.cited(named, arguments.get("mental_model_ids", []))
        negative = arguments.get("found") is False or says_nothing_found(text)
        told = {"cited": len(citations.facts) + len(citations.mental_models), "unknown_citations": citations.unknown}
        early = self._order.objection(negative=negative or not citations.any)
        if early is None and not text.strip():
            raise ReflectFailed(NO_ANSWER)
        objection = early or self._without_evidence(citations, negative=negative)
        refused = {"refused": objection} if objection else {}
        self._note(turn, tools.DONE, arguments, {**told, **refused}, started)
        if early is not None:
            return await self._early(turn, early)
        return objection or Draft(text=text.strip(), citations=citations)

    async def _early(self, turn: int, objection: str) -> str:
        """What a model is told that answers before it searched; one that does so again is searched for."""
        self._state.early += 1
        name = self._order.next_search()
        if self._state.early == 1 or name is None:
            return objection
        found = await self._call(turn, name, {"query": self._writer.question})
        return f"Not yet: {name} was asked for you, since you did not. It brought:\n{found.text}"

    def _without_evidence(self, citations: Citations, *, negative: bool, last: bool = False) -> str | None:
        """An answer needs evidence, and "nothing found" a whole search. Told once; then it is an error."""
        if negative and self._order.incomplete and not citations.any:
            missing = ", ".join(sorted(self._order.incomplete))
            raise ReflectFailed(
                f"Part of the search failed ({missing}) and the rest does not answer the question, so it can't be "
                "said whether there is an answer. Try again."
            )
        if negative or self._order.found:
            return None
        if self._state.unsupported or last:
            raise ReflectFailed("The model gave an answer although nothing was found that it could rest on.")
        self._state.unsupported = True
        return "Nothing was found that this answer could rest on. Say so, and call `done` with found set to false."

    async def _write(self) -> Draft:
        """The answer from all that was found, where the model gave none: time, room or patience has run out."""
        if not self._order.searched_everything:
            await self._call(0, self._order.widest, {"query": self._writer.question})
        draft = await self._writer.from_evidence(self._searches.evidence)
        if not draft.text:
            raise ReflectFailed(NO_ANSWER)
        self._without_evidence(draft.citations, negative=says_nothing_found(draft.text), last=True)
        return draft

    def _note(self, turn: int, name: str, given: dict[str, Any], output: dict[str, Any], started: float) -> None:
        seconds = time.perf_counter() - started
        self.calls.append(ToolCall(tool=name, input=given, output=output, duration_seconds=seconds, iteration=turn))
