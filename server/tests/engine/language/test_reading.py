"""What is read from what models write, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.language.checking import check_schema, problems, pruned
from hindsight_server.engine.language.reading import (
    has_reasoning,
    json_objects,
    readable_request,
    tool_requests_in,
    without_reasoning,
    without_reasoning_inside,
)
from hindsight_server.ports.llm import ToolRequest

OSLO = {"city": "Oslo"}


@pytest.mark.parametrize(
    "text",
    [
        "<think>Rome?</think>Oslo.",
        "<think>\nRome? <b>no</b>\n</think>\n\nOslo.",
        "<THINK>Rome?</THINK>Oslo.",
        "< think >Rome?</ think >Oslo.",
        '<thinking mode="deep">Rome?</thinking>Oslo.',
        "<thought>Rome?</thought>Oslo.",
        "<reasoning>Rome?</reasoning>Oslo.",
        "<reflection>Rome?</reflection>Oslo.",
        "<scratchpad>Rome?</scratchpad>Oslo.",
        "<seed:think>Rome?</seed:think>Oslo.",
        "<|begin_of_thought|>Rome?<|end_of_thought|>Oslo.",
        "[THINK]Rome?[/THINK]Oslo.",
        "◁think▷Rome?◁/think▷Oslo.",
        "Rome? Hm.</think>Oslo.",
        "Rome?</think>Milan?</think>Oslo.",
        "<think>Rome?</think><think>Milan?</think>Oslo.",
        "Oslo.<think>Or Rome?",
        "<|channel|>analysis<|message|>Rome?<|end|><|start|>assistant<|channel|>final<|message|>Oslo.",
        "\ufeffOslo.",
        "Oslo.<|im_end|>",
    ],
)
def test_case_a34_no_form_of_reasoning_is_kept(text: str) -> None:
    assert without_reasoning(text) == "Oslo."


@pytest.mark.parametrize(
    "text", ["<think>Rome?", "Rome?</think>Oslo.", "[THINK]Rome?", "Rome?[/think]", "◁think▷Rome?", "Rome?◁/think▷"]
)
def test_case_a34_no_form_of_reasoning_is_kept_within_values(text: str) -> None:
    assert has_reasoning(text)
    assert without_reasoning_inside({"a": [text, "3"]}) == {"a": [without_reasoning(text), "3"]}


def test_a_text_that_speaks_of_thinking_is_left_alone() -> None:
    assert without_reasoning("I think, therefore I am. 3 < 4 > 2") == "I think, therefore I am. 3 < 4 > 2"


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff{"city": "Oslo"}',
        '```\n{"city": "Oslo"}\n```',
        '```JSON\n{"city": "Oslo"}\n```',
        'For example {"name"?}: ```json\n{"city": "Oslo"}```',
        'As [1] and {Ann} say: {"city": "Oslo"}',
        '{"city": "Oslo", "city": "Oslo"}',
        '{"city":\n\t"Oslo"}\r\n',
        '<think>{"city": "Rome"}</think> {"city": "Oslo"} {"city": "Bergen"}',
        '{"city": "Oslo"}<|im_end|>',
    ],
)
def test_an_object_is_found(text: str) -> None:
    assert next(json_objects(text)) == OSLO


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "Oslo.", "null", "3", '"Oslo"', "[]", "{", "}{", "{'city': 'Oslo'}", '{"city": Oslo}'),
        '[{"city": "Oslo"}, {"city": "Rome"}]',
        'Here: [{"city": "Oslo"}]',
        '{"city": "Oslo", "city": "Rome"}',
        '{"city": NaN}',
        '{"city": Infinity}',
        '{"city": 1e999}',
        '{"city": "\\ud800"}',
        '{"facts": [{"city": "Oslo"}, {"city": "Ro',
        '{"facts": [{"city": "Oslo"},]}',
        '<think>{"city": "Oslo"}',
        '{"a":' * 100_000,
        "{" * 100_000,
        "[" * 100_000,
        '{"n": ' + "1" * 5000 + "}",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert next(json_objects(text), None) is None


@pytest.mark.parametrize("text", ['{"city": "Os\\u0000lo"}', '{"ci\\u0000ty": "Oslo\\u0000"}', '{"city": "\0Oslo"}\0'])
def test_nul_is_taken_out_of_an_object(text: str) -> None:
    assert next(json_objects(text)) == OSLO


def test_a_call_of_a_tool_can_be_sent_back_whatever_characters_it_has() -> None:
    broken = ToolRequest(
        request_id="c\ud8001",
        name="re\0call\udfff",
        arguments={"query": "dog \ud83d", "ta\0gs": ["\ud83d\ude00", {"a": 1}]},
        raw='{"query": "dog \ud83d"}',
    )
    read = readable_request(broken)
    assert read.arguments == {"query": "dog ", "tags": ["😀", {"a": 1}]}
    assert (read.request_id, read.name, read.raw) == ("c1", "recall", '{"query": "dog "}')


def test_a_call_of_a_tool_may_be_nested_as_deep_as_json_is_read() -> None:
    raw = '{"query": ' + "[" * 900 + "]" * 900 + "}"
    asked = ToolRequest(request_id="c1", name="recall", arguments=json.loads(raw), raw=raw)
    assert readable_request(asked) == asked


def test_a_text_about_nul_keeps_it() -> None:
    assert next(json_objects(r'{"city": "\\u0000 is NUL\u0000\\"}')) == {"city": "\\u0000 is NUL\\"}
    assert next(json_objects('{"city": "Oslo", "ci\\u0000ty": "Rome"}'), None) is None


def test_a_tag_within_a_value_does_not_hide_the_object() -> None:
    assert next(json_objects('{"city": "the <think> tag"}')) == {"city": "the <think> tag"}


def test_a_huge_answer_is_read_in_one_pass() -> None:
    # Were it looked through once for each brace, this would take minutes.
    assert next(json_objects('{"x' * 300_000 + "<think>" * 10_000), None) is None
    assert next(json_objects("{a} " * 300_000), None) is None
    without_reasoning("<think>" * 100_000 + "</think>" * 100_000)
    without_reasoning("```" * 300_000)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "recall", "arguments": {"query": "Oslo"}}\n</tool_call>',
        '<think>hm</think><tool_call>{"name": "recall", "arguments": {"query": "Oslo"}}',
        '{"name": "recall", "parameters": {"query": "Oslo"}}',
        '```json\n{"tool": "recall", "arguments": {"query": "Oslo"}}\n```',
        '{"function": {"name": "recall", "arguments": "{\\"query\\": \\"Oslo\\"}"}}',
    ],
)
def test_a_call_in_the_text_is_a_call(text: str) -> None:
    (asked,) = tool_requests_in(text, {"recall"})
    assert (asked.name, asked.arguments) == ("recall", {"query": "Oslo"})


@pytest.mark.parametrize(
    "text",
    [
        "I would call recall.",
        '{"name": "delete_everything", "arguments": {}}',
        '{"name": "recall", "arguments": [1]}',
        '{"name": 3}',
        '{"city": "Oslo"}',
        'You could say {"name": "recall", "arguments": {}}, but why?',
        '<tool_call>{"name": "recall"</tool_call>',
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert tool_requests_in(text, {"recall"}) == ()


FACTS = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"$ref": "#/$defs/fact"}}},
    "required": ["facts"],
    "additionalProperties": False,
    "$defs": {
        "fact": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "type": {"enum": ["world", "experience"]}},
            "required": ["text", "type"],
            "additionalProperties": False,
        }
    },
}


def test_what_is_wrong_is_named_and_nothing_of_the_value_is() -> None:
    found = problems(FACTS, {"facts": [{"text": 3, "type": "s3cret"}, {"s3cret": 1}], "my s3cret": 2})
    assert "facts[0].text: must be of type string" in found
    assert "facts[0].type: must be one of 'world', 'experience'" in found
    assert any("'text', 'type' are missing" in line for line in found)
    assert "s3cret" not in str(found)
    one = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "required": ["c"]}
    assert set(problems(one, {})) == {"the object: 'c' is missing", "the object: follows none of the schemas of anyOf"}
    assert problems({"oneOf": [{}, {}]}, {}) == ("the object: must follow exactly one of the schemas of oneOf",)
    assert problems({"not": {}}, {}) == ("the object: follows the schema of not, which it must not",)


def test_what_was_not_asked_for_is_left_out() -> None:
    given = {"facts": [{"text": "Ann", "type": "world", "mood": "good"}], "thoughts": "hm"}
    assert pruned(FACTS, given) == {"facts": [{"text": "Ann", "type": "world"}]}
    assert pruned({"type": "object"}, given) == given


@pytest.mark.parametrize(
    "schema",
    [
        *([], "object", None, 3, {"type": "array"}, {"type": 3}, {"properties": []}),
        {"$ref": "#/$defs/none"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/passwd"},
    ],
)
def test_a_schema_that_is_none_is_refused_and_none_is_fetched(schema: object) -> None:
    with pytest.raises(InvalidInput, match="response_schema"):
        check_schema(schema, "response_schema")


_DOUBLED: dict[str, Any] = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)} | {"a40": {}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"properties": {"a": {"patternProperties": {"a" * 1001: {}}}}}, "pattern"),
        ({"patternProperties": {"(": {}}}, "pattern"),
        ({"properties": {"a": {"allOf": [{"unevaluatedProperties": False}]}}}, "unevaluatedProperties"),
        ({"properties": {"a": {"pattern": "a" * 1001}}}, "pattern"),
        ({"properties": {f"n{n}": True for n in range(2001)}}, "too large"),
        ({"$ref": "#/$defs/a0", "$defs": _DOUBLED}, "no JSON schema"),
    ],
)
def test_a_schema_that_could_take_for_ever_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        check_schema(schema, "response_schema")


def test_checking_by_a_pattern_or_by_references_ends() -> None:
    """Either would take longer than a life."""
    slow = {"properties": {"a": {"type": "string", "pattern": "^(a|aa)+$"}}}
    check_schema(slow, "response_schema")
    assert problems(slow, {"a": "aaa"}) == ()
    (told,) = problems(slow, {"a": "a" * 60 + "b"})
    assert "too long to check" in told
    (wrong,) = problems(slow, {"a": "!"})
    assert wrong.startswith("a: breaks the rule pattern")
    deep = {"properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": _DOUBLED}
    endless = {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    for schema in (deep, endless):
        check_schema(schema, "response_schema")
        (told,) = problems(schema, {"a": "x"})
        assert "too long to check" in told


def test_properties_are_checked_by_patterns_of_their_names() -> None:
    """Pydantic writes them for dictionaries whose keys have a pattern."""
    closed = {"patternProperties": {"^k_": {"type": "integer"}}, "properties": {"n": {}}, "additionalProperties": False}
    check_schema(closed, "response_schema")
    assert problems(closed, {"k_one": 1, "n": "x"}) == ()
    assert problems(closed, {"k_one": "1"}) == ("k_one: must be of type integer",)
    assert problems(closed, {"other": 1}) == ("the object: has a property that is not allowed",)
    typed = {**closed, "additionalProperties": {"type": "string"}}
    assert problems(typed, {"k_one": 1, "other": 1}) == ("other: must be of type string",)


@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}])
def test_checking_by_a_slow_pattern_of_names_ends(more: dict[str, Any]) -> None:
    schema = {"patternProperties": {"^(a|aa)+$": {}}, **more}
    check_schema(schema, "response_schema")
    (told,) = problems(schema, {"a" * 60 + "b": 1})
    assert "too long to check" in told


def test_checking_many_names_by_many_quick_patterns_ends() -> None:
    schema = {"patternProperties": {f"^{number}$": {} for number in range(1900)}}
    check_schema(schema, "response_schema")
    (told,) = problems(schema, {f"name {number}": 1 for number in range(3000)})
    assert "too long to check" in told


@pytest.mark.parametrize(
    ("schema", "value"), [({"$ref": "#/$defs/none"}, 1), ({"multipleOf": 0.5}, 10**400), ({"$ref": "http://x/y"}, 1)]
)
def test_what_the_library_can_not_check_does_not_follow_the_schema(schema: dict[str, Any], value: Any) -> None:
    inside = {"properties": {"a": schema}}
    check_schema(inside, "response_schema")
    (told,) = problems(inside, {"a": value})
    assert "can't be checked" in told


def test_a_schema_is_accepted() -> None:
    check_schema(FACTS, "response_schema")
    check_schema({}, "response_schema")
