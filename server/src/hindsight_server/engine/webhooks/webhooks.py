"""The use cases on webhooks. What delivers is loaded when there is a webhook, and not before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hindsight_server.domain.errors import BadRequest, InvalidInput, NotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.webhooks.targets import Allowed, read_target
from hindsight_server.domain.webhooks.types import (
    MASK,
    HttpConfig,
    Webhook,
    check_config,
    check_event_types,
    check_secret,
    unmasked,
)
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Page
from hindsight_server.ports.store import Store
from hindsight_server.ports.webhooks import Caller, Delivery, Receiver

if TYPE_CHECKING:
    from hindsight_server.engine.jobs import JobRunner

MOST_WEBHOOKS = 50  # of a bank: each event is written down once for each of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Everywhere:
    """The receiver of the events of all banks, which the settings name."""

    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    event_types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """How webhooks are told.

    Args:
        allowed: what may be called although it is not public.
        everywhere: is told of every bank.
        keep_answers: keep the beginning of what receivers answer.
        on_attempt: told of each attempt: the type of the event, and ``completed``, ``retried`` or ``failed``.
    """

    allowed: Allowed = field(default_factory=Allowed)
    everywhere: Everywhere | None = None
    keep_answers: bool = False
    on_attempt: Callable[[str, str], None] = lambda event_type, outcome: None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChange:
    """What a caller sets on a webhook; None leaves a value as it is (or, of a new one, at its default).

    Args:
        secret: `MASK` leaves it as it is.
        clears_secret: take the secret away.
    """

    url: str | None = None
    secret: str | None = field(default=None, repr=False)
    clears_secret: bool = False
    event_types: Sequence[str] | None = None
    enabled: bool | None = None
    http_config: HttpConfig | None = None


class Webhooks:
    """Who is told of the events of banks.

    Args:
        make_caller: what receivers are called with; asked for when there is the first one.

    Example:
        >>> made = await webhooks.create("ann", WebhookChange(url="https://hooks.example/x", secret="s3cret"))
        >>> (made.enabled, made.event_types)
        (True, ('consolidation.completed',))
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        make_caller: Callable[[], Caller],
        options: WebhookOptions | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._make_caller = make_caller
        self._options = options or WebhookOptions()
        self._caller: Caller | None = None
        self._jobs: JobRunner | None = None
        self._running = False

    # who is told

    async def create(self, bank_id: str, given: WebhookChange) -> Webhook:
        """Add a webhook; the bank is made when it is not there. Raises InvalidInput, BadRequest."""
        check_bank_id(bank_id)
        if given.url is None:
            raise InvalidInput("url is missing.", field="url")
        now = self._clock.now()
        blank = Webhook(webhook_id=new_id(), url=given.url, created_at=now, updated_at=now)
        made = self._changed(blank, given)
        if not await self._store.save_webhook(bank_id, made, now, most=MOST_WEBHOOKS):
            raise BadRequest(f"Bank '{bank_id}' has {MOST_WEBHOOKS} webhooks already; delete one that is not needed.")
        await self._begin()
        return made

    async def update(self, bank_id: str, webhook_id: str, given: WebhookChange) -> Webhook:
        """Change a webhook. Raises NotFound, InvalidInput."""
        held = await self._store.webhook(bank_id, webhook_id)
        now = self._clock.now()
        changed = replace(self._changed(held, given), updated_at=now)
        await self._store.save_webhook(bank_id, changed, now, most=MOST_WEBHOOKS)
        return changed

    async def delete(self, bank_id: str, webhook_id: str) -> None:
        """Delete a webhook with its deliveries. Raises NotFound."""
        if not await self._store.delete_webhook(bank_id, webhook_id):
            raise NotFound(f"Webhook '{webhook_id}' not found.")

    async def deliveries(self, bank_id: str, webhook_id: str, limit: int, before: int | None) -> Sequence[Delivery]:
        """The newest first, those with a number below `before`. Raises NotFound."""
        return await self._store.list_deliveries(bank_id, webhook_id, limit, before)

    async def list(self, bank_id: str, limit: int, offset: int) -> Page[Webhook]:
        """The oldest first. Raises BankNotFound."""
        return await self._store.list_webhooks(bank_id, limit, offset)

    async def forget(self, bank_id: str) -> None:
        """Something was forgotten in the bank: keep nothing of what receivers answered."""
        await self._store.forget_answers(bank_id)

    # telling them

    async def start(self) -> None:
        """Begin to deliver, if there is anybody to deliver to."""
        self._running = True
        everywhere = self._options.everywhere
        if everywhere is not None:
            self._store.tell_everywhere(Receiver(everywhere.url, frozenset(everywhere.event_types)))
        if everywhere is not None or await self._store.any_webhooks():
            await self._begin()

    async def stop(self) -> None:
        """Deliver no more; what is on its way is given a few seconds, and is taken up at the next start."""
        self._running = False
        if self._jobs is not None:
            await self._jobs.stop()
            self._jobs = None
        if self._caller is not None:
            await self._caller.close()
            self._caller = None

    async def deliver_due(self) -> int:
        """Make all attempts that are due, in the caller's task; their number. For tests and commands."""
        return await self._worker().run_until_idle()

    async def _begin(self) -> None:
        if self._running and self._jobs is None:
            self._jobs = self._worker()
            await self._jobs.start()

    def _worker(self) -> JobRunner:
        from hindsight_server.engine.webhooks.delivering import Deliverer

        if self._caller is None:
            self._caller = self._make_caller()
        return Deliverer(self._store, self._clock, self._caller, self._options).worker()

    def _changed(self, held: Webhook, given: WebhookChange) -> Webhook:
        """The webhook with what is given, all of it checked."""
        secret = held.secret
        if given.clears_secret:
            secret = None
        elif given.secret is not None and not (given.secret == MASK and held.secret is not None):
            secret = check_secret(given.secret)
        url = held.url if given.url is None else given.url
        read_target(url, self._options.allowed)
        config = held.http_config
        if given.http_config is not None:
            config = check_config(unmasked(given.http_config, config))
        return replace(
            held,
            url=url,
            secret=secret,
            event_types=held.event_types if given.event_types is None else check_event_types(given.event_types),
            enabled=held.enabled if given.enabled is None else given.enabled,
            http_config=config,
        )
