"""What becomes of mental models when memories that they rest on are deleted or edited, in the same transaction.

Sections that may hold words of such a memory go, versions of the history that rest on it go, and a refresh is queued.
A memory that is only written anew under its id (an observation that was refined) takes nothing away, unless another one
is gone in the same transaction: then its new words may be there because of that one.

A memory whose tags take it out of a page's scope is gone for that page. A refresh that read a memory before it got
other tags is begun again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hindsight_server.adapters.sqlite.mental_model_rows import get_model, write_content, write_index
from hindsight_server.adapters.sqlite.operations import insert_operation
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, moment, to_json
from hindsight_server.domain.fuzzy_tags import Vocabulary, fuzzy_tags, resolve
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.pages.text import Section, rendered, withdrawn
from hindsight_server.domain.pages.trigger import free_again, scope_filter
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.mental_models import REFRESH, MentalModel, PageContent, PageIndex, refresh_payload
from hindsight_server.ports.records import Operation

# A refresh that was begun more deletions ago is begun again, whatever it saw.
_MOST_WITHDRAWALS = 10_000
_MINIMUM = "mental_model_min_refresh_interval_seconds"


def note_withdrawn(session: BankSession, seqs: Sequence[int], *, edited: bool = False) -> None:
    """Memories are about to be deleted, or to lose their words (`edited`); pages follow when the session is saved."""
    if not seqs or one_row(session.connection, "mental_models.any_in_bank", (session.bank_id,)) is None:
        return
    wanted = {"bank_id": session.bank_id, "seqs": to_json(sorted(seqs))}
    for fact_id, terms in all_rows(session.connection, "mental_models.identities", wanted):
        before, was_edited = session.withdrawn.get(fact_id, (frozenset(), False))
        session.withdrawn[fact_id] = (before | (from_json(terms) or {}).keys(), was_edited or edited)
    session.before_save(_settle)


def _settle(session: BankSession) -> None:
    noted, session.withdrawn = session.withdrawn, {}
    connection, bank_id = session.connection, session.bank_id
    wanted = {"bank_id": bank_id, "fact_ids": to_json(list(noted))}
    there = set(column(connection, "mental_models.there", wanted))
    if all(fact_id in there and not edited for fact_id, (_, edited) in noted.items()):
        return
    gone = {fact_id: terms for fact_id, (terms, _) in noted.items()}
    _log(session, gone)
    for model, versions in _resting(session, gone):
        _take_out(session, model, versions, gone)


def note_retagged(session: BankSession, seqs: Sequence[int], tags: Sequence[str]) -> None:
    """Memories are about to get these tags: pages whose scope they leave by that lose what rests on them."""
    connection, wanted = session.connection, {"bank_id": session.bank_id, "seqs": to_json(sorted(seqs))}
    if not seqs or one_row(connection, "mental_models.any_in_bank", (session.bank_id,)) is None:
        return
    _log_retagged(session, wanted, tags)
    held = {
        fact_id: ((from_json(terms) or {}).keys(), from_json(before))
        for fact_id, terms, before in all_rows(connection, "mental_models.tagged", wanted)
    }
    for model, versions in _resting(session, held):
        scope = scope_filter(model.tags, model.trigger)
        if scope is None:
            continue
        gone = {fact_id: terms for fact_id, (terms, before) in held.items() if _leaves(scope, before, tags)}
        if gone:
            _take_out(session, model, versions, gone)


def _log_retagged(session: BankSession, wanted: Mapping[str, Any], tags: Sequence[str]) -> None:
    """A refresh under way may have read them, though no page rests on them yet: it is begun again whatever its scope,
    which costs a run at times and never a look at every model."""
    rows = all_rows(session.connection, "mental_models.tags_of", wanted)
    retagged = [fact_id for fact_id, before in rows if set(from_json(before)) != set(tags)]
    if retagged:
        _log(session, retagged)


def _leaves(scope: TagFilter, before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a memory leaves a scope; of fuzzy tags a scope means those that the memory had, or has."""
    if fuzzy_tags(scope):
        scope = resolve(scope, Vocabulary({*before, *after})).tags
    return scope.matches(before) and not scope.matches(after)


def _resting(session: BankSession, fact_ids: Iterable[str]) -> list[tuple[MentalModel, list[int]]]:
    """Mental models of which a version rests on one of these memories, each with those versions."""
    wanted = {"bank_id": session.bank_id, "fact_ids": to_json(list(fact_ids))}
    resting: dict[str, list[int]] = {}
    for mental_model_id, version in all_rows(session.connection, "mental_models.resting_on", wanted):
        resting.setdefault(mental_model_id, []).append(version)
    return [
        (replace(get_model(session.connection, session.bank_id, one), updated_at=moment(session.now)), versions)
        for one, versions in resting.items()
    ]


def _take_out(
    session: BankSession, model: MentalModel, versions: Sequence[int], gone: Mapping[str, Collection[str]]
) -> None:
    """Versions of the history go as a whole, sections of the page by themselves."""
    for version in versions:
        if version != model.version:
            key = (session.bank_id, model.mental_model_id, version)
            session.connection.execute(sql("mental_models.drop_history_version"), key)
            session.connection.execute(sql("mental_models.drop_sources"), key)
    if model.version in versions:
        _cut(session, model, gone)
        _queue(session, model)


def _cut(session: BankSession, model: MentalModel, gone: Mapping[str, Collection[str]]) -> None:
    connection, content = session.connection, model.content
    known = _terms_of(session, {fact_id for one in content.text.sections for fact_id in one.fact_ids} - gone.keys())

    def kept_terms(section: Section) -> set[str]:
        return {term for fact_id in section.fact_ids for term in known.get(fact_id, ())}

    def terms_of(section: Section) -> Sequence[str]:
        return content.section_terms.get(section.section_id, ())

    text = withdrawn(content.text, gone, terms_of=terms_of, kept_terms=kept_terms)
    left = PageContent(
        text=text,
        fact_ids=tuple(one for one in content.fact_ids if one not in gone),
        seen_ids=tuple(one for one in content.seen_ids if one not in gone),
        section_terms={one.section_id: terms_of(one) for one in text.sections},
        answered_query=content.answered_query,
        # The answer by a schema and the trace rest on everything.
        structured_output_error=content.structured_output_error,
    )
    connection.execute(sql("mental_models.drop_sources"), (model.bank_id, model.mental_model_id, model.version))
    write_content(connection, model, left, cut=session.now)
    if rendered(text) != rendered(content.text):
        # What is left to be found by until the refresh makes it anew; the vector is of all the words.
        kept = {term for terms in left.section_terms.values() for term in terms}
        index = PageIndex(terms={term: count for term, count in model.index.terms.items() if term in kept})
        write_index(connection, model, index)


def _terms_of(session: BankSession, fact_ids: Iterable[str]) -> dict[str, Any]:
    wanted = {"bank_id": session.bank_id, "fact_ids": to_json(sorted(fact_ids))}
    found = all_rows(session.connection, "mental_models.fact_terms", wanted)
    return {fact_id: from_json(terms) for fact_id, terms in found}


def _log(session: BankSession, gone: Iterable[str]) -> None:
    connection, bank_id = session.connection, session.bank_id
    first = scalar(connection, "mental_models.last_withdrawal", (bank_id,)) + 1
    rows = [(bank_id, first + index, fact_id) for index, fact_id in enumerate(gone)]
    connection.executemany(sql("mental_models.add_withdrawal"), rows[-_MOST_WITHDRAWALS:])
    connection.execute(sql("mental_models.drop_withdrawals"), (bank_id, rows[-1][1] - _MOST_WITHDRAWALS))


def _queue(session: BankSession, model: MentalModel) -> None:
    """A refresh, unless one waits; not sooner than the model may be refreshed by itself."""
    connection, key = session.connection, (session.bank_id, model.mental_model_id)
    if one_row(connection, "mental_models.waiting_refresh", key) is not None:
        return
    now = moment(session.now)
    least = model.trigger.min_refresh_interval_seconds
    if least is None:
        least = from_json(scalar(connection, "mental_models.bank_config", (session.bank_id,))).get(_MINIMUM)
    until = free_again(model.last_refreshed_at, least)
    asked = Operation(
        bank_id=session.bank_id,
        operation_id=new_id(),
        type=REFRESH,
        status="pending",
        payload=refresh_payload(model.mental_model_id),
        items_count=1,
        next_attempt_at=until if until is not None and until > now else None,
        created_at=now,
        updated_at=now,
    )
    insert_operation(connection, asked, now)
    connection.execute(sql("mental_models.set_refresh"), (asked.operation_id, *key))
