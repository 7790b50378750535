"""What ASGI hands over, and how it is read where no framework is there yet."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:\-]{1,128}")


def header(scope: Scope, name: bytes) -> bytes:
    """The value of the first header of this name, which is in lower case; empty when there is none."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def request_id_of(scope: Scope) -> str:
    """The client's request id when it is a plain one, else a new one."""
    given = header(scope, b"x-request-id")
    return given.decode("ascii") if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
