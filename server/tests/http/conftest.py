"""Raw HTTP calls and the contract that answers are checked against."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

CONTRACT = json.loads((Path(__file__).parent / "contract.json").read_text())


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


class Api:
    """Plain requests to a server, byte for byte as given."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return _answer(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            return _answer(error.code, error.read(), error.headers)

    def bank(self, method: str, bank_id: str, path: str = "", body: Any = None) -> Answer:
        return self(method, f"/v1/default/banks/{quote(bank_id, safe='')}{path}", body)

    def upload(self, path: str, data: bytes, field: str = "file") -> Answer:
        """POST a file as a form."""
        head = f'--xyz\r\nContent-Disposition: form-data; name="{field}"; filename="a.zip"\r\n\r\n'.encode()
        form = {"content-type": "multipart/form-data; boundary=xyz"}
        return self("POST", path, head + data + b"\r\n--xyz--\r\n", form)

    def retain(self, bank_id: str, *items: Any, **options: Any) -> Answer:
        listed = [{"content": item} if isinstance(item, str) else item for item in items]
        return self.bank("POST", bank_id, "/memories", {"items": listed, **options})

    def recall(self, bank_id: str, query: str, **options: Any) -> Answer:
        return self.bank("POST", bank_id, "/memories/recall", {"query": query, **options})


def _answer(status: int, body: bytes, headers: Any) -> Answer:
    kind = headers.get("content-type", "")
    read: Any = body if "zip" in kind else json.loads(body) if "json" in kind else body.decode()
    return Answer(status, read, {k.lower(): v for k, v in headers.items()})


@pytest.fixture(scope="session")
def api(server_url: str) -> Api:
    return Api(server_url)


@pytest.fixture
def bank() -> str:
    """A bank id that no other test uses."""
    return f"bank-{uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def conforms() -> Callable[[str, Answer], None]:
    """Fails when an answer is not what the contract says for the operation."""
    operations = {
        operation["operationId"]: operation for methods in CONTRACT["paths"].values() for operation in methods.values()
    }

    def check(operation_id: str, answer: Answer) -> None:
        documented = operations[operation_id]["responses"]
        assert str(answer.status) in documented, f"{operation_id} answered {answer.status}: {answer.body}"
        content = documented[str(answer.status)].get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        errors = Draft202012Validator({**schema, "components": CONTRACT["components"]}).iter_errors(answer.body)
        assert not [f"{list(error.absolute_path)}: {error.message[:300]}" for error in errors]

    return check


@pytest.fixture(scope="session")
def contract() -> dict[str, Any]:
    return CONTRACT  # type: ignore[no-any-return]
