"""Lazy bank creation: with a mission, once per bank and process, never in the way of the operation."""

from __future__ import annotations

import asyncio
import logging
import re
import weakref
from collections.abc import Iterator
from typing import Any

from .calls import call_create_bank
from .clients import ClientHandle, is_real_client
from .failures import log_traceback
from .recent import RecentMap

__all__ = ["ensure_bank", "forget_bank", "means_exists"]

_EXISTS = re.compile(r"already exists|\b409\b|conflict", re.IGNORECASE)

#: Banks of which a process remembers that they exist, about 2 MB. A service may have one for each of a million users; a
#: bank that is forgotten here costs one more request that changes nothing when its user comes back.
_REMEMBERED = 10_000
#: Banks known to exist: by server address for real clients, by object for anything else.
_done_by_url: RecentMap[tuple[str, str], bool] = RecentMap(_REMEMBERED)
_done_by_object: weakref.WeakKeyDictionary[Any, RecentMap[str, bool]] = weakref.WeakKeyDictionary()
_running: dict[tuple[Any, str], asyncio.Task[None]] = {}


async def ensure_bank(handle: ClientHandle, bank_id: str, mission: str | None, *, deadline: float) -> None:
    """Create the bank unless that was done before. Does nothing without a mission, and never raises.

    Calls that arrive meanwhile wait for the same creation. "Already exists" counts as done; any other failure is
    logged as a warning and tried again at the next operation. Runs on the bridge's loop.

    Args:
        handle: whose server.
        bank_id: the bank, also its display name.
        mission: what the bank is for.
        deadline: seconds after which this attempt is given up.
    """
    if not mission or _known(handle, bank_id):
        return
    key = (handle.url or id(handle), bank_id)
    task = _running.get(key)
    if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
        task = asyncio.get_running_loop().create_task(_create(handle, bank_id, mission, deadline))
        _running[key] = task
        task.add_done_callback(lambda done: _running.pop(key, None) if _running.get(key) is done else None)
    # One caller's cancellation must not undo what the others wait for.
    await asyncio.shield(task)


async def _create(handle: ClientHandle, bank_id: str, mission: str, deadline: float) -> None:
    logger = logging.getLogger(handle.package.import_name)
    try:
        async with asyncio.timeout(deadline):
            await call_create_bank(handle.live(), bank_id, mission)
    except Exception as error:
        # Whatever the client can raise: a bank that can't be made now must not be in the way of the operation.
        if not means_exists(error):
            logger.warning(
                "could not create memory bank %r (%s); it is tried again at the next operation",
                bank_id,
                type(error).__name__,
            )
            log_traceback(logger, "bank creation", error, secret=handle.secret)
            return
    if _by_url(handle):
        _done_by_url.put((str(handle.url), bank_id), True)
    else:
        _done(handle).put(bank_id, True)


def forget_bank(handle: ClientHandle, bank_id: str) -> None:
    """The server says that the bank is unknown: create it again at the next operation."""
    _done_by_url.forget((str(handle.url), bank_id))
    if not _by_url(handle):
        _done(handle).forget(bank_id)


def means_exists(error: BaseException) -> bool:
    """True when ``error``, or anything it wraps, says that the bank exists already."""
    return any(getattr(one, "status", None) == 409 or _EXISTS.search(str(one)) for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, met = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in met:
            continue
        met.add(id(one))
        yield one
        waiting += [e for e in (one.__cause__, one.__context__) if e is not None]
        waiting += [e for e in one.args if isinstance(e, BaseException)]
        waiting += list(getattr(one, "exceptions", ()))


def _by_url(handle: ClientHandle) -> bool:
    return handle.url is not None and is_real_client(handle.client)


def _done(handle: ClientHandle) -> RecentMap[str, bool]:
    try:
        return _done_by_object.setdefault(handle.client, RecentMap(_REMEMBERED))
    except TypeError:  # not weakly referable: remember on the handle instead
        return _done_by_object.setdefault(handle, RecentMap(_REMEMBERED))


def _known(handle: ClientHandle, bank_id: str) -> bool:
    if _by_url(handle):
        return _done_by_url.get((str(handle.url), bank_id)) is not None
    return _done(handle).get(bank_id) is not None
