"""A small HTTP client of the standard library: the command line needs few calls and must start quickly."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
import uuid
from base64 import b64encode
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from hindsight_server import __version__
from hindsight_server.cli.state import State


class ApiError(Exception):
    """A call that did not succeed; `code` is the exit code it leads to."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Api:
    """Calls to one server.

    Args:
        state: where it is and its key.
        timeout: seconds for one call.
    """

    def __init__(self, state: State, *, timeout: float = 300.0) -> None:
        key = _checked_key(state.api_key)
        self._url, user = _checked_url(state.url)
        if user and key:
            raise ApiError(
                "--url holds a user name or password, and there is a key (--api-key or HINDSIGHT_API_KEY): a request "
                "can carry only one of them; leave one out.",
                2,
            )
        self._authorization = f"Bearer {key}" if key else user
        self._timeout = timeout

    def get(self, path: str) -> Any:
        """GET a path; the decoded answer. Raises ApiError."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Any call; the decoded answer. Raises ApiError."""
        return self._decoded(method, path, None if body is None else json.dumps(body).encode(), "application/json")

    def upload(self, path: str, data: bytes) -> Any:
        """POST a file as a form; the decoded answer. Raises ApiError."""
        mark = uuid.uuid4().hex
        head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'.encode()
        form = b"%s%s\r\n--%s--\r\n" % (head, data, mark.encode())
        return self._decoded("POST", path, form, f"multipart/form-data; boundary={mark}")

    def upload_files(self, path: str, files: Sequence[tuple[str, bytes]], request: str) -> Any:
        """POST files, by their names, as a form, with what is said of them; the decoded answer. Raises ApiError."""
        mark = uuid.uuid4().hex
        parts = [f'Content-Disposition: form-data; name="request"\r\n\r\n{request}'.encode()]
        for name, data in files:
            plain = name.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
            head = f'Content-Disposition: form-data; name="files"; filename="{plain}"\r\n\r\n'
            parts.append(head.encode() + data)
        form = b"".join(b"--%s\r\n%s\r\n" % (mark.encode(), part) for part in parts) + b"--%s--\r\n" % mark.encode()
        return self._decoded("POST", path, form, f"multipart/form-data; boundary={mark}")

    def open(self, path: str) -> http.client.HTTPResponse:
        """GET a path; the answer as it comes, to be closed. Raises ApiError."""
        return self._open("GET", path, None, "application/json")

    def _decoded(self, method: str, path: str, data: bytes | None, kind: str) -> Any:
        try:
            with self._open(method, path, data, kind) as response:
                return json.load(response)
        except ValueError:
            raise ApiError(f"What answers at {self._url} is no memory server: its answer is not JSON.", 2) from None
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(
                f"The answer of {self._url} broke off ({error}). What was asked may have been done; look before you "
                "ask again.",
                2,
            ) from None

    def _open(self, method: str, path: str, data: bytes | None, kind: str) -> http.client.HTTPResponse:
        headers = {"content-type": kind, "user-agent": f"hindsight-cli/{__version__}"}
        if self._authorization:
            headers["authorization"] = self._authorization
        request = urllib.request.Request(self._url + path, data, headers, method=method)  # noqa: S310 -- checked above
        try:
            opened: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=self._timeout)  # noqa: S310
            return opened
        except urllib.error.HTTPError as error:
            raise ApiError(f"The server answered {error.code}: {_detail(error.read())}", 1) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise ApiError(
                f"No server answers at {self._url} ({reason}).\n"
                "Start one with `hindsight serve`, or name another with --url or HINDSIGHT_API_URL.",
                2,
            ) from None


def _checked_url(url: str) -> tuple[str, str | None]:
    """The address without a user name and password, and the header that tells the server these.

    Raises:
        ApiError: it is no address; user name and password are not repeated.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ApiError("--url is no address; write it like http://127.0.0.1:8888.", 2) from None
    plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if not usable or not url.isprintable() or " " in url:
        raise ApiError(f"--url must be an address like http://127.0.0.1:8888, not {plain!r}.", 2)
    header = None
    if parts.username or parts.password:
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        header = f"Basic {b64encode(user.encode()).decode()}"
    return plain.rstrip("/"), header


def _checked_key(key: str | None) -> str | None:
    """Raises ApiError for a key that no header can hold, without repeating it."""
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ApiError("--api-key holds a line break or a letter that no request header can carry.", 2)
    return key or None


def _detail(body: bytes) -> str:
    """The reason in an error's body, in one line for each field."""
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace")[:500]
    if not isinstance(detail, list):
        return str(detail)
    return "; ".join(_told(".".join(map(str, row["loc"][1:])), row["msg"]) for row in detail)


def _told(field: str, message: str) -> str:
    return message if message.startswith(f"{field} ") else f"{field}: {message}"
