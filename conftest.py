"""What every test of the repository gets."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import signal
import warnings
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """Take Ctrl-C as a terminal gives it: a shell's background jobs, and all they start, ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_loop_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the event loop that hindsight-client's sync methods make current and never close."""
    yield
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        return
    with warnings.catch_warnings(), contextlib.suppress(RuntimeError):
        warnings.simplefilter("ignore", DeprecationWarning)  # "there is no current event loop"
        loop = asyncio.get_event_loop_policy().get_event_loop()
        if not loop.is_running():
            loop.close()
            asyncio.set_event_loop(None)
