"""What must not be in the repository."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Spelled with classes, so that this file does not hold what it forbids.
REGISTRY_HOSTS = re.compile(
    "|".join(["pypi" + r"\.org", "pythonhosted" + r"\.org", "npmjs" + r"\.(org|com)", "registry" + r"\.npm"])
)


def _tracked() -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_no_file_names_a_package_registry() -> None:
    named = []
    for path in _tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if REGISTRY_HOSTS.search(text):
            named.append(str(path.relative_to(ROOT)))
    assert not named, named


def test_no_lock_file_that_writes_addresses() -> None:
    assert not [path for path in _tracked() if path.name in ("uv.lock", "package-lock.json", "poetry.lock")]
