"""`hindsight serve`: one process, one data folder, until it is interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hindsight_server.cli.state import give_up
from hindsight_server.cli.trimming import keep_trimmed, tune_allocator
from hindsight_server.domain.errors import DataFolderError
from hindsight_server.settings import Settings, SettingsError

if TYPE_CHECKING:
    import uvicorn

    from hindsight_server.http.gateway import Gateway
    from hindsight_server.http.opening import Opening
    from hindsight_server.http.services import Services
    from hindsight_server.ports.store import Store

# Longer than the 15 s after which aiohttp drops an idle connection: the client closes first, so that no request of it
# meets a connection that the server is just closing.
KEEP_ALIVE_SECONDS = 75
SHUTDOWN_SECONDS = 10
# A retain makes some hundred containers an item and almost no cycles: looking for those every 700 costs it 6 %.
_GARBAGE_THRESHOLD = 20_000
# A request on the event loop waits so long for Python's lock when a thread computes. By default it is 5 ms, each time:
# beside a stream of retains the median recall took 15 to 30 % longer; the processor time is the same.
_SWITCH_SECONDS = 0.0005
# So long, who asks whether the server works has the interpreter for himself.
_PROBED_FIRST_SECONDS = 0.02


def run(*, host: str | None, port: int | None, data_dir: str | None, log_level: str | None) -> None:
    """Serve until SIGINT or SIGTERM. Ends with exit code 2, and the reason, when it can't begin."""
    tune_allocator(os.environ)
    sys.setswitchinterval(_SWITCH_SECONDS)
    from hindsight_server.bootstrap import check_libraries

    given = {"host": host, "port": port, "data_dir": Path(data_dir) if data_dir else None, "log_level": log_level}
    try:
        settings = Settings.from_environment(os.environ, **given)
        check_libraries(settings)
    except SettingsError as error:
        give_up(str(error), code=2)
    logging.basicConfig(
        level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    listener = _listen(settings.host, settings.port)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(settings, listener))
    except SettingsError as error:
        give_up(str(error), code=2)
    except DataFolderError as error:
        give_up(f"{error}\nNothing was changed.", code=2)
    finally:
        listener.close()


async def _serve(settings: Settings, listener: socket.socket) -> None:
    """Answer probes once the store is open, and everything once the rest is there too."""
    gc.disable()
    from hindsight_server.bootstrap import build_store

    store = build_store(settings)
    await store.open()
    try:
        from hindsight_server.http.opening import Opening

        opening = Opening(store)
        server = _server(opening)
        with _signals(server):
            serving = asyncio.create_task(server.serve(sockets=[listener]), name="serve")
            _say_where(settings, listener)
            try:
                await _work(settings, store, opening, serving)
            finally:
                opening.give_up()
                server.should_exit = True
                await serving
    finally:
        await store.close()


async def _work(settings: Settings, store: Store, opening: Opening, serving: asyncio.Task[None]) -> None:
    """Put the application together beside the event loop, and run it until the server ends."""
    await asyncio.sleep(_PROBED_FIRST_SECONDS)
    services, app = await asyncio.to_thread(_assemble, settings, store)
    # What was imported and built stays until the end: later collections need not look through it.
    gc.freeze()
    gc.set_threshold(_GARBAGE_THRESHOLD)
    gc.enable()
    services.metrics.started = opening.began
    if serving.done():
        return
    async with services.running():
        opening.hand_over(app)
        trimming = asyncio.create_task(keep_trimmed(os.environ), name="give memory back")
        try:
            await serving
        finally:
            trimming.cancel()


def _assemble(settings: Settings, store: Store) -> tuple[Services, Gateway]:
    from hindsight_server.bootstrap import build_services

    services = build_services(settings, store)
    from hindsight_server.http.app import create_app

    return services, create_app(services, api_key=settings.api_key, max_body_bytes=settings.max_body_bytes)


def _server(opening: Opening) -> uvicorn.Server:
    import uvicorn

    config = uvicorn.Config(
        opening,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",  # the services are opened by `_work`, so that a bad setting ends with its own message
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    config.load()
    return uvicorn.Server(config)


def _say_where(settings: Settings, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    sys.stdout.write(f"hindsight listens on http://{name}:{port} (data in {settings.folder()})\n")
    sys.stdout.flush()


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    """End in order on SIGINT and SIGTERM, at once on the second one.

    In the place of uvicorn's own handling, which raises the signal again before the store is closed.
    """
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    handled = (signal.SIGINT, signal.SIGTERM)
    if sys.platform == "win32":
        for number in handled:
            signal.signal(number, lambda *_: stop())
        yield
        return
    for number in handled:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; ends with exit code 2 when the address can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        give_up(
            f"Can't listen on {host}:{port}: {error.strerror or error}. "
            "Another server may hold the port; choose another with --port.",
            code=2,
        )
    listener.set_inheritable(True)
    return listener


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop
