"""What keeps a bank's data: documents, chunks, facts, postings, vectors, entities and operations.

Every method is asynchronous, is scoped by one bank and either happens whole or not at all. Reads never wait for writes.
Callers never give a negative limit or offset: they refuse it themselves. A fact that a write changes (tags, text,
state, place) gets a new `seq`, so that `snapshot` tells it as removed and added.
`hindsight_server.testing.store_contract` is the test suite that each implementation passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.model import Fact
from hindsight_server.ports.attachments import AttachmentStore
from hindsight_server.ports.causes import CauseStore
from hindsight_server.ports.directives import DirectiveStore
from hindsight_server.ports.embedder import Encoding, Int8Array
from hindsight_server.ports.entities import EntityStore
from hindsight_server.ports.forgetting import ForgettingStore
from hindsight_server.ports.jobs import JobQueue
from hindsight_server.ports.llm_log import LlmLogStore
from hindsight_server.ports.mental_models import MentalModelStore
from hindsight_server.ports.observations import ObservationStore
from hindsight_server.ports.records import (
    Bank,
    BankChange,
    BankImage,
    BankStats,
    Chunk,
    Document,
    DocumentFilter,
    DocumentPart,
    DocumentState,
    FactFilter,
    Float32Array,
    Int32Array,
    Int64Array,
    Operation,
    Page,
    RetainResult,
    RetainWrite,
    Snapshot,
)
from hindsight_server.ports.security import SecurityStore
from hindsight_server.ports.transfer import TransferStore
from hindsight_server.ports.webhooks import WebhookStore


class Store(
    ForgettingStore,
    SecurityStore,
    TransferStore,
    EntityStore,
    DirectiveStore,
    ObservationStore,
    MentalModelStore,
    AttachmentStore,
    LlmLogStore,
    CauseStore,
    WebhookStore,
    JobQueue,
    Protocol,
):
    async def open(self) -> None:
        """Open the data folder or database, migrating it. Raises DataFolderError; changes nothing when it fails.

        Opening an open store does nothing.

        A store with one owner makes operations that an owner before it left `processing` pending at once; the tries
        that were begun stay counted.
        """
        ...

    async def close(self) -> None: ...

    async def ping(self) -> None:
        """Raise when the store can't answer."""
        ...

    # banks
    async def ensure_bank(self, bank_id: str, now: datetime) -> None:
        """Create the bank when it is not there."""
        ...

    async def save_bank(self, bank_id: str, change: BankChange, now: datetime) -> Bank:
        """Create or change a bank."""
        ...

    async def get_bank(self, bank_id: str) -> Bank:
        """Raises BankNotFound, as does every other read of an unknown bank."""
        ...

    async def list_banks(self, query: str | None, limit: int, offset: int) -> Page[Bank]:
        """Most recently written first, then by id. `query` is a substring of the id or the name, case folded."""
        ...

    async def delete_bank(self, bank_id: str) -> int:
        """Delete a bank with everything in it; the number of facts deleted."""
        ...

    async def bank_stats(self, bank_id: str) -> BankStats: ...

    # writing
    async def retain(self, write: RetainWrite) -> RetainResult:
        """Store a retain in one transaction, creating the bank when needed.

        Raises Conflict when the operation's id belongs to another bank, type or content, or the bank that the writer
        saw is gone; StaleDocument as `DocumentWrite` says.
        """
        ...

    async def document_state(self, bank_id: str, document_id: str) -> DocumentState | None:
        """None when the document, or the bank, does not exist.

        Chunks whose facts are pending or were cleared are left out, and then the content hash is empty: there is
        nothing to keep of them.
        """
        ...

    async def document_states(self, bank_id: str, document_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """`document_state` of those that there are, by their ids."""
        ...

    async def waiting_parts(self, bank_id: str, operation_id: str) -> list[tuple[str, DocumentPart]]:
        """The parts, with their documents' ids, that wait for a job to replace their pending facts.

        By document, in the order of the text; those that were replaced or deleted since are gone.
        """
        ...

    async def parts_before(
        self, bank_id: str, document_id: str, operation_id: str | None, limit: int
    ) -> list[DocumentPart]:
        """The last parts of a document, in order, at most `limit`: before those that wait for a job, when one is named.

        Empty when the document, or the bank, does not exist.
        """
        ...

    async def document_parts(self, bank_id: str, document_id: str) -> list[DocumentPart]:
        """The texts that make up a document, in order, each as it was retained. Raises NotFound."""
        ...

    # reading
    async def get_fact(self, bank_id: str, fact_id: str) -> Fact: ...

    async def facts_by_id(self, bank_id: str, fact_ids: Sequence[str]) -> list[Fact]:
        """The facts of the given ids, in that order; those that are gone are left out."""
        ...

    async def facts(self, bank_id: str, seqs: Sequence[int]) -> list[Fact]:
        """The facts of the given numbers, in that order; numbers that are gone are left out."""
        ...

    async def list_facts(self, bank_id: str, wanted: FactFilter, limit: int, offset: int) -> Page[Fact]:
        """Latest `mentioned_at` first (none last), then `created_at`, then `seq`; in every state unless one is wanted.

        With a time field (`created_at` when only a start or an end is given): latest first, without facts that lack it.
        """
        ...

    async def get_document(self, bank_id: str, document_id: str) -> Document:
        """With its text."""
        ...

    async def list_documents(self, bank_id: str, wanted: DocumentFilter, limit: int, offset: int) -> Page[Document]:
        """Most recently updated (or created, as `time_field` says) first, then by id; without texts."""
        ...

    async def get_chunk(self, chunk_id: str) -> Chunk: ...

    async def chunks(self, bank_id: str, chunk_ids: Sequence[str]) -> list[Chunk]: ...

    async def list_chunks(self, bank_id: str, document_id: str, limit: int, offset: int) -> Page[Chunk]: ...

    async def list_tags(self, bank_id: str, query: str | None, limit: int, offset: int) -> Page[tuple[str, int]]:
        """Tags with the number of recallable facts that carry each; most used first, then by name.

        `query` is the whole tag, case folded, and may hold ``*`` wildcards.
        """
        ...

    # recall
    async def snapshot(self, bank_id: str, after_seq: int, after_version: int, *, limit: int | None = None) -> Snapshot:
        """What changed after a mark; `(0, 0)` gives everything. Cheap when nothing changed.

        With a limit, at most so many rows: a big bank is read piece by piece, each time with the mark of the piece
        before, until one is complete.
        """
        ...

    async def save_image(self, bank_id: str, image: BankImage) -> bool:
        """Keep a bank's image in place of an older one; False when it was not kept.

        An image is a cache: a store may keep none, and drops it in the same write that removes or changes any fact that
        it may hold. One that comes too late, after such a write, is not kept.
        """
        ...

    async def load_image(self, bank_id: str) -> BankImage | None:
        """The image that was kept last; None when there is none, or a damaged one."""
        ...

    async def postings(self, bank_id: str, terms: Mapping[str, int]) -> Mapping[str, tuple[Int64Array, Int32Array]]:
        """For each term, the `seq`s above the given one that hold it (ascending) and how often."""
        ...

    async def vectors(self, bank_id: str, seqs: Sequence[int]) -> Mapping[str, tuple[Int64Array, Float32Array]]:
        """For each space, those of the facts that have a vector there and their vectors, shape (n, dimension)."""
        ...

    async def add_vectors(self, bank_id: str, vectors: Mapping[int, Encoding]) -> int:
        """Keep vectors of facts, by `seq`, in another space than the one they were retained with; how many were kept.

        Facts that are gone or changed since, or have no vector of their own, are left out. The bank's version stays:
        snapshots hold these vectors from now on, but tell nobody that they came. An image of the bank is dropped.
        """
        ...

    async def token_vectors(self, bank_id: str, space: str, seqs: Sequence[int]) -> Mapping[int, Int8Array]:
        """Token vectors, shape (n, token_dimension), of those facts that have any."""
        ...

    # operations
    async def add_operation(self, operation: Operation) -> Operation:
        """Record an operation; the stored one when the id was used for the same before. Raises Conflict otherwise."""
        ...

    async def list_operations(
        self, bank_id: str, status: str | None, type_: str | None, limit: int, offset: int
    ) -> Page[Operation]:
        """Newest first, without payloads."""
        ...

    async def requeue_operation(self, bank_id: str, operation_id: str, now: datetime) -> bool:
        """Make a failed or cancelled operation, or one that waits for its next try, pending at once.

        It has all its tries again: `attempts` is 0, and ``waited`` leaves its result. False in any other state.
        """
        ...

    async def cancel_operation(self, bank_id: str, operation_id: str, now: datetime) -> bool: ...

    async def delete_operation(self, bank_id: str, operation_id: str) -> bool:
        """Forget a finished operation."""
        ...
