"""Which route serves a path: those of each turn are tried first, and none hides another."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match

from hindsight_server.http.app import all_handlers
from hindsight_server.http.extensions import EXTENSIONS
from hindsight_server.http.routes import add_routes

CONTRACT = json.loads((Path(__file__).parent / "contract.json").read_text())
OPERATIONS = [
    (method.upper(), path, operation["operationId"])
    for path, methods in CONTRACT["paths"].items()
    for method, operation in methods.items()
] + [(method, path, operation_id) for method, path, operation_id, _ in EXTENSIONS]
EACH_TURN = {"recall_memories", "retain_memories", "reflect"}


def table() -> list[BaseRoute]:
    """The routes of the application, in the order in which they are tried."""
    app = FastAPI(redirect_slashes=False)
    add_routes(app, all_handlers())
    return app.routes


def serving(routes: list[BaseRoute], method: str, path: str) -> tuple[str | None, object]:
    """The operation that a request comes to, and what is called for it."""
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    for route in routes:
        matched, inner = route.matches(scope)
        if matched is Match.FULL:
            return getattr(route, "operation_id", None), inner["endpoint"]
    return None, None


def misled(routes: list[BaseRoute]) -> list[str]:
    """The operations whose requests come to another one, or to another handler."""
    handlers, wrong = all_handlers(), []
    for method, path, operation_id in OPERATIONS:
        found, endpoint = serving(routes, method, re.sub(r"\{(\w+)\}", r"some-\1", path))
        own = handlers.get(operation_id)
        if found != operation_id or (own is not None and endpoint is not own.call):
            wrong.append(f"{method} {path}: {found}")
    return wrong


def test_a_request_of_every_operation_comes_to_its_own_handler() -> None:
    assert len(OPERATIONS) > 100
    assert misled(table()) == []


def test_a_general_route_before_a_special_one_would_be_noticed() -> None:
    assert any("/memories/list" in line for line in misled(table()[::-1]))


@pytest.mark.parametrize("value", ["memories", "recall", "a%2Fb", "名", "health"])
def test_an_id_that_is_a_word_of_a_path_stays_an_id(value: str) -> None:
    routes = table()
    for method, path, operation_id in (
        ("POST", f"/v1/default/banks/{value}/memories/recall", "recall_memories"),
        ("DELETE", f"/v1/default/banks/{value}", "delete_bank"),
        ("GET", f"/v1/default/banks/b/memories/{value}", "get_memory"),
    ):
        assert serving(routes, method, path)[0] == operation_id


def test_what_agents_ask_at_each_turn_is_tried_first() -> None:
    served = [route.operation_id for route in table() if isinstance(route, APIRoute)]
    assert set(served[: len(EACH_TURN)]) == EACH_TURN
