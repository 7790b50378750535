"""Facts whose observation scopes are other ones now, since their tags or their document's scoping changed."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_server.adapters.sqlite.facts_write import forget_what_rests_on
from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.observation_scopes import scopes_of

_DEFAULT = "default_observation_scopes"


def rescope(session: BankSession, document_id: str, seqs: Sequence[int]) -> None:
    """Let those facts of a document be consolidated anew that were gone through in other scopes than theirs now.

    Call it with the new tags written, before the facts are moved.
    """
    wanted = {"bank_id": session.bank_id, "seqs": to_json(list(seqs))}
    rows = all_rows(session.connection, "observations.scoped", wanted)
    if not rows:
        return
    spec = _spec(session, document_id)
    changed = [
        seq
        for seq, tags, passed in rows
        if {tuple(from_json(scope)) for scope in from_json(passed)} != set(scopes_of(spec, from_json(tags)))
    ]
    if changed:
        forget_what_rests_on(session, changed)


def _spec(session: BankSession, document_id: str) -> object | None:
    """The document's own scoping, else the bank's. Where only the server has one, facts may be gone through again
    although they need not."""
    document = one_row(session.connection, "documents.read", (session.bank_id, document_id))
    own: object | None = None if document is None else from_json(document[7])
    if own is not None:
        return own
    bank = one_row(session.connection, "banks.read", (session.bank_id,))
    return None if bank is None else from_json(bank[6]).get(_DEFAULT)
