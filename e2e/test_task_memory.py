"""Task memory over a real server: the five cases that defeat a mere vector search, twenty of each, in two languages."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hindsight_adapter_core.tasks import TaskMemory, TaskOptions
from hindsight_server.testing.process import ServerProcess

pytestmark = pytest.mark.feature("K9")
#: Share of the questions whose task is among the first three.
BAR = 0.90
CASES = ("SYNONYMS", "TIMES", "HOPS", "IDENTIFIERS")


def cases_of(language: str) -> ModuleType:
    path = Path(__file__).parent / f"task_memory_{language}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class World:
    """A user's tasks, stored."""

    cases: ModuleType
    tasks: TaskMemory
    ids: dict[str, str]

    def at(self, moment: str) -> datetime:
        return datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(self.cases.ZONE))

    def misses(self, name: str, step: int = 1) -> tuple[int, list[str]]:
        """How many questions were asked, and those whose task was not among the first three."""
        questions = getattr(self.cases, name)[::step]
        keys = {task: key for key, task in self.ids.items()}
        missed = []
        for question, key in questions:
            found = self.tasks.recall(question, limit=3, at=self.at(self.cases.NOW))
            if self.ids[key] not in [item.task_id for item in found]:
                missed.append(f"{question} -> {[keys.get(str(item.task_id)) for item in found]}, not {key}")
        return len(questions), missed


@pytest.fixture(scope="module")
def real_server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the embedding model that users get by default."""
    folder = tmp_path_factory.mktemp("task-memory")
    with ServerProcess(folder, environment={"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "local"}) as server:
        yield server.url


@pytest.fixture(scope="module", params=["english", "chinese"])
def world(request: pytest.FixtureRequest, real_server_url: str) -> World:
    cases = cases_of(request.param)
    tasks = TaskMemory.open(
        f"tasks-{request.param}",
        user_id="ann",
        hindsight_api_url=real_server_url,
        options=TaskOptions(timezone=cases.ZONE, join_sessions=False),
    )
    made = World(cases=cases, tasks=tasks, ids={})
    for key, (action, target, moment, lines) in sorted(cases.TASKS.items(), key=lambda item: item[1][2]):
        at = made.at(moment)
        task = tasks.start(action, target, at=at)
        made.ids[key] = task.task_id
        for line in lines:
            role, _, words = line.partition(": ")
            if role.startswith("tool"):
                (tasks.tool_failure if role.endswith("!") else tasks.tool_success)(task, words, at=at)
            else:
                tasks.message(task, words, role=role, at=at)
        for noise in cases.NOISE[: len(made.ids) % 5]:
            assert tasks.message(task, noise, at=at) == "noise"
        if not task.closed:
            tasks.end(task, at=at)
    return made


@pytest.mark.parametrize("name", CASES)
def test_every_fourth_question(world: World, name: str) -> None:
    asked, missed = world.misses(name, step=4)
    assert len(missed) <= asked * (1 - BAR) + 1, "\n".join(missed)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_all_questions(world: World, name: str) -> None:
    asked, missed = world.misses(name)
    assert asked == 20
    assert (asked - len(missed)) / asked >= BAR, "\n".join(missed)


def test_noise_is_never_stored(world: World) -> None:
    stored: list[Any] = list(world.tasks.recall(" ".join(world.cases.NOISE), limit=200, at=world.at(world.cases.NOW)))
    assert stored
    words = {memory.text.partition(": ")[2].strip() for item in stored for memory in item.memories}
    assert len(world.cases.NOISE) == 20
    assert not words & set(world.cases.NOISE)
    task = world.tasks.start("chat", version="noise", at=world.at(world.cases.NOW))
    for noise in world.cases.NOISE:
        assert world.tasks.message(task, noise, at=world.at(world.cases.NOW)) == "noise"


def test_snapshots_show_the_facts(world: World) -> None:
    block = world.tasks.snapshot("ARCH-77", at=world.at(world.cases.NOW), show_dates=True)
    assert block.startswith("<MEMORY_SNAPSHOT>\n")
    assert "Redis" in block
    assert "2026-02-03" in block


def test_a_task_id_in_the_query_comes_first(world: World) -> None:
    found = world.tasks.recall(f"Flask 8000 nginx task_id={world.ids['menu']}", at=world.at(world.cases.NOW))
    assert found[0].task_id == world.ids["menu"]
    assert found[0].via == "id"
