"""From bytes to values."""

from __future__ import annotations

import pytest
from fastapi.exceptions import RequestValidationError

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.tags import TagFilter
from hindsight_server.http.errors import location
from hindsight_server.http.parsing import loads, validate
from hindsight_server.http.recall import RecallBody
from hindsight_server.http.tag_groups import groups_from_text, tag_filter
from hindsight_server.http.wire.requests import RecallRequest, RetainRequest


def groups(text: str) -> TagFilter | None:
    return tag_filter(None, None, groups_from_text(text))


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b"nonsense", b'{"a": NaN}', b"\xff\xfe", b'{"a": 1} x'])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(RequestValidationError) as caught:
        loads(body)
    assert caught.value.errors()[0]["loc"] == ("body",)


def test_a_lone_surrogate_becomes_nul_and_a_pair_is_kept() -> None:
    assert loads(rb'{"k\ud800": ["\ud83d\ude00", "a\udfffb", 1, null]}') == {"k\0": ["😀", "a\0b", 1, None]}


def test_a_wrong_type_names_its_field_and_does_not_repeat_the_value() -> None:
    with pytest.raises(RequestValidationError) as caught:
        validate(RetainRequest, loads(b'{"items": [{"content": "a"}, {"content": 5}]}'))
    row = caught.value.errors()[0]
    assert row["loc"][:4] == ("body", "items", 1, "content")
    assert "input" not in row


def test_nulls_are_taken_wherever_there_is_a_default() -> None:
    names = [name for name, field in RecallRequest.model_fields.items() if not field.is_required()]
    nulls = ", ".join(f'"{name}": null' for name in names)
    body = validate(RecallBody, loads(f'{{"query": "q", {nulls}, "time_filter": null}}'.encode()))
    assert body.query == "q"
    retain = b'{"items": [{"content": "a", "resolve_entities": null, "metadata": {"a": null, "n": 1}}], "async": null}'
    assert validate(RetainRequest, loads(retain)).items[0].metadata == {"a": None, "n": 1}


def test_unknown_fields_are_tolerated() -> None:
    assert validate(RecallRequest, loads(b'{"query": "q", "nonsense": {"a": 1}}')).query == "q"


@pytest.mark.feature("S4")
def test_tag_groups_become_one_filter() -> None:
    wanted = groups('[{"or": [{"tags": ["a"]}, {"and": [{"tags": ["b"]}, {"not": {"tags": ["c"]}}]}]}]')
    assert wanted is not None
    assert wanted.matches({"a"})
    assert wanted.matches({"b"})
    assert not wanted.matches({"b", "c"})
    assert not wanted.matches(set())


@pytest.mark.feature("S4")
def test_a_leaf_is_strict_unless_it_says_otherwise() -> None:
    strict, loose = groups('[{"tags": ["a"]}]'), groups('[{"tags": ["a"], "match": "any"}]')
    assert strict is not None
    assert loose is not None
    assert not strict.matches(set())
    assert loose.matches(set())


def test_no_tags_are_no_filter_except_for_exact() -> None:
    assert tag_filter([], "any") is None
    assert tag_filter(None, "all_strict") is None
    untagged = tag_filter(None, "exact")
    assert untagged is not None
    assert untagged.matches(set())
    assert not untagged.matches({"a"})


def test_tags_and_groups_together_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        tag_filter(["a"], "any", groups_from_text('[{"tags": ["b"]}]'))


@pytest.mark.parametrize("text", ["nonsense", "{}", '[{"tags": 5}]', '[{"x": 1}]'])
def test_bad_groups_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="JSON list"):
        groups_from_text(text)


def test_a_fuzzy_leaf_matches_nothing_before_it_is_resolved() -> None:
    wanted = groups('[{"not": {"tags": ["a"], "resolve": "fuzzy"}}]')
    assert wanted is not None
    with pytest.raises(ValueError, match="resolved first"):
        wanted.matches({"a"})


def test_deep_nesting_is_refused() -> None:
    text = '{"not": ' * 60 + '{"tags": ["a"]}' + "}" * 60
    with pytest.raises(InvalidInput):
        groups(f"[{text}]")


def test_a_field_path_is_written_as_fastapi_does() -> None:
    assert location("items[2].content") == ("items", 2, "content")
    assert location("query") == ("query",)
