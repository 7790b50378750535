"""The README's first command, without its set-up: every framework remembers across processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[1] / "examples" / "demo" / "demo.py"


def test_the_demo_remembers() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    result = subprocess.run(
        [sys.executable, str(DEMO)], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Haystack: remembers, LlamaIndex: remembers, LangChain: remembers" in result.stdout
