"""Mental models as rows: read, written, and told apart from what they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import apsw
import numpy as np

from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, from_micros, mapping_json, moment, to_json, to_micros
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.pages.text import PageText, page_from_json, page_json
from hindsight_server.domain.pages.trigger import Trigger, read_trigger
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.mental_models import MentalModel, PageContent, PageIndex


def no_model(bank_id: str, mental_model_id: str) -> NotFound:
    return NotFound(f"Mental model '{mental_model_id}' not found in bank '{bank_id}'.")


def get_model(connection: apsw.Connection, bank_id: str, mental_model_id: str) -> MentalModel:
    """Raises NotFound."""
    row = one_row(connection, "mental_models.read", {"bank_id": bank_id, "mental_model_id": mental_model_id})
    if row is None:
        raise no_model(bank_id, mental_model_id)
    return _model(connection, row)


def list_models(connection: apsw.Connection, bank_id: str) -> list[MentalModel]:
    return [_model(connection, row) for row in all_rows(connection, "mental_models.list", {"bank_id": bank_id})]


def insert_model(connection: apsw.Connection, model: MentalModel) -> None:
    values = _definition(model)
    made = {"is_page": model.is_page, "created_at": to_micros(model.created_at)}
    connection.execute(sql("mental_models.insert"), values | made)
    write_index(connection, model, model.index)


def write_definition(connection: apsw.Connection, model: MentalModel) -> None:
    """What users set, and when schedules were looked at."""
    values = _definition(model)
    values |= {
        "scheduled_at": to_micros(model.scheduled_at),
        "full_scheduled_at": to_micros(model.full_scheduled_at),
    }
    connection.execute(sql("mental_models.change"), values)


def write_content(connection: apsw.Connection, model: MentalModel, content: PageContent, *, cut: int | None) -> None:
    """A model's content under its `version`; `cut` is when something was taken out of it."""
    connection.execute(
        sql("mental_models.set_content"),
        {
            "bank_id": model.bank_id,
            "mental_model_id": model.mental_model_id,
            "version": model.version,
            "answered_query": content.answered_query,
            "fact_ids": to_json(list(content.fact_ids)),
            "structured_output": mapping_json(content.structured_output),
            "structured_output_error": content.structured_output_error,
            "trace": mapping_json(content.trace),
            "page": to_json(page_json(content.text)),
            "section_terms": to_json({name: list(terms) for name, terms in content.section_terms.items()}),
            "cut_at": cut,
            "now": to_micros(model.updated_at),
        },
    )
    add_sources(connection, model, content.seen_ids)


def add_sources(connection: apsw.Connection, model: MentalModel, fact_ids: Iterable[str]) -> None:
    key = (model.bank_id, model.mental_model_id, model.version)
    connection.executemany(sql("mental_models.add_source"), [(*key, fact_id) for fact_id in dict.fromkeys(fact_ids)])


def write_index(connection: apsw.Connection, model: MentalModel, index: PageIndex) -> None:
    made = index.encoding
    vector = None if made is None else made.vector.astype("<f2").tobytes()
    space = None if made is None else made.space
    row = (to_json(dict(index.terms)), space, vector, model.bank_id, model.mental_model_id)
    connection.execute(sql("mental_models.set_index"), row)


def _definition(model: MentalModel) -> dict[str, Any]:
    trigger = model.trigger
    now = to_micros(model.updated_at)
    return {
        "bank_id": model.bank_id,
        "mental_model_id": model.mental_model_id,
        "name": model.name,
        "source_query": model.source_query,
        "tags": to_json(list(model.tags)),
        "max_tokens": model.max_tokens,
        "trigger_options": to_json(trigger.as_json()),
        "has_schedule": int(bool(trigger.refresh_cron or trigger.full_refresh_cron)),
        "updated_at": now,
        "now": now,
    }


def _model(connection: apsw.Connection, row: tuple[Any, ...]) -> MentalModel:
    bank_id, mental_model_id, version = row[0], row[1], row[10]
    key = (bank_id, mental_model_id, version)
    content = PageContent(
        text=_page(from_json(row[26])),
        fact_ids=tuple(from_json(row[22])),
        seen_ids=tuple(column(connection, "mental_models.sources", key)),
        section_terms={name: tuple(terms) for name, terms in from_json(row[27]).items()},
        answered_query=row[21],
        structured_output=from_json(row[23]),
        structured_output_error=row[24],
        trace=from_json(row[25]),
    )
    return MentalModel(
        bank_id=bank_id,
        mental_model_id=mental_model_id,
        name=row[2],
        source_query=row[3],
        tags=tuple(from_json(row[4])),
        max_tokens=row[5],
        trigger=_trigger(from_json(row[6])),
        is_page=bool(row[7]),
        created_at=moment(row[8]),
        updated_at=moment(row[9]),
        content=content,
        index=_index(from_json(row[28]), row[29], row[30]),
        version=version,
        seen_seq=row[11],
        failed_seq=row[12],
        last_refreshed_at=from_micros(row[13]),
        last_memory_seen_at=from_micros(row[14]),
        last_refresh_failed_at=from_micros(row[15]),
        last_full_refreshed_at=from_micros(row[16]),
        cut_at=from_micros(row[17]),
        scheduled_at=from_micros(row[18]),
        full_scheduled_at=from_micros(row[19]),
        refresh_id=row[20],
    )


def _page(value: Mapping[str, Any]) -> PageText:
    return page_from_json(value) if value else PageText()


def _trigger(value: Mapping[str, Any]) -> Trigger:
    return read_trigger(value, "trigger")


def _index(terms: Mapping[str, int], space: str | None, vector: bytes | None) -> PageIndex:
    if space is None or vector is None:
        return PageIndex(terms=terms)
    return PageIndex(terms=terms, encoding=Encoding(space, np.frombuffer(vector, "<f2").astype(np.float32)))
