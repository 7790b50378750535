"""Users of one process, all talking at once: each model's request and each bank hold that user's words only."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from hindsight_server.testing.process import ServerProcess

_SPEC = importlib.util.spec_from_file_location(
    "many_users", Path(__file__).parents[1] / "benchmarks" / "adapters" / "users.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
many_users = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = many_users
_SPEC.loader.exec_module(many_users)

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecationWarning"
)


@pytest.mark.feature("C4")
@pytest.mark.parametrize("framework", list(many_users.FRAMEWORKS))
async def test_nobody_sees_another_users_memories(framework: str, tmp_path: Path) -> None:
    users = [f"user{number}" for number in range(8)]
    with ServerProcess(tmp_path) as server:
        agents = many_users.FRAMEWORKS[framework](many_users.Setup(url=server.url))
        talk = await many_users.converse(agents.ask, users=users, turns=4, at_once=True)
        assert talk.crossings == []
        assert talk.without_own == 0
        assert len(talk.seconds) == 32
        assert await many_users.stored_wrong(server.url, users, 4) == []
