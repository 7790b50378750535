"""What an archive brings goes through the memory defence of the bank that takes it in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hindsight_server.adapters.detect import SensitiveData
from hindsight_server.engine.defence import Defender
from hindsight_server.engine.defence.importing import ImportDefender
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import BankChange, DocumentFilter, FactFilter
from hindsight_server.ports.security import EventFilter

pytestmark = pytest.mark.feature("R15")
MAIL = "zoe.quillfeather@example.org"


@pytest.fixture
def defended(movers: Any) -> Any:
    engine = movers.engine
    defender = Defender(engine.store, SensitiveData(), engine.clock)
    movers.transfers.defend(ImportDefender(engine.store, SensitiveData(), engine.clock, defender))
    return movers


async def archive(movers: Any) -> bytes:
    turns = [{"speaker": "Zoe", "text": f"Write to {MAIL}."}, {"speaker": "Ben", "text": "I will."}]
    items = [
        ItemInput(content=json.dumps(turns), document_id="talk", context=f"from {MAIL}", metadata={"from": MAIL}),
        ItemInput(content="Ann has a canoe.", document_id="plain", tags=["final"]),
        ItemInput(content="Bo has a kayak.", document_id=f"mail {MAIL}"),
    ]
    await movers.engine.retain("source", items)
    return await movers.exported("source")  # type: ignore[no-any-return]


async def policy(movers: Any, *rules: dict[str, Any]) -> None:
    config = {"memory_defense": {"enabled": True, "rules": list(rules)}}
    await movers.engine.store.save_bank("target", BankChange(config=config), movers.engine.clock.now())


async def everything(movers: Any) -> str:
    store = movers.engine.store
    listed = await store.list_documents("target", DocumentFilter(), 10, 0)
    documents = [await store.get_document("target", one.document_id) for one in listed.items]
    parts = [await store.document_parts("target", one.document_id) for one in listed.items]
    chunks = [await store.list_chunks("target", one.document_id, 10, 0) for one in listed.items]
    facts = await store.list_facts("target", FactFilter(), 100, 0)
    return repr((documents, parts, chunks, facts))


async def test_what_is_taken_out_comes_into_no_part_of_the_bank(defended: Any) -> None:
    data = await archive(defended)
    await policy(defended, {"on": "sensitive_data", "action": "redact"})
    result = await defended.imported("target", data, mode="merge")
    assert result["documents_imported"] == 2
    held = await everything(defended)
    assert MAIL not in held
    assert "Write to [REDACTED:email]." in held
    events = (await defended.engine.store.list_security_events("target", EventFilter(), 10, 0)).items
    seen = {(event.source, event.document_id, event.action) for event in events}
    assert seen == {("import", "talk", "redact"), ("import", None, "block")}
    assert all(event.operation_id for event in events)
    assert MAIL not in repr(events)


async def test_what_is_not_touched_stays_as_it_was(defended: Any) -> None:
    data = await archive(defended)
    await policy(defended, {"on": "sensitive_data", "action": "redact"})
    await defended.imported("target", data, mode="merge")
    for read in ("get_document", "document_parts", "document_state"):
        before, after = [await getattr(defended.engine.store, read)(bank, "plain") for bank in ("source", "target")]
        assert before == after


async def test_a_redacted_document_can_be_retained_and_extracted_again(defended: Any) -> None:
    data = await archive(defended)
    await policy(defended, {"on": "sensitive_data", "action": "redact"})
    await defended.imported("target", data, mode="merge")
    await defended.done(await defended.engine.retainer.reprocess("target", "talk"))
    facts = await defended.engine.store.list_facts("target", FactFilter(document_id="talk"), 10, 0)
    assert facts.total == 2
    assert any("Write to [REDACTED:email]." in fact.text for fact in facts.items)
    assert MAIL not in await everything(defended)


async def test_an_immutable_document_is_not_replaced_by_an_import(defended: Any) -> None:
    data = await archive(defended)
    await defended.engine.retain("target", [ItemInput(content="mine", document_id="plain", tags=["final"])])
    await policy(defended, {"on": "immutable_tags", "action": "block", "tags": ["final"]})
    await defended.imported("target", data, mode="merge", conflict="replace")
    assert (await defended.engine.store.get_document("target", "plain")).text == "mine"


async def test_chunks_that_become_equal_stay_two(defended: Any) -> None:
    lines = "\n\n".join(f"{name}@example.org " * 12 for name in ("ann", "bob"))
    await defended.engine.store.save_bank(
        "source", BankChange(config={"retain_chunk_size": 250}), defended.engine.clock.now()
    )
    await defended.engine.retain("source", [ItemInput(content=lines, document_id="d")])
    before = await defended.engine.store.list_chunks("source", "d", 10, 0)
    data = await defended.exported("source")
    await policy(defended, {"on": "sensitive_data", "action": "redact"})
    await defended.imported("target", data, mode="merge")
    after = await defended.engine.store.list_chunks("target", "d", 10, 0)
    assert before.total == after.total > 1
    assert "example.org" not in repr(after)


async def test_a_receipt_travels_with_its_document(defended: Any) -> None:
    await defended.engine.retain("source", [ItemInput(content="one", document_id="d", receipt_uri="urn:1")])
    await defended.imported("target", await defended.exported("source"), mode="merge")
    assert (await defended.engine.store.get_document("target", "d")).receipt_uri == "urn:1"


async def test_without_a_policy_an_import_brings_everything(defended: Any) -> None:
    data = await archive(defended)
    result = await defended.imported("target", data, mode="merge")
    assert result["documents_imported"] == 3
    assert MAIL in await everything(defended)
