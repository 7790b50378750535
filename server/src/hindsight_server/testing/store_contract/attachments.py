"""What every store does with the attachments of documents and facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindsight_server.domain.attachments import Attachment, token
from hindsight_server.domain.errors import Conflict, NotFound
from hindsight_server.ports.attachments import ReleasedBlob
from hindsight_server.ports.forgetting import ForgetWrite
from hindsight_server.ports.records import DocumentWrite
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, appended, document, operation, write


def attachment(letter: str, **options: str) -> Attachment:
    """An attachment whose bytes have a hash of one letter."""
    values = {"kind": "image", "media_type": "image/png"} | options
    return Attachment(attachment_id=letter * 16, digest=letter * 64, byte_size=3, **values)


def attached(held: DocumentWrite, *attachments: Attachment) -> DocumentWrite:
    """A document that holds attachments, from the first of which its facts were drawn."""
    drawn = tuple(one.attachment_id for one in attachments[:1])
    facts = tuple(replace(fact, extracted=replace(fact.extracted, attachments=drawn)) for fact in held.facts)
    return replace(held, attachments=attachments, facts=facts)


A, B = attachment("a"), attachment("b", kind="file", media_type="text/csv", filename="b.csv")


class AttachmentContract:
    """Attachments: told with what holds them, gone with the last of it, their bytes given up then."""

    async def test_documents_and_facts_tell_of_them_in_order(self, store: Store) -> None:
        result = await store.retain(write("b", attached(document("d", "one"), B, A), document("plain", "two")))
        assert await store.document_attachments("b", ["d", "plain", "none"]) == {"d": (B, A)}
        assert await store.fact_attachments("b", [*result.fact_ids, "none"]) == {result.fact_ids[0]: (B,)}
        assert await store.get_attachment("b", A.attachment_id) == A
        for bank, name in (("b", "c" * 16), ("other", A.attachment_id)):
            with pytest.raises(NotFound):
                await store.get_attachment(bank, name)

    async def test_the_latest_declaration_is_told(self, store: Store) -> None:
        other = attachment("a", media_type="image/webp")
        await store.retain(write("b", attached(document("d", "one"), A)))
        await store.retain(write("b", attached(document("e", "two"), other)))
        assert await store.get_attachment("b", A.attachment_id) == other
        assert await store.document_attachments("b", ["d", "e"]) == {"d": (A,), "e": (other,)}

    async def test_two_that_share_an_id_are_refused(self, store: Store) -> None:
        await store.retain(write("b", attached(document("d", "one"), A)))
        with pytest.raises(Conflict):
            await store.retain(write("b", attached(document("e", "two"), replace(A, digest="c" * 64))))
        assert await store.document_state("b", "e") is None

    async def test_the_last_document_gives_the_bytes_up(self, store: Store) -> None:
        await store.retain(write("b", attached(document("d", "one"), A), attached(document("e", "two"), A)))
        await store.delete_document("b", "d", NOW)
        assert await store.released_blobs(10) == []
        assert await store.blob_in_use("b", A.digest)
        await store.delete_document("b", "e", NOW)
        assert await store.released_blobs(10) == [ReleasedBlob("b", A.digest)]
        assert not await store.blob_in_use("b", A.digest)
        await store.drop_released("b", A.digest)
        assert await store.released_blobs(10) == []

    async def test_replacing_keeps_what_stays_and_appending_adds(self, store: Store) -> None:
        await store.retain(write("b", attached(document("d", "one"), A, B)))
        await store.retain(write("b", attached(document("d", "two"), B)))
        assert await store.document_attachments("b", ["d"]) == {"d": (B,)}
        assert await store.released_blobs(10) == [ReleasedBlob("b", A.digest)]
        await store.retain(write("b", attached(appended("d", "three"), A)))
        assert await store.document_attachments("b", ["d"]) == {"d": (B, A)}

    async def test_a_deleted_bank_gives_everything_up(self, store: Store) -> None:
        await store.retain(write("b", attached(document("d", "one"), A, B)))
        await store.delete_bank("b")
        assert {one.digest for one in await store.released_blobs(10)} == {A.digest, B.digest}
        assert not await store.blob_in_use("b", A.digest)

    async def test_a_forgotten_fact_takes_along_what_it_was_drawn_from(self, store: Store) -> None:
        held = attached(document("d", "one", "two"), A, B)
        facts = (held.facts[0], replace(held.facts[1], extracted=replace(held.facts[1].extracted, attachments=())))
        result = await store.retain(write("b", replace(held, facts=facts)))
        dry = ForgetWrite(bank_id="b", fact_ids=result.fact_ids[:1], dry_run=True)
        await store.forget(dry, NOW)
        assert await store.document_attachments("b", ["d"]) == {"d": (A, B)}
        await store.forget(replace(dry, dry_run=False), NOW)
        assert await store.document_attachments("b", ["d"]) == {"d": (B,)}
        assert await store.released_blobs(10) == [ReleasedBlob("b", A.digest)]

    async def test_a_job_reads_something_into_its_text(self, store: Store) -> None:
        before = attached(replace(document("d", "one"), text=f"one {token(A.attachment_id)}"), A, B)
        job = operation("b", "job", status="pending")
        await store.retain(write("b", before, operation=job))
        read = replace(before, text="one, and a reading", waited_text=before.text, attachments=(B,))
        await store.retain(write("b", read, operation=job, finishes="job"))
        stored = await store.get_document("b", "d")
        assert (stored.text, stored.text_length) == ("one, and a reading", 18)
        assert await store.document_attachments("b", ["d"]) == {"d": (B,)}

    async def test_an_upload_that_failed_gives_its_bytes_up_with_its_operation(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        await store.add_operation(
            operation("b", "job", type="file_convert_retain", status="pending", payload={"blob": A.digest})
        )
        assert not await store.delete_operation("b", "job")
        assert await store.released_blobs(10) == []
        await store.cancel_operation("b", "job", NOW)
        assert await store.delete_operation("b", "job")
        assert await store.released_blobs(10) == [ReleasedBlob("b", A.digest)]
        assert not await store.blob_in_use("b", A.digest)

    async def test_an_upload_keeps_its_bytes_until_it_is_completed(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        job = operation("b", "job", type="file_convert_retain", status="pending", payload={"blob": A.digest})
        await store.add_operation(job)
        assert await store.blob_in_use("b", A.digest)
        assert not await store.blob_in_use("b", B.digest)
        assert not await store.blob_in_use("other", A.digest)
        claimed = await store.claim_operation(["file_convert_retain"], NOW, 30)
        assert claimed is not None
        await store.finish_operation(claimed, "failed", NOW)
        assert await store.blob_in_use("b", A.digest)
        await store.requeue_operation("b", "job", NOW)
        claimed = await store.claim_operation(["file_convert_retain"], NOW, 30)
        assert claimed is not None
        await store.finish_operation(claimed, "completed", NOW)
        assert not await store.blob_in_use("b", A.digest)
