"""Which questions language models were asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.forgetting_rows import ForgettingRows
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import moment, to_micros
from hindsight_server.ports.llm import Usage
from hindsight_server.ports.llm_log import MOST_REQUESTS, LlmFilter, LlmPage, LlmRequest, LlmSums


class LlmLogRows(ForgettingRows):
    """The part of the store that is `LlmLogStore`. Taking texts away is forgetting, after which files are cleaned."""

    async def add_llm_requests(self, bank_id: str, requests: Sequence[LlmRequest]) -> None:
        await self._write(add_requests, bank_id, requests)

    async def list_llm_requests(
        self, bank_id: str, wanted: LlmFilter, limit: int, offset: int, *, by_run: bool = False
    ) -> LlmPage:
        return await self._read_bank(list_requests, bank_id, wanted, limit, offset, by_run)

    async def sum_llm_requests(
        self, bank_id: str, operation: str | None, start: datetime, width: timedelta
    ) -> Sequence[LlmSums]:
        return await self._read_bank(sum_requests, bank_id, operation, start, width)

    async def forget_llm_texts(self, bank_id: str) -> int:
        if not await self._read(count_texts, bank_id):
            return 0
        return await self._forget(forget_texts, bank_id)

    async def expire_llm_requests(self, before: datetime) -> int:
        return await self._write(expire, before)


def add_requests(connection: apsw.Connection, bank_id: str, requests: Sequence[LlmRequest]) -> None:
    if one_row(connection, "banks.exists", (bank_id,)) is None:
        return
    first = scalar(connection, "llm_requests.next_number", (bank_id,))
    rows = [_row(bank_id, first + index, request) for index, request in enumerate(requests)]
    connection.executemany(sql("llm_requests.insert"), rows)
    texts = [
        (bank_id, first + index, request.input, request.output)
        for index, request in enumerate(requests)
        if request.input is not None or request.output is not None
    ]
    connection.executemany(sql("llm_requests.insert_texts"), texts)
    connection.execute(sql("llm_requests.forget_old"), (bank_id, first + len(rows) - 1 - MOST_REQUESTS))


def list_requests(
    connection: apsw.Connection, bank_id: str, wanted: LlmFilter, limit: int, offset: int, by_run: bool
) -> LlmPage:
    values: dict[str, str | int | None] = {
        "bank_id": bank_id,
        "status": wanted.status,
        "operation": wanted.operation,
        "scope": wanted.scope,
        "provider": wanted.provider,
        "run_id": wanted.run_id,
        "document_id": wanted.document_id,
        "start": to_micros(wanted.start),
        "end": to_micros(wanted.end),
    }
    requests, runs = all_rows(connection, "llm_requests.count", values)[0]
    name = "llm_requests.list_runs" if by_run else "llm_requests.list"
    rows = connection.execute(sql(name), values | {"limit": limit, "offset": offset})
    return LlmPage(tuple(_request(row) for row in rows), runs if by_run else requests)


def sum_requests(
    connection: apsw.Connection, bank_id: str, operation: str | None, start: datetime, width: timedelta
) -> list[LlmSums]:
    micros = width // timedelta(microseconds=1)
    wanted = {"bank_id": bank_id, "operation": operation, "start": to_micros(start), "width": micros}
    return [
        LlmSums(
            start=moment(bucket * micros),
            status=status,
            count=count,
            usage=Usage(input_tokens=given, output_tokens=made, cached_tokens=cached, thought_tokens=thought),
        )
        for bucket, status, count, given, made, cached, thought in all_rows(connection, "llm_requests.sums", wanted)
    ]


def count_texts(connection: apsw.Connection, bank_id: str) -> int:
    return int(scalar(connection, "llm_requests.count_texts", (bank_id,)))


def forget_texts(connection: apsw.Connection, bank_id: str) -> int:
    count = count_texts(connection, bank_id)
    connection.execute(sql("llm_requests.forget_texts"), (bank_id,))
    return count


def expire(connection: apsw.Connection, before: datetime) -> int:
    micros, deleted = to_micros(before), 0
    for bank_id in column(connection, "llm_requests.banks_with_old", (micros,)):
        connection.execute(sql("llm_requests.forget_before"), (bank_id, micros))
        deleted += connection.changes()
    return deleted


def _row(bank_id: str, number: int, request: LlmRequest) -> tuple[Any, ...]:
    usage = request.usage
    return (
        *(bank_id, number, request.request_id, request.operation, request.scope, request.run_id, request.operation_id),
        *(request.document_id, request.provider, request.model, request.status, to_micros(request.started_at)),
        *(request.duration_ms, usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens),
        request.error,
    )


def _request(row: tuple[Any, ...]) -> LlmRequest:
    request_id, operation, scope, run_id, operation_id, document_id, provider, model, status, *rest = row
    started_at, duration_ms, given, made, cached, thought, error, asked, answered = rest
    return LlmRequest(
        request_id=request_id,
        operation=operation,
        scope=scope,
        run_id=run_id,
        operation_id=operation_id,
        document_id=document_id,
        provider=provider,
        model=model,
        status=status,
        started_at=moment(started_at),
        duration_ms=duration_ms,
        usage=Usage(input_tokens=given, output_tokens=made, cached_tokens=cached, thought_tokens=thought),
        error=error,
        input=asked,
        output=answered,
    )
