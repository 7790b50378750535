#!/usr/bin/env python3
"""Set up and run this project with nothing but git and Python 3.11 to 3.14.

    python3 dev.py demo     agents in three frameworks remember across processes
    python3 dev.py test     lint, types, architecture and every test
    python3 dev.py matrix   the packages' tests on the oldest and newest versions they support (an hour)
    python3 dev.py features writes docs/features.md from the marks of the tests
    python3 dev.py setup    only the environment (in .venv)

It needs the standard library only, works again when run twice, and says what is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
OLDEST, NEWEST = (3, 11), (3, 14)
LOCAL_PACKAGES = ("packages/core_adapter", "packages/haystack", "packages/llamaindex", "packages/langchain", "server")
PIP_HINT = (
    "Is the package index reachable? A proxy or mirror is set with pip's own variables (PIP_INDEX_URL, HTTPS_PROXY). "
    "Is there room on the disk (about 700 MB)? Then run the same command again."
)
FOLDER_HINT = f"{ROOT} must be a folder that you may write to, with about 700 MB of room. Then run the command again."
TEST_HINTS = {
    "lint": f"Mend what is named above; {VENV.name}/bin/ruff check --fix . mends some of it.",
    "format": f"Run {VENV.name}/bin/ruff format . and look at what it changed.",
}


class Problem(SystemExit):
    """Ends the program with a message that names the next step, exit code 2."""

    def __init__(self, what: str, remedy: str) -> None:
        print(f"\nStopped: {what}\n  What to do: {remedy}", file=sys.stderr, flush=True)
        super().__init__(2)


def say(text: str) -> None:
    print(text, flush=True)


def use_supported_python() -> None:
    """Start again under a supported interpreter when this one is too old or too new."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        works = found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
        if found and works:
            say(f"This is Python {sys.version.split()[0]}; going on with {found}.")
            raise SystemExit(subprocess.run([found, str(ROOT / "dev.py"), *sys.argv[1:]], check=False).returncode)
    raise Problem(
        f"Python {sys.version.split()[0]} can't run this project.",
        "Install Python 3.11, 3.12, 3.13 or 3.14 and run the command again.",
    )


def run(title: str, command: Sequence[str | Path], *, quiet: bool = False, remedy: str = "") -> None:
    """Run a step with its title and time; a quiet step shows its output only when it fails."""
    say(f"-- {title}")
    began = time.monotonic()
    done = threading.Event()
    if quiet:
        threading.Thread(target=_heartbeat, args=(done, began), daemon=True).start()
    try:
        result = subprocess.run(
            [str(part) for part in command],
            cwd=ROOT,
            check=False,
            text=True,
            env=_environment(),
            stdout=subprocess.PIPE if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
        )
    finally:
        done.set()
    if result.returncode:
        if quiet:
            say(result.stdout[-4000:])
        raise Problem(f"'{title}' failed.", remedy or "Read the output above; the first error is the one to mend.")
    say(f"   done in {time.monotonic() - began:.1f} s")


def _heartbeat(done: threading.Event, began: float) -> None:
    while not done.wait(10):
        say(f"   still at it ({time.monotonic() - began:.0f} s)")


def _environment() -> dict[str, str]:
    """Ours, without what leads Python elsewhere. It keeps what it compiled: servers start a quarter sooner."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "VIRTUAL_ENV": str(VENV), "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def binary(name: str) -> Path:
    """A program inside the environment."""
    folder = VENV / ("Scripts" if os.name == "nt" else "bin")
    return folder / (f"{name}.exe" if os.name == "nt" else name)


def set_up(group: str) -> None:
    """Make .venv hold the pinned packages of `group` ("demo" or "dev") and this project's own, editable."""
    requirements = ROOT / "requirements" / f"{group}.txt"
    sources = [requirements, *(ROOT / package / "pyproject.toml" for package in LOCAL_PACKAGES)]
    wanted = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    stamp = VENV / f".{group}-{wanted[:16]}"
    sound = _environment_is_sound()
    if stamp.exists() and sound:
        say(f"-- Environment is up to date ({VENV.name})")
        return
    if not sound:
        _create_environment()
    pip: list[str | Path] = [binary("python"), "-m", "pip", "install", "--quiet", "--progress-bar", "off"]
    run(
        "Installing pinned packages (one to three minutes)",
        [*pip, "--require-hashes", "-r", requirements],
        quiet=True,
        remedy=PIP_HINT,
    )
    local = [part for package in LOCAL_PACKAGES for part in ("-e", ROOT / package)]
    run(
        "Installing this project",
        [*pip, "--no-deps", "--no-build-isolation", *local],
        quiet=True,
        remedy="Read the output above. If it tells you nothing, delete .venv and run the command again.",
    )
    stamp.touch()


def _environment_is_sound() -> bool:
    """Whether .venv was made whole, here (a moved one holds programs with its old path), and its Python still runs."""
    try:
        written = (VENV / "pyvenv.cfg").read_text(encoding="utf-8")
        asked = subprocess.run([binary("python"), "-c", "import pip"], capture_output=True, check=False)
    except OSError:
        return False
    origins = [line for line in written.splitlines() if line.startswith("command =")]
    return asked.returncode == 0 and all(origin.endswith(str(VENV)) for origin in origins)


def _create_environment() -> None:
    try:
        import ensurepip  # noqa: F401  (Debian leaves it out of the base package)
        import venv  # noqa: F401
    except ImportError:
        package = f"python3.{sys.version_info.minor}-venv"
        raise Problem("this Python has no venv or pip.", f"On Debian or Ubuntu: apt install {package}") from None
    title = "Making .venv anew" if VENV.exists() else "Creating .venv"
    run(title, [sys.executable, "-m", "venv", "--clear", VENV], quiet=True, remedy=FOLDER_HINT)


def demo() -> None:
    set_up("demo")
    run("Demo: three frameworks, one memory", [binary("python"), ROOT / "examples" / "demo" / "demo.py"])
    say(f"\nNext: 'Start' in README.md. What it installs is here already:\n  {binary('hindsight')} serve")


def test(only: str | None) -> None:
    set_up("dev")
    python = binary("python")
    steps: dict[str, Sequence[str | Path]] = {
        "lint": [binary("ruff"), "check", "."],
        "format": [binary("ruff"), "format", "--check", "."],
        "imports": [binary("lint-imports")],
        "types": [python, "-m", "mypy"],
        "tests": [python, "-m", "pytest"],
    }
    for name, command in steps.items():
        if only in (None, name):
            run(name, command, remedy=TEST_HINTS.get(name, ""))
    say("All of it passes." if only is None else f"Passes: {only}.")


def matrix(only: str) -> None:
    set_up("dev")
    hint = "The table above names the red cells; run one again with --only and a part of its name."
    run("matrix", [binary("python"), ROOT / "packages" / "matrix.py", f"--only={only}"], remedy=hint)


def features() -> None:
    run("features", [sys.executable, ROOT / "tests" / "features" / "page.py"])


def main() -> None:
    use_supported_python()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="set up, then run the demo")
    tests = commands.add_parser("test", help="set up, then run every check")
    tests.add_argument("--only", choices=["lint", "format", "imports", "types", "tests"], help="one check")
    versions = commands.add_parser("matrix", help="set up, then test the packages on all supported versions")
    versions.add_argument("--only", default="", metavar="TEXT", help="the cell of this name, or those that hold it")
    commands.add_parser("features", help="write docs/features.md")
    setup = commands.add_parser("setup", help="only set up")
    setup.add_argument("--group", choices=["demo", "dev"], default="dev")
    arguments = parser.parse_args()
    actions: dict[str, Callable[[], None]] = {
        "demo": demo,
        "test": lambda: test(arguments.only),
        "matrix": lambda: matrix(arguments.only),
        "features": features,
        "setup": lambda: set_up(arguments.group),
    }
    actions[arguments.command]()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        say("\nInterrupted. The same command begins again where it can.")
        raise SystemExit(130) from None
