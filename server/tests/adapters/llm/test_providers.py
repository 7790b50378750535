"""Both providers against a server on loopback."""

from __future__ import annotations

import base64
import logging

import pytest

from hindsight_server.adapters.llm import Endpoint, make_provider, openai_chat
from hindsight_server.domain.errors import BadModelAnswer, ModelRefused, ModelUnavailable
from hindsight_server.ports.llm import ChatRequest, Image, Message, Schema, Tool, ToolRequest, Usage
from hindsight_server.testing.model_server import Fail, ModelServer, Raw, Say

from .conftest import KEY, Api, asked, opened

ASKED = (Message(role="system", text="Be brief."), Message(role="user", text="Where does Ann live?"))
PLACE = Schema(name="place", schema={"type": "object", "properties": {"city": {"type": "string"}}})
RECALL = Tool(name="recall", description="Searches.", parameters={"type": "object", "properties": {}})


async def test_a_question_and_its_answer(api: Api) -> None:
    reply, server = await asked(api, [Say(text="Oslo.")], ChatRequest(messages=ASKED, max_tokens=50, temperature=0.5))
    assert reply.text == "Oslo."
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 5)
    (question,) = server.questions
    assert (question.system, question.text) == ("Be brief.", "Where does Ann live?")
    assert (question.body["model"], question.body["max_tokens"], question.body["temperature"]) == ("scripted", 50, 0.5)


async def test_the_key_is_sent_where_the_format_has_it(api: Api) -> None:
    _, server = await asked(api, ["Oslo."], ChatRequest(messages=ASKED))
    headers = server.questions[0].headers
    assert KEY in (headers.get("authorization", ""), headers.get("x-api-key")) or headers["authorization"].endswith(KEY)


async def test_keys_and_addresses_of_the_environment_are_not_used(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "of-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "Authorization: of-the-environment\nX-Gateway: of-the-environment")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ModelServer(["Oslo."]) as server:
        async with opened(api, server.url, key=None) as provider:
            await provider.chat(ChatRequest(messages=ASKED))
    assert "of-the-environment" not in str(server.questions[0].headers)


async def test_case_a34_fields_of_reasoning_never_reach_the_text(api: Api) -> None:
    reply, _ = await asked(api, [Say(text="Oslo.", reasoning="Rome? No.")], ChatRequest(messages=ASKED))
    assert reply.text == "Oslo."
    reply, _ = await asked(api, [Say(text=None, reasoning="Rome? No.")], ChatRequest(messages=ASKED))
    assert reply.text == ""


async def test_case_a37_a_cut_off_answer_says_so(api: Api) -> None:
    reply, _ = await asked(api, [Say(text="Os", finish="length")], ChatRequest(messages=ASKED))
    assert reply.truncated


async def test_a_structured_answer(api: Api) -> None:
    reply, server = await asked(api, [{"city": "Oslo"}], ChatRequest(messages=ASKED, schema=PLACE))
    assert reply.text.replace(" ", "") == '{"city":"Oslo"}'
    assert reply.tool_requests == ()
    assert server.questions[0].schema == PLACE.schema


@pytest.mark.parametrize("choice", ["auto", "required", "recall"])
async def test_tools_are_offered_and_called(api: Api, choice: str) -> None:
    request = ChatRequest(messages=ASKED, tools=(RECALL,), tool_choice=choice)
    reply, server = await asked(api, [Say(tools=(("recall", {"query": "Ann"}),))], request)
    (call,) = reply.tool_requests
    assert (call.name, call.arguments) == ("recall", {"query": "Ann"})
    assert (server.questions[0].tools, server.questions[0].tool_choice) == (("recall",), choice)


@pytest.mark.parametrize("raw", ["{oops", "[1]", "null", '"x"', "{" * 10_000])
async def test_arguments_that_are_no_object_stay_raw(raw: str) -> None:
    reply, _ = await asked("openai", [Say(tools=(("recall", raw),))], ChatRequest(messages=ASKED, tools=(RECALL,)))
    assert (reply.tool_requests[0].arguments, reply.tool_requests[0].raw) == (None, raw)


async def test_no_arguments_are_empty_ones() -> None:
    reply, _ = await asked("openai", [Say(tools=(("recall", ""),))], ChatRequest(messages=ASKED, tools=(RECALL,)))
    assert reply.tool_requests[0].arguments == {}


async def test_a_conversation_with_tools_is_sent_on(api: Api) -> None:
    calls = (
        ToolRequest(request_id="c1", name="recall", arguments={"query": "Ann"}),
        ToolRequest(request_id="c2", name="recall", arguments=None, raw="{oops"),
    )
    messages = (
        *ASKED,
        Message(role="assistant", tool_requests=calls),
        Message(role="tool", text="Oslo", tool_request_id="c1"),
        Message(role="tool", text="no JSON", tool_request_id="c2"),
    )
    _, server = await asked(api, ["Oslo."], ChatRequest(messages=messages, tools=(RECALL,)))
    body = server.questions[0].body
    if api == "openai":
        assistant, first, second = body["messages"][2:]
        assert [call["function"]["arguments"] for call in assistant["tool_calls"]] == ['{"query": "Ann"}', "{}"]
        assert (first["tool_call_id"], second["tool_call_id"]) == ("c1", "c2")
    else:
        _, assistant, results = body["messages"]
        assert [block["input"] for block in assistant["content"]] == [{"query": "Ann"}, {}]
        assert [block["tool_use_id"] for block in results["content"]] == ["c1", "c2"]


async def test_a_picture_is_sent_along(api: Api) -> None:
    picture = Image(media_type="image/png", data=b"\x89PNG")
    messages = (Message(role="user", text="What is it?", images=(picture,)),)
    _, server = await asked(api, ["A dot."], ChatRequest(messages=messages))
    (question,) = server.questions
    assert (question.image_count, question.text.strip()) == (1, "What is it?")
    assert base64.b64encode(b"\x89PNG").decode() in str(question.body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": []}',
        b'{"choices": [{}], "content": null}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": "none", "content": 3}',
        b"{}",
    ],
)
async def test_an_answer_without_one_is_an_error(api: Api, body: bytes) -> None:
    with pytest.raises(BadModelAnswer, match="no answer"):
        await asked(api, [Raw(data=body)], ChatRequest(messages=ASKED))


@pytest.mark.parametrize("body", [b"", b"<html>Sign in</html>", b"[1]", b"null", b"\xff\xfe", b'{"choices":' * 9000])
async def test_something_else_than_the_api_names_the_address(api: Api, body: bytes) -> None:
    with pytest.raises(ModelRefused, match=r"http://127\.0\.0\.1:\d+/v1 answers with something else"):
        await asked(api, [Raw(data=body, content_type="text/html")], ChatRequest(messages=ASKED))


async def test_mistyped_parts_of_an_answer_are_passed_over() -> None:
    body = (
        b'\xef\xbb\xbf{"choices": [{"message": {"content": [{"type": "thinking", "thinking": "Rome?"},'
        b' {"type": "text", "text": "Oslo."}, 3, null], "tool_calls": [null, 3, {"function": "x"}]},'
        b' "finish_reason": 7}], "usage": {"prompt_tokens": "ten", "completion_tokens": -1}}'
    )
    reply, _ = await asked("openai", [Raw(data=body)], ChatRequest(messages=ASKED))
    assert (reply.text, reply.tool_requests, reply.truncated) == ("Oslo.", (), False)
    assert reply.usage.input_tokens == 0


@pytest.mark.parametrize("told", ["1" + "0" * 30, str(2**62), "1000000001", "-3", "7.5", "true", '"9"', "null", "[9]"])
async def test_a_number_of_tokens_that_can_t_be_counts_as_none(api: Api, told: str) -> None:
    numbers = ", ".join(f'"{name}": {told}' for name in ("prompt_tokens", "completion_tokens", "input_tokens"))
    numbers += f', "output_tokens": {told}, "cache_read_input_tokens": {told}'
    answers = {
        "openai": f'{{"choices": [{{"message": {{"content": "Oslo."}}}}], "usage": {{{numbers}}}}}',
        "anthropic": f'{{"content": [{{"type": "text", "text": "Oslo."}}], "usage": {{{numbers}}}}}',
    }
    reply, _ = await asked(api, [Raw(data=answers[api].encode())], ChatRequest(messages=ASKED))
    assert (reply.text, reply.usage) == ("Oslo.", Usage())


async def test_tokens_of_thought_and_cache_are_counted() -> None:
    openai = (
        b'{"choices": [{"message": {"content": "Oslo."}}], "usage": {"prompt_tokens": 9, "completion_tokens": 8,'
        b' "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 6}}}'
    )
    usage = (await asked("openai", [Raw(data=openai)], ChatRequest(messages=ASKED)))[0].usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens) == (9, 8, 4, 6)
    anthropic = (
        b'{"content": [{"type": "text", "text": "Oslo."}], "usage": {"input_tokens": 5, "output_tokens": 8,'
        b' "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1}}'
    )
    usage = (await asked("anthropic", [Raw(data=anthropic)], ChatRequest(messages=ASKED)))[0].usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (10, 8, 4)


async def test_a_model_that_declines_is_an_error_that_says_so(api: Api) -> None:
    body = b'{"choices": [{"message": {"content": null, "refusal": "No."}}], "content": [], "stop_reason": "refusal"}'
    with pytest.raises(BadModelAnswer, match="declined"):
        await asked(api, [Raw(data=body)], ChatRequest(messages=ASKED))


async def test_no_address_with_a_key_in_it_is_shown(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ModelServer([Fail(400, message="oops"), "Oslo."]) as server:
        address = server.url.replace("http://", "http://ann:pass-figs-4417@") + "?key=query-figs-4417"
        endpoint = Endpoint(provider=api, api=api, model="scripted", base_url=address, key=KEY)
        provider = make_provider(endpoint)
        with pytest.raises(ModelRefused) as caught:
            await provider.chat(ChatRequest(messages=ASKED))
        await provider.chat(ChatRequest(messages=ASKED))
        await provider.close()
    assert "key=query-figs-4417" in server.questions[0].path
    for shown in (str(caught.value), repr(caught.value), repr(endpoint), endpoint.name, caplog.text):
        assert "figs-4417" not in shown
        assert KEY not in shown
    assert "Where does Ann live?" not in caplog.text


@pytest.mark.parametrize("wanted", ["openai", "anthropic"])
def test_a_missing_library_is_named_with_its_remedy(wanted: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hindsight_server.extras.find_spec", lambda _: None)
    with pytest.raises(ModelRefused, match=rf'pip install "{wanted}[^ ]*" \(the extra hindsight-server\[{wanted}\]\)'):
        make_provider(Endpoint(provider=wanted, api=wanted, model="x", base_url="http://localhost"))


@pytest.mark.parametrize("is_old", [False, True])
async def test_a_schema_with_a_number_of_any_size_is_sent_as_it_is(
    is_old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_old:  # openai 2.0
        monkeypatch.setattr(openai_chat, "_takes_content", lambda: False)
    for most in (9, 10**30):
        schema = Schema(name="count", schema={"type": "object", "properties": {"n": {"maximum": most, "title": "ü"}}})
        _, server = await asked("openai", [{"n": 1}], ChatRequest(messages=ASKED, schema=schema))
        assert server.questions[0].schema == schema.schema
        assert server.questions[0].headers["content-type"] == "application/json"


async def test_a_cookie_that_an_answer_sets_comes_with_the_next_question(api: Api) -> None:
    """A gateway may find the machine that has the beginning of a conversation by it."""
    with ModelServer([Fail(503, {"set-cookie": "machine=7; Path=/"}), "Oslo.", "Oslo."]) as server:
        async with opened(api, server.url) as provider:
            with pytest.raises(ModelUnavailable):
                await provider.chat(ChatRequest(messages=ASKED))
            for _ in range(2):
                await provider.chat(ChatRequest(messages=ASKED))
    assert [question.headers.get("cookie") for question in server.questions] == [None, "machine=7", "machine=7"]


@pytest.mark.parametrize(
    ("added", "path"),
    [("", ""), ("/", ""), ("?version=3", "?version=3"), ("/a%20b/", "/a%20b"), ("/a b", "/a%20b"), ("//", "/")],
)
async def test_the_path_of_a_question_follows_that_of_the_address(added: str, path: str) -> None:
    with ModelServer(["Oslo."]) as server:
        async with opened("openai", server.url + added) as provider:
            await provider.chat(ChatRequest(messages=ASKED))
    path, _, query = path.partition("?")
    assert server.questions[0].path == f"/v1{path}/chat/completions" + (f"?{query}" if query else "")


async def test_getting_ready_sends_nothing(api: Api) -> None:
    with ModelServer(["Oslo."]) as server:
        async with opened(api, server.url) as provider:
            await provider.prepare()
            assert server.questions == []
            assert (await provider.chat(ChatRequest(messages=ASKED))).text == "Oslo."


async def test_without_aiohttp_the_usual_client_of_the_library_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx
    import openai

    class Missing(httpx.AsyncClient):
        def __init__(self, **options: object) -> None:
            raise RuntimeError("To use the aiohttp client you must have installed the package with the `aiohttp` extra")

    monkeypatch.setattr(openai, "DefaultAioHttpClient", Missing)
    reply, _ = await asked("openai", ["Oslo."], ChatRequest(messages=ASKED))
    assert reply.text == "Oslo."
