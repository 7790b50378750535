"""The example, as a user would start it: two users, each twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripted import needs_haystack_3

EXAMPLE = Path(__file__).parents[3] / "examples" / "haystack_agent.py"


@needs_haystack_3
def test_the_example_remembers_each_user(memory_server: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    environment.update(HINDSIGHT_API_URL=memory_server, HAYSTACK_TELEMETRY_ENABLED="False")

    def say(user: str, text: str) -> str:
        command = [sys.executable, str(EXAMPLE), "--user", user, text]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    say("example-ann", "My train leaves from platform 6.")
    say("example-bob", "My train leaves from platform 9.")
    assert "platform 6" in say("example-ann", "From which platform does my train leave?")
    assert "platform 9" in say("example-bob", "From which platform does my train leave?")


@needs_haystack_3
def test_the_tasks_of_one_run_are_known_in_the_next(memory_server: str) -> None:
    environment = {**os.environ, "HINDSIGHT_API_URL": memory_server, "HAYSTACK_TELEMETRY_ENABLED": "False"}
    command = [sys.executable, str(EXAMPLE.with_name("haystack_tasks.py"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    _, remembered = done.stdout.split("I remember:")
    assert "flask v2.3 runs on port 8001" in remembered
    assert "(closed)" in remembered
