"""Writing without tools: an answer from the evidence, a shorter one, a structured one."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, ModelError, QuestionTooLong, ReflectFailed
from hindsight_server.engine.language.prompts import data_block, prompt
from hindsight_server.engine.reflect.evidence import (
    Citations,
    Evidence,
    lines,
    shown_fact,
    shown_mental_model,
    without_marks,
)
from hindsight_server.engine.reflect.instructions import Instructions
from hindsight_server.engine.reflect.metered import MeteredModel
from hindsight_server.engine.together import together
from hindsight_server.ports.llm import Message, Schema

_log = logging.getLogger(__name__)

NO_ANSWER = "The model gave an empty answer. Ask again; if it happens often, another model will do better."
_CUT_OFF = (
    "The model's answer was cut off by its limit of tokens. Raise HINDSIGHT_API_REFLECT_LLM_MAX_TOKENS where it is "
    "set, or use a model that may write more."
)
_SHARE = 0.7  # of the context that evidence may take; the rest is for instructions, the question and the answer
_FEWEST_TOKENS = 1000  # a part that is still too long for the model at this size is the model's own failure
_WORDS_A_TOKEN = 0.75
_SLACK = 1.1  # an answer that is hardly longer than wanted is left as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An answer and what it cites."""

    text: str
    citations: Citations


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes with one model for one question.

    Args:
        count_tokens: counts the tokens of a text.
        context_tokens: tokens that the model is asked to read at most.
    """

    model: MeteredModel
    instructions: Instructions
    question: str
    count_tokens: Callable[[str], int]
    context_tokens: int

    async def from_evidence(self, evidence: Evidence) -> Draft:
        """An answer from all that was found; more than the model can read at once goes through notes.

        Raises:
            ReflectFailed: the model wrote nothing, or was cut off.
        """
        rows = [shown_mental_model(one) for one in evidence.mental_models.values()]
        rows += [shown_fact(name, fact) for name, fact in evidence.facts.items()]
        text = await self._fitting(lines(rows))
        bare, names = without_marks(text)
        ids = [model_id for model_id in evidence.mental_models if f"[{model_id}]" in bare]
        for model_id in ids:
            bare = re.sub(rf"[ \t]*\[{re.escape(model_id)}\]", "", bare)
        return Draft(text=bare.strip(), citations=evidence.cited(names, ids))

    async def shortened(self, answer: str, most: int) -> str:
        """The answer in at most `most` tokens, or nearly: one try; the shorter of both is taken."""
        tokens = self.count_tokens(answer)
        if tokens <= most * _SLACK:
            return answer
        if tokens > self.context_tokens * _SHARE:
            raise ReflectFailed("The model's answer is too long to be read again, and nothing of it can be trusted.")
        wanted = {"words": str(max(1, int(most * _WORDS_A_TOKEN))), "tokens": str(max(1, most))}
        system = self.instructions.system("reflect_shorten.v1", **wanted)
        asked = Message(role="user", text=data_block("answer", answer))
        try:
            said = await self.model.complete("shorten", [system, asked])
        except ModelError:  # the answer is there, and only longer than was wanted
            _log.warning("an answer could not be shortened", exc_info=True)
            return answer
        usable = not said.truncated and self.count_tokens(said.text) < tokens
        return without_marks(said.text)[0].strip() if usable else answer

    async def structured(self, answer: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer as an object of a schema. Raises ModelError."""
        messages = [
            Message(role="system", text=prompt("reflect_structure.v1")),
            Message(role="user", text=f"Question: {self.question}\n\n{data_block('answer', answer)}"),
        ]
        wanted = Schema(name="answer", schema=schema, from_caller=True)
        said = await self.model.structured("structured", messages, wanted)
        return said.value

    async def _fitting(self, evidence: str) -> str:
        """The text of the answer; parts are made smaller until the model can read them."""
        most = int(self.context_tokens * _SHARE)
        while True:
            try:
                return await self._written(evidence, most)
            except QuestionTooLong:
                most = min(most, self.count_tokens(evidence)) // 2
                if most < _FEWEST_TOKENS:
                    raise

    async def _written(self, evidence: str, most: int) -> str:
        while self.count_tokens(evidence) > most:
            parts = list(_parts(evidence, most, self.count_tokens))
            notes = await together(self._notes(number, part) for number, part in enumerate(parts, 1))
            shorter = "\n".join(notes)
            if self.count_tokens(shorter) >= self.count_tokens(evidence):
                raise ReflectFailed("The evidence is too long for the model, and its notes do not make it shorter.")
            evidence = shorter
        system = self.instructions.system("reflect_final.v1")
        return await self._whole("final", [system, self._asked(evidence or "(nothing was found)")])

    async def _notes(self, number: int, part: str) -> str:
        system = self.instructions.system("reflect_notes.v1")
        return await self._whole(f"notes_{number}", [system, self._asked(part)])

    async def _whole(self, scope: str, messages: Sequence[Message]) -> str:
        """What the model writes, whole and not empty. Raises ReflectFailed."""
        try:
            said = await self.model.complete(scope, messages)
        except BadModelAnswer:
            raise ReflectFailed(NO_ANSWER) from None
        except AnswerTooLong:
            raise ReflectFailed(_CUT_OFF) from None
        if said.truncated:
            raise ReflectFailed(_CUT_OFF)
        return said.text

    def _asked(self, evidence: str) -> Message:
        question = self.instructions.question(self.question)
        return Message(role="user", text=f"{question.text}\n\n{data_block('evidence', evidence)}")


def _parts(text: str, most: int, count_tokens: Callable[[str], int]) -> Iterator[str]:
    """Whole lines, as many as fit in `most` tokens; a longer line is cut."""
    held: list[str] = []
    used = 0
    for line in text.split("\n"):
        for piece in _pieces(line, most, count_tokens):
            tokens = count_tokens(piece) + 1
            if held and used + tokens > most:
                yield "\n".join(held)
                held, used = [], 0
            held.append(piece)
            used += tokens
    yield "\n".join(held)


def _pieces(line: str, most: int, count_tokens: Callable[[str], int]) -> Sequence[str]:
    tokens = count_tokens(line)
    if tokens <= most:
        return [line]
    size = max(1, len(line) * most // (tokens + 1))
    return [line[start : start + size] for start in range(0, len(line), size)]
