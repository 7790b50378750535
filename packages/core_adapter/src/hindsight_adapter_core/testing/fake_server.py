"""A fake Hindsight server on loopback: real HTTP, recorded requests, failures on demand.

Example:
    >>> with FakeHindsight() as server:                                          # doctest: +SKIP
    ...     server.fail("recall", status=503, headers={"Retry-After": "0"})
    ...     run_something(hindsight_api_url=server.url)
    ...     assert len(server.requests_for("recall")) == 2
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

from .fake_memory import FakeBank, FakeFact

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["FakeHindsight", "RecordedRequest"]

_START_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One request as it arrived.

    Attributes:
        operation: ``"retain"``, ``"recall"``, ``"reflect"``, ``"bank"`` or ``"other"``.
        method, path, headers: of the request.
        bank_id: decoded from the path; empty when the path names none.
        body: the JSON body, or ``None``.
    """

    operation: str
    method: str
    path: str
    bank_id: str
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _Trouble:
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    detail: str = "scripted failure"
    delay: float = 0.0
    drop: bool = False
    after_work: bool = False


class FakeHindsight:
    """A server of the Hindsight API's core: banks, retain, recall, reflect, version.

    It keeps to what adapters rely on: 404 for an unknown bank on recall, retain and reflect create one, a write whose
    ``operation_id`` was seen is not repeated, ``append`` adds to a document. Use it as a context manager, or
    ``start()`` and ``stop()``. All methods may be called from any thread.

    Args:
        port: where to listen on 127.0.0.1; by default a free port.
    """

    def __init__(self, port: int = 0) -> None:
        self.requests: list[RecordedRequest] = []
        self.banks: dict[str, FakeBank] = {}
        self.reflect_output: dict[str, Any] | None = None
        self._trouble: dict[str, deque[_Trouble]] = defaultdict(deque)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="fake-hindsight", daemon=True)
        self._port = port

    # -- life cycle ---------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address, e.g. ``http://127.0.0.1:40123``."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Listen on a free loopback port; returns when ready."""
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise RuntimeError("the fake server did not start")
        return self

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_SECONDS)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    # -- scripting ----------------------------------------------------------------------------------------------

    def fail(
        self,
        operation: str,
        *,
        status: int = 500,
        times: int = 1,
        headers: Mapping[str, str] | None = None,
        detail: str = "scripted failure",
    ) -> None:
        """Answer the next ``times`` requests of ``operation`` with an error instead of doing them."""
        trouble = _Trouble(status=status, headers=headers or {}, detail=detail)
        self._trouble[operation].extend([trouble] * times)

    def delay(self, operation: str, seconds: float, *, times: int = 1, after_work: bool = False) -> None:
        """Take ``seconds`` over the next requests of ``operation``; with ``after_work``, do them first."""
        self._trouble[operation].extend([_Trouble(delay=seconds, after_work=after_work)] * times)

    def drop(self, operation: str, *, times: int = 1, after_work: bool = False) -> None:
        """Cut the connection of the next requests of ``operation``; with ``after_work``, do them first."""
        self._trouble[operation].extend([_Trouble(drop=True, after_work=after_work)] * times)

    # -- looking ------------------------------------------------------------------------------------------------

    def requests_for(self, operation: str) -> list[RecordedRequest]:
        """The recorded requests of one operation, in the order of arrival."""
        return [request for request in list(self.requests) if request.operation == operation]

    def items(self, bank_id: str | None = None) -> list[dict[str, Any]]:
        """Every item of every retain request (of one bank), in the order of arrival."""
        return [
            item
            for request in self.requests_for("retain")
            if bank_id in (None, request.bank_id)
            for item in request.body["items"]
        ]

    def texts(self, bank_id: str) -> list[str]:
        """What a bank remembers, in the order of arrival."""
        return [fact.text for fact in self.banks[bank_id].facts] if bank_id in self.banks else []

    def remember(self, bank_id: str, *texts: str, tags: list[str] | None = None) -> None:
        """Put facts into a bank without a request."""
        bank = self.banks.setdefault(bank_id, FakeBank())
        for text in texts:
            bank.facts.append(
                FakeFact(text=text, document_id="given", tags=tags or [], metadata={}, context=None, mentioned_at=None)
            )

    # -- serving ------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        from aiohttp import web

        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

        async def listen() -> None:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", self._port, reuse_address=True)
            await site.start()
            self._port = runner.addresses[0][1]

        self._loop.run_until_complete(listen())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        # Handlers that are still asleep on a scripted delay.
        asleep = asyncio.all_tasks(self._loop)
        for task in asleep:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*asleep, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        recorded = await _record(request)
        self.requests.append(recorded)
        script = self._trouble[recorded.operation]
        trouble = script.popleft() if script else _Trouble()
        if trouble.after_work:
            answer = self._work(recorded)
            await asyncio.sleep(trouble.delay)
        else:
            await asyncio.sleep(trouble.delay)
            answer = (200, {}) if trouble.status or trouble.drop else self._work(recorded)
        if trouble.drop:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if trouble.status:
            return web.json_response({"detail": trouble.detail}, status=trouble.status, headers=trouble.headers)
        return web.json_response(answer[1], status=answer[0])

    def _work(self, request: RecordedRequest) -> tuple[int, Any]:
        if request.operation == "other":
            return self._other(request)
        if request.operation == "recall" and request.bank_id not in self.banks:
            return 404, {"detail": f"bank {request.bank_id!r} not found"}
        bank = self.banks.setdefault(request.bank_id, FakeBank())
        if request.operation == "bank":
            bank.mission = (request.body or {}).get("mission")
            traits = {"skepticism": 3, "literalism": 3, "empathy": 3}
            name = request.bank_id
            return 200, {"bank_id": name, "name": name, "disposition": traits, "mission": bank.mission or ""}
        if request.operation == "retain":
            try:
                count = bank.retain(request.body)
            except ValueError as error:
                return 409, {"detail": str(error)}
            asynchronous = bool(request.body.get("async"))
            return 200, {"success": True, "bank_id": request.bank_id, "items_count": count, "async": asynchronous}
        found = bank.recall(request.body)
        if request.operation == "recall":
            return 200, {"results": [fact.as_result() for fact in found]}
        answer: dict[str, Any] = {"text": "; ".join(fact.text for fact in found)}
        if request.body.get("response_schema"):
            answer["structured_output"] = self.reflect_output
        return 200, answer

    def _other(self, request: RecordedRequest) -> tuple[int, Any]:
        if request.path == "/version":
            return 200, {"api_version": "1.1.0", "features": {}}
        if request.path == "/health":
            return 200, {"status": "healthy"}
        bank, document_id = self.banks.get(request.bank_id), request.path.partition("/documents/")[2]
        text = bank.text(document_id) if bank and document_id else None
        if bank is None or text is None:
            return 404, {"detail": "not served by the fake, or not there"}
        if request.method == "DELETE":
            bank.forget(document_id)
            gone = {"success": True, "message": "deleted", "document_id": document_id, "memory_units_deleted": 0}
            return 200, gone
        return 200, _document(request.bank_id, document_id, text)


def _document(bank_id: str, document_id: str, text: str) -> dict[str, Any]:
    long_ago = "2020-01-01T00:00:00+00:00"
    return {
        "id": document_id,
        "bank_id": bank_id,
        "original_text": text,
        "content_hash": None,
        "created_at": long_ago,
        "updated_at": long_ago,
        "memory_unit_count": 0,
    }


async def _record(request: web.Request) -> RecordedRequest:
    parts = request.rel_url.raw_path.split("/")[1:]
    operation, bank_id = "other", ""
    if parts[:3] == ["v1", "default", "banks"] and len(parts) > 3:
        bank_id = unquote(parts[3])
        operation = {
            ("PUT", ""): "bank",
            ("POST", "memories"): "retain",
            ("POST", "memories/recall"): "recall",
            ("POST", "reflect"): "reflect",
        }.get((request.method, "/".join(parts[4:])), "other")
    body = await request.json() if request.can_read_body else None
    return RecordedRequest(
        operation=operation,
        method=request.method,
        path=request.path,
        bank_id=bank_id,
        body=body,
        headers=dict(request.headers),
    )
