"""What a server answers while its application is still being put together.

Importing and wiring all of it takes longer than everything before. The store is open by then, so that the probes are
answered at once and truly; every other request waits for the application, which then treats it like any other.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import orjson

from hindsight_server.http import probes
from hindsight_server.http.scope import App, Receive, Scope, Send, request_id_of

if TYPE_CHECKING:
    from hindsight_server.ports.store import Store

_NOT_STARTED = {"detail": "The server did not start: it failed, its log has the cause, or it was told to end."}


class Opening:
    """An ASGI application that hands over to another one when that is there.

    Args:
        store: what the probes ask; it is open.

    Attributes:
        began: when it was made, in seconds since 1970.
    """

    def __init__(self, store: Store) -> None:
        self.began = time.time()
        self._store = store
        self._app: App | None = None
        self._decided = asyncio.Event()

    def hand_over(self, app: App) -> None:
        """From now on, and for those who wait, `app` answers."""
        self._app = app
        self._decided.set()

    def give_up(self) -> None:
        """There will be no application: whoever waits for it is told, and whoever asks whether the server works."""
        self._decided.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._decided.is_set():
            probed = await self._probe(scope)
            if probed is not None:
                await _answer(scope, send, *probed)
                return
            await self._decided.wait()
        if self._app is None:
            await _answer(scope, send, 503, _NOT_STARTED)
            return
        await self._app(scope, receive, send)

    async def _probe(self, scope: Scope) -> probes.Said | None:
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        match scope["path"]:
            case "/health":
                return await probes.health(self._store)
            case "/health/ready":
                return await probes.readiness(self._store, None)
            case "/health/live":
                return probes.liveness(time.time() - self.began)
        return None


async def _answer(scope: Scope, send: Send, status: int, said: dict[str, Any]) -> None:
    body = orjson.dumps(said)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id_of(scope).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
