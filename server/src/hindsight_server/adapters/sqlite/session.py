"""A bank while it is being written to: its counters, kept in memory for the length of one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import apsw

from hindsight_server.adapters.sqlite.images import drop_image
from hindsight_server.adapters.sqlite.queries import one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import to_micros
from hindsight_server.domain.errors import BankNotFound

# Beyond this many, a reader that is so far behind reads everything anew, which is then about as cheap.
_MOST_REMOVED = 20_000


class BankSession:
    """Hands out the numbers of one bank during one transaction. Raises BankNotFound when there is no such bank.

    Args:
        connection: the writer's, inside a transaction.
        now: the time of the write.
    """

    def __init__(self, connection: apsw.Connection, bank_id: str, now: datetime) -> None:
        self.connection = connection
        self.bank_id = bank_id
        self.now = micros_of(now)
        row = one_row(connection, "banks.counters", (bank_id,))
        if row is None:
            raise BankNotFound(bank_id)
        version, self._removed_count, self._next_seq, self._next_entity, self.fact_count = row
        self._version: int = version + 1
        self.touched_names: set[int] = set()
        # Memories that lose their words, with their terms and whether they stay under their ids (`withdrawing`).
        self.withdrawn: dict[str, tuple[frozenset[str], bool]] = {}
        self._last_works: list[Callable[[BankSession], None]] = []

    @property
    def version(self) -> int:
        """The bank's version once this is saved."""
        return self._version

    def before_save(self, work: Callable[[BankSession], None]) -> None:
        """Have some work done, once, when everything else is written."""
        if work not in self._last_works:
            self._last_works.append(work)

    def take_seqs(self, count: int) -> range:
        """That many fresh numbers for facts."""
        first = self._next_seq
        self._next_seq += count
        return range(first, self._next_seq)

    def take_entity(self) -> int:
        """A fresh number for an entity."""
        self._next_entity += 1
        return int(self._next_entity - 1)

    def log_removed(self, seqs: Iterable[int]) -> None:
        """Note that these numbers ceased to exist, for readers that know them."""
        rows = [(self.bank_id, self._version, seq) for seq in seqs]
        self.connection.executemany(sql("snapshots.log_removed"), rows)
        self._removed_count += len(rows)
        if rows:
            drop_image(self.connection, self.bank_id)

    def save(self, *, documents: bool = False) -> None:
        """Do the last works and write the counters back; call it once, last."""
        for work in self._last_works:
            work(self)
        if self._removed_count > _MOST_REMOVED:
            self.connection.execute(sql("snapshots.forget_removed"), (self.bank_id,))
            self.connection.execute(sql("snapshots.removed_since"), (self._version, self.bank_id))
            self._removed_count = 0
        self.connection.execute(
            sql("banks.save_counters"),
            {
                "bank_id": self.bank_id,
                "version": self._version,
                "removed_count": self._removed_count,
                "next_seq": self._next_seq,
                "next_entity": self._next_entity,
                "fact_count": self.fact_count,
                "now": self.now,
                "documents": documents,
            },
        )


def micros_of(now: datetime) -> int:
    """The time of a write, for columns that always hold one."""
    micros = to_micros(now)
    assert micros is not None
    return micros
