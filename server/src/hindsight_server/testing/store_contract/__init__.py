"""What every store must do, as tests that a new store inherits.

A test module of the store subclasses `StoreContract` and gives three fixtures: ``store``, an open `Store` without
data; ``reopen``, an async function that closes it and opens the same data again; ``dump``, an async function that
returns every value of every table as text. `StoreMachine` compares random operations with a model; it is run through
its ``TestCase``.

Example:
    >>> class TestMyStore(StoreContract):
    ...     pass

Limits and offsets are never negative here: callers refuse them.
"""

from hindsight_server.testing.store_contract.attachments import AttachmentContract
from hindsight_server.testing.store_contract.banks import BankContract
from hindsight_server.testing.store_contract.causes import CauseContract
from hindsight_server.testing.store_contract.changed_facts import ChangedFactsContract
from hindsight_server.testing.store_contract.concurrency import ConcurrencyContract
from hindsight_server.testing.store_contract.directives import DirectiveContract
from hindsight_server.testing.store_contract.facts import FactContract
from hindsight_server.testing.store_contract.forgetting import ForgetContract
from hindsight_server.testing.store_contract.images import ImageContract, PieceContract
from hindsight_server.testing.store_contract.llm_log import LlmLogContract
from hindsight_server.testing.store_contract.machine import StoreMachine
from hindsight_server.testing.store_contract.mental_models import KnowledgeContract, MentalModelContract
from hindsight_server.testing.store_contract.naming import NamingContract
from hindsight_server.testing.store_contract.observations import ConsolidationContract, ObservationContract
from hindsight_server.testing.store_contract.operations import ForgettingContract, OperationContract
from hindsight_server.testing.store_contract.recall import RecallContract
from hindsight_server.testing.store_contract.restart import RestartContract
from hindsight_server.testing.store_contract.retaining import FinishContract, RetainContract
from hindsight_server.testing.store_contract.security import SecurityContract
from hindsight_server.testing.store_contract.transfer import TransferContract
from hindsight_server.testing.store_contract.webhooks import DeliveryContract, TellingContract, WebhookContract


class StoreContract(
    BankContract,
    RetainContract,
    FinishContract,
    ChangedFactsContract,
    FactContract,
    RecallContract,
    NamingContract,
    PieceContract,
    ImageContract,
    OperationContract,
    ForgettingContract,
    ForgetContract,
    TransferContract,
    ConcurrencyContract,
    RestartContract,
    SecurityContract,
    ObservationContract,
    ConsolidationContract,
    MentalModelContract,
    KnowledgeContract,
    DirectiveContract,
    LlmLogContract,
    CauseContract,
    AttachmentContract,
    WebhookContract,
    TellingContract,
    DeliveryContract,
):
    """All of them."""


__all__ = ["StoreContract", "StoreMachine"]
