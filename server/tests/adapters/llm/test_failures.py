"""What failures on the wire become: try later, or give up; with nothing of the key or the question in the text."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

from hindsight_server.adapters.llm import Endpoint
from hindsight_server.adapters.llm.bounds import MOST_BYTES, answer_limit
from hindsight_server.adapters.llm.failures import failure, retry_after
from hindsight_server.domain.errors import BadModelAnswer, ModelError, ModelRefused, ModelUnavailable, QuestionTooLong
from hindsight_server.engine.language import CallAbout, LanguageModel, ModelOptions
from hindsight_server.ports.llm import ChatRequest, Message
from hindsight_server.testing.model_server import Drop, Fail, ModelServer, Raw, Reply, Say

from .conftest import KEY, Api, asked, opened

QUESTION = "My locker code is 4417B."
ASKED = ChatRequest(messages=(Message(role="user", text=QUESTION),))
ABOUT = CallAbout(bank_id="ann", purpose="retain")


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
async def test_what_may_pass_is_unavailable(api: Api, status: int) -> None:
    with pytest.raises(ModelUnavailable, match=str(status)) as caught:
        await asked(api, [Fail(status, {"retry-after": "7"})], ASKED)
    assert caught.value.retry_after == 7


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 422, 501, 301, 307])
async def test_what_will_not_is_refused(api: Api, status: int) -> None:
    with pytest.raises(ModelRefused, match=str(status)):
        await asked(api, [Fail(status, {"location": "http://127.0.0.1:9/"})], ASKED)


@pytest.mark.parametrize(
    ("status", "part"), [(401, "key"), (403, "key"), (404, "mostly ends in /v1"), (308, "another address")]
)
async def test_the_reason_is_said(api: Api, status: int, part: str) -> None:
    with pytest.raises(ModelRefused, match=part):
        await asked(api, [Fail(status)], ASKED)


async def test_what_the_provider_says_is_not_repeated(api: Api) -> None:
    with pytest.raises(ModelRefused) as caught:
        await asked(api, [Fail(401, message=f"Wrong key {KEY} for: {QUESTION}", code="invalid_api_key")], ASKED)
    assert KEY not in str(caught.value)
    assert "4417B" not in str(caught.value)
    assert "invalid_api_key" in str(caught.value)


@pytest.mark.parametrize("place", ["code", "type", "param"])
@pytest.mark.parametrize(
    "told",
    [KEY, KEY[:9], KEY[5:14], KEY.upper(), f"wrong_key.{KEY}", "sk-9f8e7d6c5b", "locker", "locker_code_4417b"],
)
async def test_what_stands_in_the_place_of_a_code_is_shown_only_if_it_is_one(api: Api, place: str, told: str) -> None:
    for status in (401, 503):
        body = json.dumps({"error": {place: told}}).encode()
        with pytest.raises(ModelError) as caught:
            await asked(api, [Raw(data=body, status=status)], ASKED)
        assert told not in str(caught.value)
        assert str(caught.value).endswith(f" ({status}).")


@pytest.mark.parametrize(
    "code", ["invalid_api_key", "invalid_request_error", "not_found_error", "json_validate_failed", "response_format"]
)
def test_a_code_of_words_is_shown_in_whatever_place(code: str) -> None:
    endpoint = Endpoint(provider="openai", api="openai", model="m", base_url="http://127.0.0.1/v1", key=KEY)
    for place in ("code", "type", "param"):
        assert code in str(failure(endpoint, 400, {}, {"error": {"code": KEY, place: code}}))


@pytest.mark.parametrize(
    "secret",
    [
        {"key": "permission"},
        {"key": "Error"},
        {"base_url": "http://u:Permission@h/v1"},
        {"base_url": "http://h?k=xpermission"},
    ],
)
def test_a_code_that_holds_a_part_of_a_secret_is_not_shown(secret: dict[str, Any]) -> None:
    endpoint = Endpoint(**{"provider": "openai", "api": "openai", "model": "m", "base_url": "http://h", **secret})
    assert "permission" not in str(failure(endpoint, 403, {}, {"error": {"code": "permission_error"}}))


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens, however you requested 9000.",
        "the request exceeds the available context size",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Please reduce the length of the messages.",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ],
)
async def test_a_question_that_is_too_long_is_told_apart(api: Api, message: str) -> None:
    with pytest.raises(QuestionTooLong):
        await asked(api, [Fail(400, message=message)], ASKED)


async def test_an_empty_account_is_not_waited_for(api: Api) -> None:
    with pytest.raises(ModelRefused, match="credit"):
        await asked(api, [Fail(429, {"retry-after": "1"}, code="insufficient_quota")], ASKED)


@pytest.mark.parametrize("reply", [Drop(), Raw(data=b'{"choices": [{"mess', torn=True)])
async def test_a_broken_connection_is_unavailable(api: Api, reply: Reply) -> None:
    with pytest.raises(ModelUnavailable, match="can't be reached"):
        await asked(api, [reply], ASKED)


async def test_nobody_there_is_unavailable(api: Api) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        async with opened(api, f"http://127.0.0.1:{probe.getsockname()[1]}/v1") as provider:
            with pytest.raises(ModelUnavailable, match="can't be reached"):
                await provider.chat(ASKED)


@pytest.mark.parametrize("status", [200, 500])
async def test_an_endless_answer_is_not_read_to_its_end(api: Api, status: int) -> None:
    script: list[Reply] = [Raw(data=b" " * MOST_BYTES + b"x" * (4 << 20), status=status), "Oslo."]
    with ModelServer(script) as server:
        async with opened(api, server.url) as provider:
            with pytest.raises(BadModelAnswer, match="more than 8 MiB"):
                await provider.chat(ASKED)
            assert (await provider.chat(ASKED)).text == "Oslo."


@pytest.mark.parametrize("told", [{}, {"content-length": "9000"}])
@pytest.mark.parametrize("http", [httpx, httpx2])
async def test_what_an_answer_unpacks_to_is_what_counts(http: ModuleType, told: dict[str, str]) -> None:
    endpoint = Endpoint(provider="openai", api="openai", model="scripted", base_url="http://127.0.0.1/v1")
    texts = iter([b"Oslo.", b"x" * (MOST_BYTES + 1)])

    async def packed() -> AsyncIterator[bytes]:
        yield gzip.compress(next(texts))

    def answer(request: Any) -> Any:
        return http.Response(200, headers={"content-encoding": "gzip"} | told, content=packed())

    hooks = {"response": [answer_limit(endpoint, http, "/chat")]}
    async with http.AsyncClient(transport=http.MockTransport(answer), event_hooks=hooks) as client:
        assert (await client.post("http://127.0.0.1/v1/chat")).content == b"Oslo."
        with pytest.raises(BadModelAnswer, match="more than 8 MiB"):
            await client.post("http://127.0.0.1/v1/chat")


@pytest.mark.parametrize(
    ("headers", "is_watched"),
    [
        ({"content-length": "5"}, False),
        ({"content-length": str(MOST_BYTES)}, False),
        ({"content-length": str(MOST_BYTES + 1)}, True),
        ({"content-length": "1" + "0" * 5000}, True),
        ({"content-length": "5, 5"}, True),
        ({"content-length": "-5"}, True),
        ({"content-length": "5", "transfer-encoding": "chunked"}, True),
        ({"content-length": "5", "content-encoding": "gzip"}, True),
        ({}, True),
    ],
)
async def test_only_answers_that_may_be_long_are_watched(headers: dict[str, str], is_watched: bool) -> None:
    endpoint = Endpoint(provider="openai", api="openai", model="scripted", base_url="http://127.0.0.1/v1")
    stream = httpx.ByteStream(b"Oslo.")
    request = httpx.Request("POST", "http://127.0.0.1/v1/chat")
    response = httpx.Response(200, headers=headers, stream=stream, request=request)
    await answer_limit(endpoint, httpx, "/chat")(response)
    assert (response.stream is not stream) is is_watched


async def test_a_failure_told_with_status_200_is_one() -> None:
    body = b'{"error": {"message": "slow down", "code": 429}}'
    with pytest.raises(ModelUnavailable, match="429"):
        await asked("openai", [Raw(data=body)], ASKED)
    with pytest.raises(ModelRefused, match="key"):
        await asked("openai", [Raw(data=b'{"error": {"code": 401}, "choices": null}')], ASKED)


async def test_a_late_answer_is_given_up_and_the_next_one_taken(api: Api) -> None:
    with ModelServer(["first", Say(text="late", seconds=2.0), "Oslo."]) as server:
        async with opened(api, server.url) as provider:
            await provider.chat(ASKED)  # loads the library
            model = LanguageModel(provider, ModelOptions(timeout_seconds=1.0, backoff_seconds=0.0))
            answer = await model.complete(ASKED.messages, about=ABOUT)
    assert answer.text == "Oslo."


async def test_a_rate_limit_is_waited_out_and_tried_again(api: Api) -> None:
    script = [Fail(429, {"retry-after": "0"}), Fail(529), Fail(503, {"retry-after": "soon"}), "Oslo."]
    with ModelServer(script) as server:
        async with opened(api, server.url) as provider:
            answer = await LanguageModel(provider, ModelOptions(backoff_seconds=0.0)).complete(
                ASKED.messages, about=ABOUT
            )
    assert (answer.text, len(server.questions)) == ("Oslo.", 4)


async def test_the_library_tries_nothing_by_itself(api: Api) -> None:
    with ModelServer([Fail(500), "Oslo."]) as server:
        async with opened(api, server.url) as provider:
            with pytest.raises(ModelUnavailable):
                await provider.chat(ASKED)
    assert len(server.questions) == 1


async def test_a_cancelled_question_leaves_a_provider_that_works(api: Api) -> None:
    with ModelServer([Say(text="late", seconds=0.5), "Oslo."]) as server:
        async with opened(api, server.url) as provider:
            asking = asyncio.create_task(provider.chat(ASKED))
            assert await asyncio.to_thread(server.wait_for, 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert (await provider.chat(ASKED)).text == "Oslo."


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_the_wait_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)
    wait = retry_after({"retry-after": later})
    assert wait is not None
    assert 200 < wait <= 300


async def test_what_a_local_server_was_not_started_for_is_refused_and_not_tried_again() -> None:
    with pytest.raises(ModelRefused, match="does not know something"):
        await asked("openai", [Fail(500, message="image input is not supported")], ASKED)


async def test_an_error_in_a_list_is_read_too() -> None:
    body = b'[{"error": {"code": 400, "message": "prompt is too long", "status": "INVALID_ARGUMENT"}}]'
    with pytest.raises(QuestionTooLong):
        await asked("openai", [Raw(data=body, status=400)], ASKED)
