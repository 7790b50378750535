"""The request log: written soon, never in the way, and without texts of what was forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.domain.errors import ModelUnavailable
from hindsight_server.engine.language import CallAbout, LanguageModel, ModelOptions
from hindsight_server.engine.language.log import LogOptions, RequestLog
from hindsight_server.ports.llm import ChatReply, ChatRequest, Image, Message
from hindsight_server.ports.llm_log import LlmFilter, LlmRequest
from hindsight_server.testing.scripted_model import ScriptedProvider

ABOUT = CallAbout(
    bank_id="ann", purpose="retain", scope="extract_facts", operation_id="op", run_id="run", document_id="doc"
)
ASKED = [Message(role="user", text="My quixotherm is under the bridge.", images=(Image(media_type="a/b", data=b"x"),))]
TEXTS = LogOptions(texts=True)


class Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path)
    await opened.open()
    await opened.ensure_bank("ann", datetime.now(UTC))
    yield opened
    await opened.close()


def files_with(folder: Path, word: bytes) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and word in file.read_bytes()]


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what happens in the background; a test that waits for ever fails by its time limit."""
    async with asyncio.timeout(30):
        while not await done():  # noqa: ASYNC110 -- it is the store that changes, which tells nobody
            await asyncio.sleep(0.01)


async def logged(log: RequestLog) -> tuple[LlmRequest, ...]:
    return (await log.list("ann", LlmFilter(), 100, 0)).items


async def test_every_try_is_logged_without_texts(store: SqliteStore) -> None:
    log = RequestLog(store, Clock())
    provider = ScriptedProvider([ModelUnavailable("busy", retry_after=0), "Oslo."])
    await LanguageModel(provider, ModelOptions(), log.record).complete(ASKED, about=ABOUT)
    answered, failed = await logged(log)
    assert (failed.status, failed.error, answered.status, answered.error) == ("error", "busy", "success", None)
    assert (answered.operation, answered.scope, answered.run_id, answered.operation_id, answered.document_id) == (
        *("retain", "extract_facts", "run", "op", "doc"),
    )
    assert (answered.usage.input_tokens, answered.model, answered.provider) == (10, "scripted", "scripted")
    assert (answered.input, answered.output, failed.input) == (None, None, None)


async def test_texts_are_kept_when_that_is_turned_on_and_pictures_never(store: SqliteStore) -> None:
    log = RequestLog(store, Clock(), TEXTS)
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED, about=ABOUT)
    (kept,) = await logged(log)
    assert kept.input is not None
    assert json.loads(kept.input) == [{"role": "user", "content": ASKED[0].text, "images": ["a/b, 1 bytes"]}]
    assert kept.output == '{"content": "Oslo."}'


async def test_texts_are_cut(store: SqliteStore) -> None:
    log = RequestLog(store, Clock(), LogOptions(texts=True, max_chars=7))
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED, about=ABOUT)
    (kept,) = await logged(log)
    assert (len(kept.input or ""), len(kept.output or "")) == (7, 7)


async def test_nothing_is_kept_when_it_is_turned_off(store: SqliteStore) -> None:
    log = RequestLog(store, Clock(), LogOptions(enabled=False))
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED, about=ABOUT)
    assert await logged(log) == ()


async def test_forgetting_takes_the_texts_of_the_store_of_the_buffer_and_of_what_is_being_asked(
    store: SqliteStore, tmp_path: Path
) -> None:
    log = RequestLog(store, Clock(), TEXTS)
    go_on, asked = asyncio.Event(), asyncio.Event()

    class Waiting(ScriptedProvider):
        async def chat(self, request: ChatRequest) -> ChatReply:
            asked.set()
            await go_on.wait()
            return await super().chat(request)

    quick = LanguageModel(ScriptedProvider(lambda _: "Oslo."), record=log.record)
    await quick.complete(ASKED, about=ABOUT)
    await log.flush()
    await quick.complete(ASKED, about=ABOUT)
    late = asyncio.create_task(LanguageModel(Waiting(["Late."]), record=log.record).complete(ASKED, about=ABOUT))
    await asked.wait()
    await log.forget("ann")
    go_on.set()
    await late
    assert [(one.input, one.output) for one in await logged(log)] == [(None, None)] * 3
    await store.close()
    assert files_with(tmp_path, b"quixotherm") == []


async def test_a_question_that_is_tried_again_after_its_words_were_forgotten_keeps_none(store: SqliteStore) -> None:
    log = RequestLog(store, Clock(), TEXTS)

    class Away(ScriptedProvider):
        async def chat(self, request: ChatRequest) -> ChatReply:
            if not self.requests:
                self.requests.append(request)
                await log.forget("ann")
                raise ModelUnavailable("away")
            return await super().chat(request)

    options = ModelOptions(backoff_seconds=0.001)
    about = CallAbout(bank_id="ann", purpose="retain")
    await LanguageModel(Away(["Late."]), options, log.record).complete(ASKED, about=about)
    assert [(one.status, one.input, one.output) for one in await logged(log)] == [
        ("success", None, None),
        ("error", None, None),
    ]
    again = CallAbout(bank_id="ann", purpose="retain")
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED[:1], about=again)
    assert (await logged(log))[0].output == '{"content": "Oslo."}'


async def test_texts_of_an_earlier_run_are_forgotten_even_when_none_are_kept_now(store: SqliteStore) -> None:
    log = RequestLog(store, Clock(), TEXTS)
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED, about=ABOUT)
    await log.close()
    assert await RequestLog(store, Clock()).forget("ann") == 1


async def test_a_log_that_can_not_be_written_fails_nothing(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    log = RequestLog(store, Clock())
    await store.close()
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED, about=ABOUT)
    await log.flush()
    assert "could not be logged" in caplog.text


async def test_a_bank_that_is_gone_gets_no_log(store: SqliteStore) -> None:
    log = RequestLog(store, Clock())
    await LanguageModel(ScriptedProvider(["Oslo."]), record=log.record).complete(ASKED, about=ABOUT)
    await store.delete_bank("ann")
    await log.flush()
    await store.ensure_bank("ann", datetime.now(UTC))
    assert await logged(log) == ()


async def test_what_is_too_old_goes_when_the_server_starts(store: SqliteStore) -> None:
    log = RequestLog(store, Clock())
    old = LlmRequest(
        request_id="old", operation="retain", provider="p", model="m", status="success", duration_ms=1,
        started_at=datetime.now(UTC) - timedelta(days=2),
    )  # fmt: skip
    await store.add_llm_requests("ann", [old])
    await log.start()

    async def gone() -> bool:
        return not await logged(log)

    await until(gone)
    await log.close()


async def test_it_is_written_by_itself(store: SqliteStore) -> None:
    log = RequestLog(store, Clock())
    model = LanguageModel(ScriptedProvider(lambda _: "Oslo."), record=log.record)
    for _ in range(200):
        await model.complete(ASKED, about=ABOUT)

    async def written() -> bool:
        return (await store.list_llm_requests("ann", LlmFilter(), 1, 0)).total == 200

    await until(written)
