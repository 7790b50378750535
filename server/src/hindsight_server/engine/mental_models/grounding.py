"""What the answer of a full refresh may say: the names and numbers of everything that its writer read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.grounds import Grounds
from hindsight_server.domain.pages.proved import is_english, proved
from hindsight_server.domain.pages.text import PageText
from hindsight_server.engine.mental_models.delta import Reads, proof_words
from hindsight_server.engine.mental_models.types import EMPTY, Refreshing
from hindsight_server.engine.reflect.types import ReflectOutcome

_FROM_MODEL = ("unknown", "error")  # parts of what a tool gives that repeat what the model asked it for


def answer_grounds(run: Refreshing, outcome: ReflectOutcome, facts: Sequence[Fact], reads: Reads) -> Grounds:
    """The grounds of an answer, of which nobody can tell which sentence cites which memory.

    Args:
        facts: the memories that the writer was shown, and those below them.
    """
    shown = [
        one
        for call in outcome.tool_calls
        for name, value in call.output.items()
        if name not in _FROM_MODEL
        for one in strings(value)
    ]
    rules = [f"{one.name}\n{one.content}" for one in outcome.directives]
    asked = f"{run.model.name}\n{run.model.source_query}"
    speakers = [fact.speaker for fact in facts if fact.speaker]
    return Grounds(
        [asked, *rules, *map(proof_words, facts), *speakers, *shown],
        ordinary=reads.ordinary,
        has_names=is_english(run.candidate),
        may_count=True,
    )


def without_inventions(run: Refreshing, page: PageText, grounds: Grounds) -> PageText:
    """What is left of an answer; a run of which nothing is left has failed."""
    found = proved(page, grounds)
    run.left_out = found.left_out
    run.warnings += [f"A sentence was left out: {one} is in nothing that was read." for one in found.left_out]
    if found.page.is_empty and found.left_out:
        # The reasons quote the model. The error is kept, and stays when what it would quote is forgotten.
        told = "No sentence of the answer is in the memories that were read; the page stays as it was."
        run.fail(EMPTY, "empty_candidate", told)
    return found.page


def strings(value: object) -> Iterable[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)
