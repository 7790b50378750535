"""Faults that memory systems had with names and with times, each as the smallest input that would show it here.

A27 of transcripts that an agent keeps is in the framework packages.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("error")

_ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_TIMES = ("occurred_start", "occurred_end", "mentioned_at")


def _listed(api: Any, bank: str, query: str = "") -> list[dict[str, Any]]:
    answer = api.bank("GET", bank, f"/memories/list?limit=1000{query}")
    assert answer.status == 200, answer.body
    items: list[dict[str, Any]] = answer.body["items"]
    return items


def _entities(api: Any, bank: str) -> dict[str, dict[str, Any]]:
    items = api.bank("GET", bank, "/entities?limit=200").body["items"]
    return {one["canonical_name"]: one for one in items}


def _named(api: Any, bank: str, entity: dict[str, Any]) -> set[str]:
    """The texts of the memories that name an entity."""
    return {row["text"] for row in _listed(api, bank, f"&entity_id={entity['id']}")}


def test_case_a16_a_day_is_that_of_the_moment_and_never_of_the_servers_zone(api: Any, bank: str) -> None:
    """Two o'clock at night in UTC, the day before in California: listed on the day asked for and on no other."""
    moments = ("2025-07-25T02:00:00Z", "2025-07-24T19:00:00-07:00", "2025-07-25T00:00:00Z", "2025-07-25T23:59:59Z")
    for number, moment in enumerate(moments):
        item = {"content": f"Ann: note {number}.", "document_id": f"d{number}", "timestamp": moment}
        assert api.retain(bank, item).status == 200
    rows = _listed(api, bank)
    assert len(rows) == len(moments)
    for row in rows:
        told = moments[int(row["document_id"][1:])]
        stored = datetime.fromisoformat(row["mentioned_at"])
        assert stored.utcoffset() == timedelta(0)
        assert stored == datetime.fromisoformat(told)
    on = {"start": "2025-07-25T00:00:00Z", "end": "2025-07-25T23:59:59Z", "on": "mentioned"}
    before = {"start": "2025-07-24T00:00:00Z", "end": "2025-07-24T23:59:59Z", "on": "mentioned"}
    assert len(api.recall(bank, "note", time_filter=on).body["results"]) == len(moments)
    assert api.recall(bank, "note", time_filter=before).body["results"] == []
    # A list ends before its end.
    assert len(_listed(api, bank, "&time_field=mentioned_at&start_date=2025-07-25&end_date=2025-07-26")) == len(moments)
    assert _listed(api, bank, "&time_field=mentioned_at&start_date=2025-07-24&end_date=2025-07-25") == []


def test_case_a17_every_time_that_is_told_carries_its_zone(api: Any, bank: str) -> None:
    """Said in Tokyo at 08:55, which is the evening before in UTC: the day is that of Tokyo, and no time is bare."""
    moment = "2025-07-25T08:55:00+09:00"
    api.retain(bank, {"content": "Ann: yesterday the sensors failed.", "timestamp": moment})
    rows = [*_listed(api, bank), *api.recall(bank, "When did the sensors fail?").body["results"]]
    assert len(rows) == 2
    for row in rows:
        told = [row[name] for name in _TIMES]
        assert all(_ZONED.fullmatch(time) for time in told), told
        start, end, said = map(datetime.fromisoformat, told)
        assert said == datetime.fromisoformat(moment)
        assert start == datetime.fromisoformat("2025-07-24T00:00:00+09:00")
        assert end.astimezone(datetime.fromisoformat(moment).tzinfo).date().isoformat() == "2025-07-24"


@pytest.mark.feature("R9")
def test_case_a24_signs_make_no_new_person_and_no_spelling_is_merged_by_half(api: Any, bank: str) -> None:
    api.retain(
        bank,
        "Wren 🕯️ lit a candle in Bergen.",
        {"content": "In Oslo a voice was heard.", "entities": [{"text": "Wren 🗯️", "type": "PERSON"}]},
        "Ann Merrivale called Wren.",
        "Ann Merryvale called Wren as well.",
    )
    found = _entities(api, bank)
    assert [name for name in found if "Wren" in name] == ["Wren"]
    assert len(_named(api, bank, found["Wren"])) == 4
    spelt = [one for name, one in found.items() if name.startswith("Ann M")]
    texts = [_named(api, bank, one) for one in spelt]
    assert set().union(*texts) == {"Ann Merrivale called Wren.", "Ann Merryvale called Wren as well."}
    assert sum(map(len, texts)) == 2, "merged or apart: each memory names exactly one of them"


@pytest.mark.feature("R9")
def test_case_a25_the_same_acronym_is_always_the_same_entity(api: Any, bank: str) -> None:
    texts = [
        "The DGIA audited our accounts in May.",
        "Letter to DGIA: please return the seal.",
        "Nothing rhymes with the DGIA, said Bob Stone.",
        "A parcel came from DGIA.",
    ]
    api.retain(bank, *texts[:2])
    first = _entities(api, bank)["DGIA"]
    for text in texts[2:]:
        api.retain(bank, text)
    found = _entities(api, bank)
    assert [name for name in found if "dgia" in name.casefold()] == ["DGIA"]
    assert found["DGIA"]["id"] == first["id"]
    assert _named(api, bank, found["DGIA"]) == set(texts)


@pytest.mark.feature("R9")
def test_case_a26_an_exact_name_wins_over_a_similar_one_that_is_named_more(api: Any, bank: str) -> None:
    api.retain(
        bank,
        *(f"Dr Wall met Ann Lee in room {number}." for number in range(6)),
        *(f"Chase Savings sent Ann Lee letter {number}." for number in range(6)),
        "Dr. Waller moved to Bergen.",
        "Chase Checking was opened in Oslo.",
    )
    api.retain(bank, "Ann Lee saw Dr. Waller again.", "Ann Lee closed Chase Checking.")
    found = _entities(api, bank)

    def texts(last: str) -> set[str]:
        return set().union(*(_named(api, bank, one) for name, one in found.items() if name.split()[-1] == last))

    assert texts("Waller") == {"Dr. Waller moved to Bergen.", "Ann Lee saw Dr. Waller again."}
    assert texts("Checking") == {"Chase Checking was opened in Oslo.", "Ann Lee closed Chase Checking."}
    assert len(texts("Wall")) == len(texts("Savings")) == 6


@pytest.mark.feature("R9")
def test_case_a26_a_short_name_of_two_is_given_to_neither(api: Any, bank: str) -> None:
    api.retain(bank, "Victor Hale is my dentist.", "Victor Cruz drums in our band.")
    api.retain(bank, *(f"Victor called about matter {number}." for number in range(10)))
    found = _entities(api, bank)
    assert found["Victor"]["ambiguous"] is True
    assert len(_named(api, bank, found["Victor"])) == 10
    assert _named(api, bank, found["Victor Hale"]) == {"Victor Hale is my dentist."}
    assert _named(api, bank, found["Victor Cruz"]) == {"Victor Cruz drums in our band."}


@pytest.mark.feature("R9")
def test_case_a27_the_role_decides_who_speaks_and_ids_are_nobody(api: Any) -> None:
    bank = "my-agent::c4::u27"
    api.retain(
        bank, {"content": "User: I bought a MacBook.\nAssistant: I ordered a sleeve for it.", "document_id": "t"}
    )
    rows = {row["text"]: row for row in _listed(api, bank)}
    assert {text: row["fact_type"] for text, row in rows.items()} == {
        "User: I bought a MacBook.": "world",
        "Assistant: I ordered a sleeve for it.": "experience",
    }
    assert bank not in str([row["text"] for row in rows.values()])
    names = {name.casefold() for name in _entities(api, bank)}
    assert names.isdisjoint({"user", "assistant", bank, "my-agent", "c4", "u27"})
    assert api.bank("DELETE", bank).status == 200


def test_what_users_said_of_names_outlives_a_merge(api: Any, bank: str) -> None:
    """Aliases, the name to go by, and names that were split off stay what they are when two entities become one."""
    api.retain(bank, "Alice Chen met Bob Stone.", "Alice likes tea.", "Room 101 is cold.", "Theodora Vance sang.")
    alice = _entities(api, bank)["Alice Chen"]
    assert api.bank("POST", bank, f"/entities/{alice['id']}/split", {"names": ["Alice"]}).status == 200
    assert api.bank("POST", bank, f"/entities/{alice['id']}/aliases", {"name": "The Quokka"}).status == 200
    room = _entities(api, bank)["Room 101"]
    assert api.bank("POST", bank, f"/entities/{room['id']}/aliases", {"name": "Cold Chamber"}).status == 200
    assert api.bank("PATCH", bank, f"/entities/{room['id']}", {"canonical_name": "The Vault"}).status == 200
    merged = api.bank("POST", bank, f"/entities/{alice['id']}/merge", {"entity_ids": [room["id"]]}).body
    names = {merged["canonical_name"], *merged["aliases"]}
    assert names == {"Alice Chen", "The Quokka", "Room 101", "Cold Chamber", "The Vault"}
    assert merged["canonical_name"] == "The Vault"
    api.retain(bank, "Alice Chen and Alice met again.")
    found = _entities(api, bank)
    assert "Alice" in found, "it was split off by hand"
    assert set(found["The Vault"]["aliases"]) == names - {"The Vault"}


@pytest.mark.parametrize("field", ["ids", "document_ids"])
@pytest.mark.parametrize("odd", ["\ud800", "a\udfffb", "x\u0000"])
def test_an_id_that_no_memory_can_have_is_refused(api: Any, bank: str, field: str, odd: str) -> None:
    api.retain(bank, "Ann bought a canoe.")
    answer = api.bank("POST", bank, "/memories/forget", {field: ["plain", odd]})
    assert (answer.status, answer.body["detail"][0]["loc"]) == (422, ["body", field, 1])
    assert len(_listed(api, bank)) == 1
