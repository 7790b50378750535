"""Mental models of an archive: checked, and without words that rest on what does not come along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.pages.text import PageText, page_json
from hindsight_server.domain.pages.trigger import read_trigger
from hindsight_server.engine.mental_models.models import MODEL_ID
from hindsight_server.engine.mental_models.schedule import check_trigger
from hindsight_server.engine.mental_models.types import LEAST_TOKENS, MOST_TOKENS
from hindsight_server.engine.transfer.archive import Archive
from hindsight_server.ports.transfer import TransferFact, TransferModel, TransferObservation


def brought_models(
    archive: Archive, facts: Sequence[TransferFact], observations: Sequence[TransferObservation], *, keep_words: bool
) -> tuple[TransferModel, ...]:
    """The mental models to be stored; one that comes without its words is written anew.

    A model keeps its words when every memory that it rests on comes along as it was. What memory defence has looked at
    may be another memory: nobody looks at what a model says of it.

    Args:
        facts, observations: the memories that are taken in.
        keep_words: whether they keep their ids.

    Raises:
        InvalidInput: a model is none that could be made here.
    """
    held = {fact.fact_id: fact for fact in archive.facts}
    same = {fact.fact_id for fact in facts if held.get(fact.fact_id) is fact}
    same.update(one.fact.fact_id for one in observations)
    return tuple(
        model if keep_words and model.seen_ids and same.issuperset(model.seen_ids) else _without_words(model)
        for model in map(_checked, archive.models)
    )


def _without_words(model: TransferModel) -> TransferModel:
    return replace(
        model, page=page_json(PageText()), fact_ids=(), seen_ids=(), section_terms={}, terms={}, structured_output=None
    )


def _checked(model: TransferModel) -> TransferModel:
    try:
        check_trigger(read_trigger(model.trigger, "trigger"), "trigger")
    except InvalidInput as problem:
        raise _bad(model, str(problem)) from None
    if not MODEL_ID.fullmatch(model.mental_model_id):
        raise _bad(model, "its id is none")
    if not model.name.strip() or not model.source_query.strip():
        raise _bad(model, "it has no name or no question")
    if not LEAST_TOKENS <= model.max_tokens <= MOST_TOKENS:
        raise _bad(model, "its max_tokens are out of bounds")
    return model


def _bad(model: TransferModel, why: str) -> InvalidInput:
    return InvalidInput(
        f"The archive can't be imported: mental model '{model.mental_model_id[:80]}': {why}.", field="file"
    )
