"""The example runs as a new user would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "langchain_agent.py"


def test_two_users_are_remembered_apart(real_url: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "HINDSIGHT_"))}
    environment["HINDSIGHT_API_URL"] = real_url
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", str(EXAMPLE)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    *_, ada, _, bob = result.stdout.splitlines()
    assert "allergic to peanuts" in ada
    assert "vegan" in bob
    assert "vegan" not in ada
    assert "peanuts" not in bob


def test_the_tasks_of_one_run_are_known_in_the_next(real_url: str) -> None:
    command = [sys.executable, str(EXAMPLE.with_name("langchain_tasks.py"))]
    environment = {**os.environ, "HINDSIGHT_API_URL": real_url}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr
    _, remembered = result.stdout.split("I remember:")
    assert "flask v2.3 runs on port 8001" in remembered
    assert "(closed)" in remembered
