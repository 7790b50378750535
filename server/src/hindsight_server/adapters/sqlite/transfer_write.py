"""What was read from a bank, written into another one, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

import apsw

from hindsight_server.adapters.sqlite.attachments import draw, restore_attachments
from hindsight_server.adapters.sqlite.banks import ensure_bank, save_bank
from hindsight_server.adapters.sqlite.directives import save_directive
from hindsight_server.adapters.sqlite.facts_write import NewFact, delete_facts, insert_facts
from hindsight_server.adapters.sqlite.names import EntityNumbers, Mentioned, make_name, touch
from hindsight_server.adapters.sqlite.naming import GIVEN_FLAGS
from hindsight_server.adapters.sqlite.operations import Outcome, finish_operation, get_operation
from hindsight_server.adapters.sqlite.postings import remove_postings
from hindsight_server.adapters.sqlite.queries import column, one_row
from hindsight_server.adapters.sqlite.security import restore_receipt
from hindsight_server.adapters.sqlite.session import BankSession, micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.transfer import holds_anything
from hindsight_server.adapters.sqlite.transfer_models import write_models
from hindsight_server.adapters.sqlite.transfer_observations import write_consolidation, write_observation
from hindsight_server.adapters.sqlite.values import to_json, to_micros
from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.domain.ids import chunk_id, new_id
from hindsight_server.domain.model import EntityMention, ExtractedFact, FactState, FactType, NameLink
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming.flags import GIVEN, LITERAL, SHOWN, TAG
from hindsight_server.ports.records import BankChange, FactWrite
from hindsight_server.ports.transfer import ReadyFact, TransferCounts, TransferDocument, TransferNames, TransferWrite

_ChunkKey = tuple[str, int, int]


def write_transfer(connection: apsw.Connection, write: TransferWrite) -> TransferCounts | None:
    """See `Store.write_transfer`."""
    if write.finishes is not None:
        job = get_operation(connection, write.finishes.bank_id, write.finishes.operation_id)
        if job is None:
            raise NotFound(f"Operation '{write.finishes.operation_id}' is gone; nothing was imported.")
        if job.status == "cancelled":
            raise Conflict(f"Operation '{job.operation_id}' was cancelled; nothing was imported.")
        if job.status == "completed":
            return None
    ensure_bank(connection, write.bank_id, write.now)
    if write.fresh and holds_anything(connection, write.bank_id):
        raise Conflict(f"Bank '{write.bank_id}' holds something already; restore into a new bank, or merge.")
    if write.bank is not None:
        save_bank(connection, write.bank_id, _bank_change(write), write.now)
        for rule in write.bank.directives:
            save_directive(connection, write.bank_id, rule, write.now)
    try:
        counts = _Writing(BankSession(connection, write.bank_id, write.now), write).write()
    except apsw.ConstraintError as error:
        raise InvalidInput(f"The archive contradicts itself ({error}); nothing was imported.", field="file") from error
    if write.finishes is not None:
        result = write.result(counts) if write.result else asdict(counts)
        finish_operation(connection, write.finishes, Outcome("completed", result, None), write.now)
    return counts


def _bank_change(write: TransferWrite) -> BankChange:
    assert write.bank is not None
    config = write.bank.config
    return BankChange(
        name=write.bank.name if write.fresh and write.bank.name != write.bank.bank_id else None,
        config=config,
        mission=config.get("reflect_mission"),
        skepticism=config.get("disposition_skepticism"),
        literalism=config.get("disposition_literalism"),
        empathy=config.get("disposition_empathy"),
    )


@dataclass(slots=True)
class _Writing:
    session: BankSession
    wanted: TransferWrite
    counts: TransferCounts = field(default_factory=TransferCounts)
    renamed: dict[str, str] = field(default_factory=dict)
    chunk_ids: dict[_ChunkKey, str] = field(default_factory=dict)

    def write(self) -> TransferCounts:
        for document in self.wanted.documents:
            self._document(document)
        taken = [ready for ready in self.wanted.facts if ready.fact.document_id in self.renamed]
        ids = self._facts(taken, {})
        observations = self._observations(taken, ids)
        self._names(self.wanted.names)
        self.session.save(documents=bool(self.renamed))
        models = write_models(self.session.connection, self.wanted)
        observations += sum(ready.fact.fact_type is FactType.OBSERVATION for ready in taken)
        return replace(
            self.counts, facts_imported=len(taken), observations_imported=observations, mental_models_imported=models
        )

    def _count(self, name: str) -> None:
        self.counts = replace(self.counts, **{name: getattr(self.counts, name) + 1})

    def _document(self, document: TransferDocument) -> None:
        session, document_id = self.session, document.document_id
        key = (session.bank_id, document_id)
        if one_row(session.connection, "documents.read", key) is not None:
            if self.wanted.conflict == "skip":
                self._count("documents_skipped")
                return
            if self.wanted.conflict == "replace":
                delete_facts(session, column(session.connection, "facts.seqs_of_document", key))
                session.connection.execute(sql("documents.delete"), key)
                self._count("documents_replaced")
            else:
                document_id = new_id()
                self._count("documents_renamed")
        self.renamed[document.document_id] = document_id
        self._count("documents_imported")
        self._rows(document, document_id)

    def _rows(self, document: TransferDocument, document_id: str) -> None:
        session, connection = self.session, self.session.connection
        scopes = None if document.observation_scopes is None else to_json(document.observation_scopes)
        connection.execute(
            sql("transfer.insert_document"),
            (
                *(session.bank_id, document_id, document.content_hash, micros_of(document.created_at)),
                *(micros_of(document.updated_at), document.text_length, document.turn_count, document.next_part),
                *(to_json(document.tags), document.context, to_json(dict(document.metadata)), scopes),
            ),
        )
        key = (session.bank_id, document_id)
        connection.executemany(
            sql("documents.insert_part"),
            [
                (*key, part.number, part.first_turn, part.turn_count, None, to_json(dict(part.source)), part.text)
                for part in document.parts
            ],
        )
        restore_receipt(connection, *key, (part.source for part in document.parts))
        restore_attachments(connection, *key, (part.source for part in document.parts))
        rows = []
        for chunk in document.chunks:
            made = chunk_id(session.bank_id, document_id, chunk.content_hash, chunk.ordinal)
            self.chunk_ids[document.document_id, chunk.part, chunk.position] = made
            place = (chunk.part, chunk.position, made, chunk.content_hash, chunk.ordinal, chunk.first_turn)
            rows.append((*key, *place, int(chunk.complete), micros_of(chunk.created_at), chunk.text))
        connection.executemany(sql("documents.insert_chunk"), rows)

    def _observations(self, taken: list[ReadyFact], ids: dict[str, str]) -> int:
        """Store the observations all of whose sources are stored; how many. Facts wait for what is not."""
        kept, anew = [], set()
        for one in self.wanted.observations:
            sources = [source.fact_id for source in one.observation.sources]
            if all(fact_id in ids for fact_id in sources):
                kept.append(one)
            else:
                anew.update(sources)
        if kept:
            values = {"bank_id": self.session.bank_id, "now": self.session.now}
            self.session.connection.execute(sql("observations.insert_document"), values)
            ids = self._facts([one.fact for one in kept], ids)
        for one in kept:
            write_observation(self.session, one.observation, ids)
        facts = [ready.fact for ready in taken]
        write_consolidation(self.session, [fact for fact in facts if fact.fact_id not in anew], ids)
        return len(kept)

    def _facts(self, facts: list[ReadyFact], ids: dict[str, str]) -> dict[str, str]:
        """Store facts; the ids that they and those before them have here."""
        session = self.session
        ids = {**ids, **{ready.fact.fact_id: self._free_id(ready.fact.fact_id) for ready in facts}}
        numbers = EntityNumbers(session)
        first = session.take_seqs(0).start
        insert_facts(session, [self._new(ready, ids, numbers) for ready in facts])
        numbered = list(enumerate(facts, start=first))
        session.connection.executemany(
            sql("transfer.restore_fact"),
            [(*_restored(ready, ids), session.bank_id, seq) for seq, ready in numbered],
        )
        for ready in facts:
            if ready.fact.attachments:
                draw(session.connection, session.bank_id, ids[ready.fact.fact_id], ready.fact.attachments)
        retired = [(seq, ready.terms) for seq, ready in numbered if ready.fact.state is FactState.INVALIDATED]
        remove_postings(session.connection, session.bank_id, [(seq, dict(terms)) for seq, terms in retired])
        session.fact_count -= len(retired)
        self._recount({mention.name for ready in facts for mention in ready.fact.mentions})
        return ids

    def _free_id(self, fact_id: str) -> str:
        taken = one_row(self.session.connection, "transfer.fact_of_id", (self.session.bank_id, fact_id))
        return fact_id if taken is None else new_id()

    def _new(self, ready: ReadyFact, ids: Mapping[str, str], numbers: EntityNumbers) -> NewFact:
        fact = ready.fact
        extracted = ExtractedFact(
            text=fact.text,
            fact_type=fact.fact_type,
            chunk_index=0,
            turn_index=fact.turn_index,
            speaker=fact.speaker,
            role=fact.role,
            mentioned_at=fact.mentioned_at,
            name_links=tuple(NameLink(one=pair.one, other=pair.other, same=pair.same) for pair in fact.name_pairs),
            is_question=fact.is_question,
            has_time_expression=fact.has_time_expression,
        )
        written = FactWrite(
            fact_id=ids[fact.fact_id],
            extracted=extracted,
            terms=ready.terms,
            length=ready.length,
            tokens=ready.tokens,
            encoding=ready.encoding,
            session=fact.session,
            fold=fact.fold,
            causes=tuple(ids[cause] for cause in fact.causes if cause in ids),
        )
        return NewFact(
            write=written,
            document_id=self.renamed.get(fact.document_id, ""),
            chunk_id=None if fact.chunk is None else self.chunk_ids.get((fact.document_id, *fact.chunk)),
            first_turn=0,
            context=fact.context,
            metadata=to_json(dict(fact.metadata)),
            tags=to_json(fact.tags),
            entities=self._mentioned(ready, numbers),
            place=fact.place,
            seen=to_micros(fact.mentioned_at or fact.created_at),
        )

    def _mentioned(self, ready: ReadyFact, numbers: EntityNumbers) -> tuple[Mentioned, ...]:
        found = []
        for mention in ready.fact.mentions:
            named = EntityMention(
                name=mention.name,
                type=mention.type,
                literal=bool(mention.flags & LITERAL),
                tag=bool(mention.flags & TAG),
            )
            found += [Mentioned(made.number, mention.flags) for made in numbers.of([named])]
        return tuple(found)

    def _recount(self, names: Iterable[str]) -> None:
        """What a name is known for is what its mentions say, not what making it again assumed."""
        rows = [self._number(name) for name in names]
        values = [{"bank_id": self.session.bank_id, "number": number, "kept": GIVEN_FLAGS} for number in rows if number]
        self.session.connection.executemany(sql("names.recount"), values)

    def _number(self, name: str) -> int | None:
        row = one_row(self.session.connection, "names.by_normal_name", (self.session.bank_id, normal_name(name)))
        return None if row is None else int(row[0])

    def _partner(self, name: str, names: TransferNames) -> int | None:
        """The entity of a name of this bank that a user said is the same."""
        for pair in names.pairs:
            if pair.same and name in (pair.one, pair.other):
                other = pair.other if name == pair.one else pair.one
                row = one_row(self.session.connection, "names.place_of", (self.session.bank_id, normal_name(other)))
                if row is not None:
                    return int(row[1])
        return None

    def _names(self, names: TransferNames) -> None:
        session = self.session
        for given in names.given:
            flags = given.flags & (GIVEN | SHOWN)
            number = self._number(given.name)
            if number is not None:
                session.connection.execute(sql("transfer.add_flags"), (flags, session.bank_id, number))
            elif (entity := self._partner(given.name, names)) is not None:
                make_name(session, given.name, given.type, flags, entity=entity)
        for pair in names.pairs:
            one, other = self._number(pair.one), self._number(pair.other)
            if one is None or other is None or one == other:
                continue
            for ends in ((one, other), (other, one)):
                session.connection.execute(sql("names.set_rule"), (session.bank_id, *ends, pair.same))
            touch(session, [one, other])


def _restored(ready: ReadyFact, ids: dict[str, str]) -> tuple[object, ...]:
    fact = ready.fact
    # What was pending has no job here that would replace it: its words are the fact.
    state = FactState.VALID if fact.state is FactState.PENDING else fact.state
    return (
        to_micros(fact.occurred_start),
        to_micros(fact.occurred_end),
        micros_of(fact.created_at),
        micros_of(fact.updated_at),
        fact.proof_count,
        to_json([ids.get(source, source) for source in fact.source_fact_ids]),
        state.value,
        to_micros(fact.invalidated_at),
        fact.invalidation_reason,
        to_micros(fact.edited_at),
    )
