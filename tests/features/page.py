"""docs/features.md: each promise, and the test files that show it. Run as a program, it writes the page."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).with_name("rows.toml")
PAGE = ROOT / "docs" / "features.md"
TEST_FOLDERS = ("tests", "packages", "server/tests", "e2e")

_HEAD = """# What it does, and the tests that show it

Written by `python dev.py features` from the tests' marks; do not edit. A test names the row that it shows with
`@pytest.mark.feature("...")`: look for the row's id in a file to find it. A file that is listed holds such a test; that
it passes is what the full run (`python dev.py test`) says.
"""


def marked() -> dict[str, set[str]]:
    """For each row id that a test names: the files, as paths from the root."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for folder in TEST_FOLDERS:
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            for row in _marks(ast.parse(path.read_text(encoding="utf-8"))):
                found[row].add(path.relative_to(ROOT).as_posix())
    return found


def _marks(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.feature"):
            yield from (str(part.value) for part in node.args if isinstance(part, ast.Constant))


def rows() -> dict[str, dict[str, str]]:
    """For each group of promises, the sentence of each row id."""
    return {group["title"]: group["rows"] for group in tomllib.loads(ROWS.read_text(encoding="utf-8"))["group"]}


def page() -> str:
    """The whole page."""
    shown = marked()
    parts = [_HEAD]
    unshown = []
    for title, promises in rows().items():
        parts.append(f"\n## {title}\n\n| row | what | shown in |\n|---|---|---|\n")
        for row, promise in promises.items():
            files = sorted(shown.get(row, ()))
            links = "<br>".join(f"[{path}](../{path})" for path in files) or "no marked test"
            parts.append(f"| {row} | {promise} | {links} |\n")
            if not files:
                unshown.append(row)
    parts.append("\n## Rows that no marked test shows\n\n")
    parts.append(
        f"{', '.join(unshown)}. Either it is not built, or its tests carry no mark yet: take none of it for granted.\n"
        if unshown
        else "None.\n"
    )
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}")
