"""Every error the server raises on purpose, as one tree.

    HindsightServerError
    ├── InvalidInput            the request can't be carried out as written (HTTP 422)
    │   ├── BadRequest          well-formed, but not possible with this configuration (HTTP 400)
    │   └── Blocked             the bank's memory defence lets nothing of it in (HTTP 422, with the violations)
    ├── NotFound                the named thing does not exist (HTTP 404)
    │   └── BankNotFound
    ├── Conflict                the id belongs to something else, or the state forbids it (HTTP 409)
    │   ├── StaleDocument       a document changed under a writer; the writer starts again
    │   └── StaleFacts          facts or observations changed while they were being consolidated; likewise
    ├── Overloaded              try again later (HTTP 503, with Retry-After)
    ├── EmbeddingUnavailable    no model for the wanted vector space (HTTP 503)
    ├── ReflectFailed           no answer could be given, and none is made up (HTTP 500)
    │   └── ReflectTimedOut     there was none in time (HTTP 504)
    ├── ModelError              the language model gave nothing that can be used (HTTP 502)
    │   ├── ModelUnavailable    it did not answer now; a later try may succeed (HTTP 503, with Retry-After)
    │   │   └── ModelTimedOut   it took too long
    │   ├── ModelRefused        the provider refuses the request: key, model name or limits (HTTP 502)
    │   │   ├── KeyRefused      the key is wrong, or may not do this
    │   │   └── QuestionTooLong the question is longer than the model's context
    │   ├── BadModelAnswer      what it answered can't be read
    │   └── AnswerTooLong       its answer was cut off by the limit of tokens
    ├── DeliveryFailed          the receiver of a webhook can't be reached, or may not be
    └── DataFolderError         the data folder can't be opened, or its disk fails; nothing was changed
        ├── DataFolderLocked    another server holds it
        ├── DataFolderCorrupt   it is damaged
        └── DataFolderNewer     a newer version of the server wrote it

HTTP status codes are given in one file only, `http/errors.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hindsight_server.domain.defence.events import Violation


class HindsightServerError(Exception):
    """Base of the server's own errors; its text is safe to show to a client."""


class InvalidInput(HindsightServerError):
    """The request can't be carried out as written.

    Args:
        message: what is wrong and what to do instead.
        field: the path of the offending field, for example ``items[2].content``.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class BadRequest(InvalidInput):
    """Well-formed, but not possible with this configuration."""


class Blocked(InvalidInput):
    """The bank's memory defence lets nothing of the request in.

    Args:
        violations: why, for each item; they hold nothing of what was found.
    """

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__("Memory defence of this bank refused everything in the request; nothing was stored.")
        self.violations = tuple(violations)


class NotFound(HindsightServerError):
    """The named thing does not exist."""


class BankNotFound(NotFound):
    """No bank of that id exists."""

    def __init__(self, bank_id: str) -> None:
        super().__init__(f"Bank '{bank_id}' not found. Retain something into it, or create it with PUT.")
        self.bank_id = bank_id


class Conflict(HindsightServerError):
    """The id belongs to something else, or the state forbids the change."""


class StaleDocument(Conflict):
    """A document changed between reading and writing it; read it again and repeat."""


class StaleFacts(Conflict):
    """Facts or observations changed while they were being consolidated; look at them again."""


class Overloaded(HindsightServerError):
    """Too much is going on; try again after `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmbeddingUnavailable(HindsightServerError):
    """No vectors of a space can be made: its model did not load, or the embedder has no such space."""


class ReflectFailed(HindsightServerError):
    """No answer can be given: a search failed, or the model gave none that can be used; the text says why."""


class ReflectTimedOut(ReflectFailed):
    """There was no answer in time."""


class DeliveryFailed(HindsightServerError):
    """A receiver gave no answer. The text never holds its address, or anything that was sent.

    Args:
        lasting: another attempt would end the same way.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class ModelError(HindsightServerError):
    """The language model gave nothing that can be used. The text never holds a key or what the model was asked."""


class ModelUnavailable(ModelError):
    """The model did not answer now.

    Args:
        retry_after: seconds to wait, as the provider asked; None when it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelTimedOut(ModelUnavailable):
    """The model took longer than it was given."""


class ModelRefused(ModelError):
    """The provider refuses the request, and will again: the key, the model's name or the request itself."""


class KeyRefused(ModelRefused):
    """The provider refuses the key, or what it may do."""


class QuestionTooLong(ModelRefused):
    """The question is longer than the model can read; ask with less."""


class BadModelAnswer(ModelError):
    """The model answered something that can't be read as what it was asked for."""


class AnswerTooLong(ModelError):
    """The answer was cut off by the limit of tokens; ask for less at once."""


class DataFolderError(HindsightServerError):
    """The data folder can't be opened, or its disk fails; nothing in it was changed."""


class DataFolderLocked(DataFolderError):
    """Another server holds the data folder."""


class DataFolderCorrupt(DataFolderError):
    """The data folder is damaged."""


class DataFolderNewer(DataFolderError):
    """A newer version of the server wrote the data folder."""
