"""Agents in three frameworks remember across processes, through a memory server on this machine.

Starts a server on a free port with a fresh data folder, lets it retain a chat log, then for each framework runs one
process that is told something and two more that are asked about it and about the log.

Run it with the packages installed: `python3 dev.py demo` sees to that, in .venv.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat_log import conversations
from hindsight_client import Hindsight
from scripted import MODEL

from hindsight_server.testing.process import ServerFailed, ServerProcess

HERE = Path(__file__).resolve().parent
BANK = "demo"
SHOWN = 3


@dataclass(frozen=True)
class Scene:
    """What a framework's agent is told in one process and asked in the next; `expect` must be in the answers."""

    framework: str
    script: str
    told: str
    asked: tuple[tuple[str, str], ...]


SCENES = (
    Scene(
        "Haystack",
        "haystack_agent.py",
        "Please remember that my train to Porto leaves on 3 October at 9:40 from platform 6.",
        (("When does my train to Porto leave?", "9:40"), ("Which bees did Herr Baumann recommend?", "Buckfast")),
    ),
    Scene(
        "LlamaIndex",
        "llamaindex_agent.py",
        "For the dinner on Sunday: I am allergic to hazelnuts, but walnuts are fine.",
        (
            ("Which nuts am I allergic to?", "hazelnuts"),
            ("How much soil did the crane bring, and for what price?", "340"),
        ),
    ),
    Scene(
        "LangChain",
        "langchain_agent.py",
        "The code of the bicycle shed has changed, it is 4417 now.",
        (("What is the code of the bicycle shed?", "4417"), ("蜂蜜对什么好？", "嗓子")),
    ),
)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A memory server of our own, with the bundled model: its address."""
    process = ServerProcess(folder, environment={"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "local"})
    began = time.monotonic()
    try:
        with process:
            print(f"Memory server at {process.url}, ready after {time.monotonic() - began:.1f} s")
            yield process.url
    except ServerFailed as error:
        raise SystemExit(f"The server did not start: {error}") from None


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as response:  # noqa: S310  (the address that was given)
            return bool(response.status == 200)
    except OSError:
        return False


def fill(url: str) -> None:
    """Retain the chat log, one document a conversation."""
    log = list(conversations())
    turns = sum(len(conversation.turns) for conversation in log)
    began = time.monotonic()
    with Hindsight(base_url=url, timeout=120.0) as client:
        for number, conversation in enumerate(log, 1):
            content = json.dumps(conversation.turns, ensure_ascii=False)
            client.retain(BANK, content, timestamp=conversation.began, document_id=conversation.document_id)
            if sys.stdout.isatty():
                print(f"\r  conversation {number} of {len(log)}", end="", flush=True)
    seconds = time.monotonic() - began
    rate = f"{turns / seconds:.0f} turns/s"
    print(f"\rRetained {turns} turns of {len(log)} conversations in {seconds:.1f} s ({rate})")


def speak(script: str, url: str, message: str) -> dict[str, Any]:
    """One agent turn in a process of its own."""
    ours = {"HINDSIGHT_API_URL": url, "HINDSIGHT_BANK_ID": BANK, "HAYSTACK_TELEMETRY_ENABLED": "False"}
    environment = {**os.environ, **ours, "PYTHONWARNINGS": "ignore"}
    began = time.monotonic()
    result = subprocess.run(
        [sys.executable, str(HERE / script), message], env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise SystemExit(f"{script} failed:\n{result.stderr}")
    spoken: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return {**spoken, "process": time.monotonic() - began}


def show(message: str, spoken: dict[str, Any], *, recalled: bool) -> None:
    print(f"  process {spoken['pid']}")
    print(f"    user  : {message}")
    if recalled:
        for line in spoken["recalled"][:SHOWN]:
            print(f"            recalled: {textwrap.shorten(line, 100, placeholder=' ...')}")
        print(f"            {len(spoken['recalled'])} memories in the prompt")
    print(textwrap.indent(spoken["answer"], " " * 12).replace(" " * 12, "    agent : ", 1))
    print(f"            turn {spoken['seconds']:.2f} s, whole process {spoken['process']:.1f} s")


def play(scene: Scene, url: str, *, strict: bool) -> bool:
    """The processes of one framework; whether what was expected was answered (`strict`) or at least recalled."""
    print(f"\n{scene.framework}")
    show(scene.told, speak(scene.script, url, scene.told), recalled=False)
    remembered = True
    for question, expected in scene.asked:
        spoken = speak(scene.script, url, question)
        show(question, spoken, recalled=True)
        answered, recalled = expected in spoken["answer"], any(expected in line for line in spoken["recalled"])
        verdict = "remembered" if answered else "in the prompt, not in the answer" if recalled else "NOT remembered"
        print(f"            {verdict}: {expected}")
        remembered = remembered and (answered or (recalled and not strict))
    return remembered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="use a running memory server instead of starting one")
    arguments = parser.parse_args()
    strict = not os.environ.get("OPENAI_API_KEY")
    where = os.environ.get("OPENAI_BASE_URL") or "OpenAI"
    model = "a scripted model (OPENAI_API_KEY is not set)" if strict else f"{MODEL} at {where}"
    print(f"The agents use {model}.")
    with tempfile.TemporaryDirectory(prefix="hindsight-demo-") as folder:
        if arguments.url:
            if not _healthy(arguments.url):
                raise SystemExit(f"No memory server answers at {arguments.url}. Start one with: hindsight serve")
            fill(arguments.url)
            results = {scene.framework: play(scene, arguments.url, strict=strict) for scene in SCENES}
        else:
            with server(Path(folder)) as url:
                fill(url)
                results = {scene.framework: play(scene, url, strict=strict) for scene in SCENES}
    print("\n" + ", ".join(f"{name}: {'remembers' if held else 'FAILED'}" for name, held in results.items()))
    if not all(results.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
