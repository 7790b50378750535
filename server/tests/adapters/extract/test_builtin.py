"""The extractor without a model."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.model import EntityMention, ExtractedFact, Extraction, FactType, RetainItem
from hindsight_server.ports.extractor import ExtractionOptions, Extractor

EXTRACTOR: Extractor = BuiltinExtractor(Analyzer())
AT = datetime(2024, 3, 6, 15, tzinfo=timezone(timedelta(hours=8)))
LONG = " ".join(f"Sentence number {n} tells what happened on that long walk by the sea." for n in range(20))


def extract(content: str, mode: str = "concise", chunk_size: int = 3000, **fields: object) -> Extraction:
    fields.setdefault("timestamp", AT)
    item = RetainItem(content=content, document_id="d", **fields)  # type: ignore[arg-type]
    return EXTRACTOR.extract(item, ExtractionOptions(mode=mode, chunk_size=chunk_size))


def one(content: str, **fields: object) -> ExtractedFact:
    (fact,) = extract(content, **fields).facts  # type: ignore[arg-type]
    return fact


def names(fact: ExtractedFact) -> set[str]:
    return {entity.name for entity in fact.entities}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Ann: I moved to Oslo.", "Ann: I moved to Oslo."),
        ("Ann (10:30): I moved to Oslo.", "Ann: I moved to Oslo."),
        ("小李：我搬到了上海。", "小李：我搬到了上海。"),
        ('[{"role": "user", "content": "I moved.\\nTwice."}]', "user: I moved.\nTwice."),
        ("I moved to Oslo. I like it.", "I moved to Oslo. I like it."),
    ],
)
def test_a_turn_is_a_fact_word_for_word(content: str, text: str) -> None:
    assert one(content).text == text


def test_a_long_turn_becomes_whole_sentences() -> None:
    facts = extract(f"Ann: {LONG}").facts
    assert len(facts) > 5
    assert "".join(fact.text.removeprefix("Ann: ") + " " for fact in facts).strip() == LONG
    assert all(fact.speaker == "Ann" and fact.turn_index == 0 for fact in facts)
    assert all(len(fact.text.split()) >= 15 for fact in facts)
    content = f"Ann: {LONG}"
    assert all(content[fact.start : fact.end] == fact.text.removeprefix("Ann: ") for fact in facts)


def test_paragraphs_of_prose_are_cut_too() -> None:
    content = "Dr. Smith went to the U.S. in May for a long rest by the sea with us. He came back.\n\nShort end."
    facts = extract(content).facts
    assert [(fact.turn_index, fact.text) for fact in facts] == [(0, content.split("\n\n")[0]), (1, "Short end.")]
    assert [content[fact.start : fact.end] for fact in facts] == [fact.text for fact in facts]


@pytest.mark.feature("R2")
def test_times() -> None:
    fact = one("Ann: I went to a concert yesterday.")
    assert fact.mentioned_at == AT
    assert fact.occurred is not None
    assert (fact.occurred.start.isoformat(), fact.has_time_expression) == ("2024-03-05T00:00:00+08:00", True)
    assert one("Ann: I like concerts.").occurred is None
    assert not one("Ann: I like concerts.").has_time_expression
    assert one("Ann: Did you go last week?").occurred is None
    assert one("Ann: I will be there before May 2025.").occurred is None


@pytest.mark.feature("R3")
def test_without_any_time_only_written_dates_count() -> None:
    fact = one("Ann: I went there yesterday.", timestamp=None)
    assert (fact.occurred, fact.mentioned_at, fact.has_time_expression) == (None, None, False)
    fact = one("Ann: I went there in 2015.", timestamp=None)
    assert fact.occurred is not None
    assert (fact.occurred.start, fact.occurred.end.year) == (datetime(2015, 1, 1, tzinfo=UTC), 2015)


def test_each_turn_is_dated_by_its_own_time() -> None:
    content = json.dumps([{"name": "Ann", "text": "It broke yesterday", "timestamp": "2023-01-02T12:00:00Z"}])
    fact = one(content)
    assert fact.mentioned_at == datetime(2023, 1, 2, 12, tzinfo=UTC)
    assert fact.occurred is not None
    assert fact.occurred.start == datetime(2023, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "fields", "fact_type"),
    [
        ("I deployed it", {}, FactType.WORLD),
        ("Ann: I deployed it", {}, FactType.WORLD),
        ("assistant: I deployed it", {}, FactType.EXPERIENCE),
        ("Agent: I deployed it", {}, FactType.EXPERIENCE),
        ('[{"role": "tool", "name": "search", "content": "3 hits"}]', {}, FactType.EXPERIENCE),
        ('[{"role": "user", "content": "hi there"}]', {}, FactType.WORLD),
        ("I deployed it", {"metadata": {"role": "assistant"}}, FactType.EXPERIENCE),
        ("I deployed it", {"metadata": {"role": "user"}}, FactType.WORLD),
        ("I deployed it", {"context": "The assistant is speaking to Ann"}, FactType.EXPERIENCE),
        ("I deployed it", {"context": "a chat with an assistant"}, FactType.WORLD),
        ("user: I deployed it", {"context": "The assistant is speaking"}, FactType.WORLD),
    ],
)
@pytest.mark.feature("R8")
def test_who_speaks_decides_the_type(content: str, fields: dict[str, object], fact_type: FactType) -> None:
    assert one(content, **fields).fact_type is fact_type


def test_metadata_role_belongs_to_turns_that_say_nothing() -> None:
    assert one("I deployed it", metadata={"role": "AI"}).role == "assistant"
    assert one("user: hello there", metadata={"role": "assistant"}).role == "user"


@pytest.mark.parametrize(
    ("content", "found", "not_found"),
    [
        ("Ann: I met Bob Miller in New York.", {"Ann", "Bob Miller", "New York"}, {"I"}),
        ("Hey Mel! Thanks, Nate. Unemployment is hard.", {"Mel", "Nate"}, {"Hey Mel", "Hey", "Thanks"}),
        ("Painting helps. Really. Yesterday was Monday in May.", set(), {"Painting", "Really", "Monday", "May"}),
        ("Great Maria! New York is big.", {"New York"}, {"Great Maria", "York"}),
        ("Melanie's dog is called Rex.", {"Melanie", "Rex"}, {"Melanie's"}),
        ("She works at the University of Oslo.", {"University of Oslo"}, set()),
        ("Key shopify-prod-key-2024 for PROJ-123, v1.2.3.", {"shopify-prod-key-2024", "PROJ-123", "v1.2.3"}, set()),
        ("write to bob@example.org or @annie about #launch", {"bob@example.org", "@annie", "#launch"}, set()),
        ('I read "The Old Harbour" twice', {"The Old Harbour"}, {"Old Harbour"}),
        ("昨天我和王芳去了上海，看了《长河》", {"王芳", "上海", "长河"}, set()),
        ("小李说他在北京大学", {"小李", "北京"}, set()),
        ("我今天很高兴，和平最重要", set(), {"和平"}),
        ("assistant: deployed it", set(), {"assistant"}),
        ("It was the 2nd time at 3pm", set(), {"2nd", "3pm"}),
    ],
)
@pytest.mark.feature("R9")
def test_names(content: str, found: set[str], not_found: set[str]) -> None:
    have = names(one(content))
    assert found <= have
    assert not have & not_found


def test_names_given_by_the_caller_are_on_every_fact() -> None:
    given_names = (EntityMention(name="ann", type="PERSON", literal=True), EntityMention(name="Project X"))
    extraction = extract("Ann: I met Bob.\nBob: Indeed, a nice day.", entities=given_names)
    for fact in extraction.facts:
        assert set(given_names) <= set(fact.entities)
        keys = [entity.name.casefold() for entity in fact.entities]
        assert len(keys) == len(set(keys))


@pytest.mark.feature("R16")
def test_noise_makes_no_fact_and_keeps_its_turn() -> None:
    content = "Ann: I moved to Oslo.\nBob: ok\nAnn: 👍\nBob: Where exactly?"
    extraction = extract(content)
    assert [turn.text for turn in extraction.turns] == ["I moved to Oslo.", "ok", "👍", "Where exactly?"]
    assert [fact.turn_index for fact in extraction.facts] == [0, 3]
    assert [fact.is_question for fact in extraction.facts] == [False, True]
    assert [fact.turn_index for fact in extract(content, mode="verbose").facts] == [0, 1, 3]
    assert [chunk.text for chunk in extraction.chunks] == [content]
    assert extract("👍").facts == ()


@pytest.mark.parametrize("mode", ["verbatim", "chunks"])
@pytest.mark.feature("R7")
def test_chunk_modes(mode: str) -> None:
    content = "\n".join(f"{name}: line number {n} of this talk" for n in range(10) for name in ("Ann", "Bob"))
    extraction = extract(content, mode=mode, chunk_size=200)
    assert len(extraction.chunks) > 3
    assert [fact.text for fact in extraction.facts] == [chunk.text for chunk in extraction.chunks]
    assert [fact.chunk_index for fact in extraction.facts] == list(range(len(extraction.chunks)))
    assert [content[fact.start : fact.end] for fact in extraction.facts] == [fact.text for fact in extraction.facts]
    assert extract("Ann: ok", mode=mode).facts == ()
    assert one("Ann: I moved", mode=mode).speaker == "Ann"


def test_chunks_hold_whole_turns() -> None:
    values = [{"role": "user", "content": f"message {n} " + "x" * 50} for n in range(40)]
    for content in (json.dumps(values), "\n".join(map(json.dumps, values))):
        extraction = extract(content, chunk_size=500)
        assert all(len(chunk.text) <= 500 for chunk in extraction.chunks)
        for fact in extraction.facts:
            assert json.dumps(values[fact.turn_index]) in extraction.chunks[fact.chunk_index].text


def test_prose_is_cut_into_chunks_between_sentences() -> None:
    extraction = extract(LONG, chunk_size=500)
    assert len(extraction.chunks) > 2
    assert " ".join(chunk.text.strip() for chunk in extraction.chunks) == LONG
    assert all(len(chunk.text) <= 500 and chunk.text.strip().endswith("sea.") for chunk in extraction.chunks)


def test_what_is_appended_changes_only_the_last_chunk() -> None:
    lines = [f"Ann: line number {n} of a long talk" for n in range(60)]
    before = extract("\n".join(lines[:40]), chunk_size=300).chunks
    after = extract("\n".join(lines), chunk_size=300).chunks
    assert after[: len(before) - 1] == before[:-1]


def test_an_unknown_mode_is_concise() -> None:
    assert extract("Ann: I moved", mode="custom") == extract("Ann: I moved")


def check(content: str, extraction: Extraction, chunk_size: int) -> None:
    assert extraction.chunks or not content.strip()
    for index, chunk in enumerate(extraction.chunks):
        assert chunk.index == index
        assert chunk.text in content
        assert 0 < len(chunk.text) <= chunk_size
    for fact in extraction.facts:
        assert fact.text.strip()
        assert extraction.turns[fact.turn_index].index == fact.turn_index
        assert 0 <= fact.chunk_index < len(extraction.chunks)
        assert 0 <= fact.start < fact.end <= len(content)
        assert all(entity.name.strip() for entity in fact.entities)


PIECES = st.sampled_from(
    [
        "Ann: ",
        "\n",
        "\n\n",
        "ok",
        "昨天",
        " yesterday",
        "? ",
        "。",
        '{"role": "user", "content": "',
        '"}',
        "[",
        "]",
        ", ",
    ]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.lists(
    PIECES | st.text(st.characters(exclude_categories=["Cs"]), max_size=10), max_size=30
).map("".join)


@given(TEXTS, st.sampled_from(["concise", "verbose", "verbatim", "chunks"]), st.sampled_from([10, 100, 3000]))
def test_any_text(content: str, mode: str, chunk_size: int) -> None:
    extraction = extract(content, mode=mode, chunk_size=chunk_size)
    check(content, extraction, chunk_size)
    assert extraction == extract(content, mode=mode, chunk_size=chunk_size)


@pytest.mark.parametrize(
    "content",
    [
        "x" * 1_000_000,
        "字" * 1_000_000,
        "a-1 " * 250_000,
        "-" * 1_000_000,
        '"' * 1_000_000,
        "Ann: " + "word " * 200_000,
        "Ann: hi there\n" * 20_000,
        "a" + " " * 1_000_000 + "b",
        "{" + " " * 1_000_000 + "\n}",
        "Ann: a. " + "\t" * 1_000_000 + "b",
        "\n" * 999_999 + "x",
        "A" * 500_000 + "1" * 500_000,
        "[" + '{"role": "user", "content": "hello you"}, ' * 20_000 + "{}]",
        "Mr. " * 250_000,
        "《" * 1_000_000,
        "Ann Bob " * 125_000,
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_megabyte(content: str) -> None:
    check(content, extract(content), 3000)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("<!-- generated file -->\n\nAnn lives in Oslo.", ["Ann lives in Oslo."]),
        ("<!-- one\n\ntwo -->\n\nAnn lives in Oslo.", ["Ann lives in Oslo."]),
        ("Ann lives in Oslo.\n<!-- todo: check -->\nBo lives in Rome.", ["Ann lives in Oslo.", "Bo lives in Rome."]),
        ("<!-- nothing else -->", []),
        ("Ann lives <!-- a --> in <!-- b --> Oslo.<!-- c -->", ["Ann lives in Oslo."]),
        ("Write `<!-- x -->` to hide a note.", ["Write `<!-- x -->` to hide a note."]),
        ("An arrow <!-- that never ends.", ["An arrow <!-- that never ends."]),
        ("Ann: <!-- is how a comment begins -->", ["Ann: <!-- is how a comment begins -->"]),
        ("```html\n<!-- x -->\n```", ["```html\n<!-- x -->\n```"]),
    ],
)
def test_comments_that_nobody_sees_are_no_facts(content: str, texts: list[str]) -> None:
    assert [" ".join(fact.text for fact in extract(content).facts)] == [" ".join(texts)]
    assert len(extract(content).facts) >= len(texts)


@pytest.mark.feature("R2")
@pytest.mark.parametrize(
    ("content", "name", "day"),
    [
        (
            "We talked for a long time about the plans of the harbour, and New\n"
            "York was where she had been with her brother and his dog, last\n"
            "week as it seems to me.",
            "New York",
            "2024-02-26",
        ),
        (
            "我们昨天在图书馆讨论了很久关于新项目的计划和预算，还有下个季度的安排与人手的问题，王\n小明上\n周一来过。",
            None,
            None,
        ),
    ],
)
def test_names_and_times_go_over_the_breaks_of_wrapped_lines(content: str, name: str | None, day: str | None) -> None:
    fact = one(content)
    assert fact.text == content
    if name is not None:
        assert name in names(fact)
    if day is not None:
        assert fact.occurred is not None
        assert fact.occurred.start.date().isoformat() == day


@pytest.mark.feature("R7")
def test_an_element_of_an_array_may_stay_in_one_chunk() -> None:
    content = json.dumps([{"speaker": "Ann", "text": LONG}, {"speaker": "Bob", "text": "Short."}])
    item = RetainItem(content=content, document_id="d", timestamp=AT)

    def chunks(**options: int) -> list[str]:
        made = EXTRACTOR.extract(item, ExtractionOptions(chunk_size=500, **options))
        assert {fact.chunk_index for fact in made.facts} == {0, len(made.chunks) - 1}
        return [chunk.text for chunk in made.chunks]

    assert len(chunks()) > 2
    whole = chunks(structured_chunk_size=5000)
    assert [text.startswith('{"speaker"') and text.endswith("}") for text in whole] == [True, True]
    # Words that are no JSON are cut as ever.
    prose = RetainItem(content=LONG, document_id="d", timestamp=AT)
    made = EXTRACTOR.extract(prose, ExtractionOptions(chunk_size=500, structured_chunk_size=5000))
    assert max(len(chunk.text) for chunk in made.chunks) <= 500
