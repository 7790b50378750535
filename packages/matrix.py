#!/usr/bin/env python3
"""Each package's own tests, the contract suites among them, on the oldest and newest versions it supports.

    python dev.py matrix [--only TEXT]     or     python packages/matrix.py [--only TEXT]

Every cell is a fresh environment. A cell is green when its tests pass and the contract really ran: the table counts
the scenarios that passed beside all tests, and its last column names what went wrong. The cells with the newest of
everything run all tests. The others run the contract and all unit tests, and leave out those of ONCE: the pages, the
examples, programs that end or fork, a server that is killed, a hundred turns. Those are long and look at our own code
and at the server, not at the framework's version. Also looks at what `pip install` of a package adds to its framework.
Exits with 1 when a cell is red. Takes about an hour on two free cores; --only runs the cell of the name TEXT, or else
those whose names hold it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = "packages/core_adapter"
TESTING = ("pytest>=8", "pytest-asyncio>=1", "hypothesis", "httpx")
#: Scenarios that each way of remembering has to run; fewer means that the contract was skipped.
SCENARIOS = 15
OLDEST_CLIENT = "hindsight-client==0.10.0"
CELL_SECONDS = 2400


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One column of the matrix: a package's tests on certain versions.

    Attributes:
        package: folder under ``packages``.
        pins: what is installed beside it; without a version the newest.
        newest: warnings are errors, as in every other run; old frameworks warn of things that are not ours.
        scenarios: how many tests of the contracts must have passed.
    """

    package: str
    pins: tuple[str, ...]
    newest: bool = False
    scenarios: int = SCENARIOS

    @property
    def complete(self) -> bool:
        """Whether all tests run, those of ``ONCE`` among them."""
        return self.newest and OLDEST_CLIENT not in self.pins

    @property
    def name(self) -> str:
        return f"{self.package}: {', '.join(self.pins) or 'newest'}"


HAYSTACK, LLAMAINDEX, LANGCHAIN = (("haystack-ai",), ("llama-index-core",), ("langchain", "langgraph"))
CELLS = (
    Cell(package="core_adapter", pins=("hindsight-client",), newest=True, scenarios=0),
    Cell(package="core_adapter", pins=(OLDEST_CLIENT,), newest=True, scenarios=0),
    Cell(package="haystack", pins=("haystack-ai==2.12.0",)),
    Cell(package="haystack", pins=("haystack-ai==2.31.0",)),
    Cell(package="haystack", pins=HAYSTACK, newest=True, scenarios=4 * SCENARIOS),
    Cell(package="haystack", pins=(*HAYSTACK, OLDEST_CLIENT), newest=True, scenarios=4 * SCENARIOS),
    Cell(package="llamaindex", pins=("llama-index-core==0.11.23",)),
    Cell(package="llamaindex", pins=("llama-index-core==0.12.52",)),
    Cell(package="llamaindex", pins=("llama-index-core==0.13.6",)),
    Cell(package="llamaindex", pins=LLAMAINDEX, newest=True, scenarios=3 * SCENARIOS),
    Cell(package="llamaindex", pins=(*LLAMAINDEX, OLDEST_CLIENT), newest=True, scenarios=3 * SCENARIOS),
    Cell(
        package="langchain",
        pins=("langchain-core==0.3.86", "langgraph==1.0.0", "langgraph-prebuilt==1.0.1"),
    ),
    Cell(
        package="langchain",
        pins=("langchain-core==1.0.0", "langgraph==1.0.0", "langgraph-prebuilt==1.0.2"),
    ),
    Cell(
        package="langchain",
        pins=("langchain==1.1.0", "langchain-core==1.1.0", "langgraph==1.0.2", "langgraph-prebuilt==1.0.2"),
    ),
    Cell(package="langchain", pins=LANGCHAIN, newest=True, scenarios=3 * SCENARIOS),
    Cell(package="langchain", pins=(*LANGCHAIN, OLDEST_CLIENT), newest=True, scenarios=3 * SCENARIOS),
)
#: Test files that only the cells with the newest of everything run, as the text above says.
ONCE = (
    "test_docs.py",
    "test_readme.py",
    "test_example.py",
    "test_durability.py",
    "test_processes.py",
    "test_real_server.py",
)
#: What only the tests of a package need.
TEST_NEEDS = {
    "llamaindex": ("aiosqlite", "greenlet"),
    "langchain": ("langchain-tests",),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a cell. ``contract`` counts the scenarios among ``passed``; without ``problem`` it is green."""

    name: str
    versions: str = ""
    passed: int = 0
    contract: int = 0
    skipped: int = 0
    seconds: float = 0.0
    problem: str = ""


class StepFailed(Exception):
    """A command of a cell failed; the message ends with its last lines."""


class Environment:
    """A fresh virtual environment in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        beside = Path(sys.executable).with_name("uv")
        self._uv = str(beside) if beside.exists() else shutil.which("uv")
        if self._uv:
            command([self._uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder])
        else:
            command([sys.executable, "-m", "venv", "--clear", folder])

    def install(self, *what: str) -> None:
        """Install with uv when it is there (it takes seconds), else with pip."""
        if self._uv:
            command([self._uv, "pip", "install", "--quiet", "--python", self.python, *what])
        else:
            command([self.python, "-m", "pip", "install", "--quiet", "--progress-bar", "off", *what])

    def versions(self) -> dict[str, str]:
        """Name and version of each installed distribution."""
        code = (
            "import importlib.metadata as m, json; "
            "print(json.dumps({d.name.lower().replace('_', '-'): d.version for d in m.distributions()}))"
        )
        found: dict[str, str] = json.loads(command([self.python, "-c", code]))
        return found


def command(parts: Sequence[str | Path], *, seconds: float = 600, ok: tuple[int, ...] = (0,)) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    kept |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [str(part) for part in parts],
            cwd=ROOT,
            env=kept,
            text=True,
            check=False,
            timeout=seconds,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise StepFailed(f"took longer than {seconds:.0f} s: {parts[0]}") from error
    if done.returncode not in ok:
        raise StepFailed(done.stdout[-3000:] or f"exit code {done.returncode}")
    return done.stdout


def run_cell(cell: Cell, folder: Path) -> Outcome:
    """Install and test one cell; problems become part of the outcome."""
    began = time.monotonic()
    try:
        environment = Environment(folder / "venv")
        local = [CORE, "server", *([] if cell.package == "core_adapter" else [f"packages/{cell.package}"])]
        editable = [part for one in local for part in ("-e", str(ROOT / one))]
        environment.install(*cell.pins, *TESTING, *TEST_NEEDS.get(cell.package, ()), *editable)
        installed = environment.versions()
        report = folder / "report.xml"
        pytest: list[str | Path] = [
            environment.python,
            "-m",
            "pytest",
            f"packages/{cell.package}/tests",
            f"--junitxml={report}",
        ]
        pytest += ["-p", "no:cacheprovider", *([] if cell.newest else ["-W", "default"])]
        if not cell.complete:
            tests = ROOT / "packages" / cell.package / "tests"
            pytest += [f"--ignore={tests / name}" for name in ONCE]
        printed = command(pytest, seconds=CELL_SECONDS, ok=(0, 1))
    except StepFailed as error:
        return Outcome(name=cell.name, seconds=time.monotonic() - began, problem=str(error))
    names = dict.fromkeys([*(pin.split("==")[0] for pin in cell.pins), "hindsight-client", "pydantic"])
    return _judged(
        cell,
        report,
        Outcome(
            name=cell.name,
            versions=", ".join(f"{name} {installed.get(name, '?')}" for name in names),
            seconds=time.monotonic() - began,
            problem=printed,
        ),
    )


def _judged(cell: Cell, report: Path, so_far: Outcome) -> Outcome:
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 -- written by our own run
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    good = [case for case in cases if case not in bad and case not in skipped]
    contract = [case for case in good if "test_agent_contract" in (case.get("classname") or "")]
    problem = ""
    if bad:
        problem = f"{len(bad)} failed\n{so_far.problem[-3000:]}"
    elif len(contract) < cell.scenarios:
        problem = f"only {len(contract)} of {cell.scenarios} scenarios of the contract ran"
    return Outcome(
        name=so_far.name,
        versions=so_far.versions,
        passed=len(good),
        contract=len(contract),
        skipped=len(skipped),
        seconds=so_far.seconds,
        problem=problem,
    )


def added_by(package: str, framework: tuple[str, ...], folder: Path) -> Outcome:
    """What installing a package adds to its framework: hindsight-client (with what that needs), our core, itself."""
    began = time.monotonic()
    name = f"{package}: what pip install adds"
    try:
        environment = Environment(folder / "venv")
        environment.install(*framework)
        bare = set(environment.versions())
        environment.install("hindsight-client")
        with_client = set(environment.versions())
        environment.install(str(ROOT / CORE), str(ROOT / "packages" / package))
        ours = set(environment.versions()) - with_client
    except StepFailed as error:
        return Outcome(name=name, seconds=time.monotonic() - began, problem=str(error))
    client = sorted(with_client - bare - {"hindsight-client"})
    told = f"{', '.join(sorted(ours))}, hindsight-client" + (f" (which needs {', '.join(client)})" if client else "")
    surplus = ours - {"hindsight-adapter-core", f"hindsight-{package}"}
    problem = f"adds {', '.join(sorted(surplus))} as well" if surplus else ""
    return Outcome(name=name, versions=told, seconds=time.monotonic() - began, problem=problem)


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a Markdown table."""
    lines = ["| cell | installed | passed | contract | skipped | seconds | result |", "|---|---|---|---|---|---|---|"]
    for one in outcomes:
        result = f"RED: {one.problem.splitlines()[0]}" if one.problem else "green"
        counts = f"{one.passed} | {one.contract} | {one.skipped} | {one.seconds:.0f}"
        lines.append(f"| {one.name} | {one.versions} | {counts} | {result} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="the cell of this name, or those that hold it")
    only = parser.parse_args().only
    cells = [cell for cell in CELLS if cell.name == only] or [cell for cell in CELLS if only in cell.name]
    outcomes: list[Outcome] = []

    def keep(outcome: Outcome) -> None:
        outcomes.append(outcome)
        print(f"{'RED  ' if outcome.problem else 'green'} {outcome.seconds:5.0f} s  {outcome.name}", flush=True)
        if outcome.problem:
            print(outcome.problem, flush=True)

    for package, framework in (("haystack", HAYSTACK), ("llamaindex", LLAMAINDEX), ("langchain", LANGCHAIN[:1])):
        if only in f"{package}: what pip install adds":
            with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
                keep(added_by(package, framework, Path(folder)))
    for cell in cells:
        with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
            keep(run_cell(cell, Path(folder)))
    print(f"\n{table(outcomes)}")
    if not outcomes:
        print(f"No cell holds {only!r}.")
    return int(not outcomes or any(one.problem for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
