"""The house sizes: small modules, small functions, few parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE, FUNCTION, CLASS, PARAMETERS = 400, 50, 250, 6

# Public signatures that the quickstarts of the three frameworks fix.
FIXED_SIGNATURES = {
    "configure",
    "create_hindsight_tools",
    "create_recall_node",
    "create_retain_node",
    "memory_instructions",
    "from_client",
    "from_defaults",
    "from_url",
    "__init__",
}


def _modules() -> Iterator[Path]:
    for folder in (*ROOT.glob("packages/*/src"), ROOT / "server" / "src", ROOT / "examples", ROOT / "benchmarks"):
        yield from (path for path in folder.rglob("*.py") if "wire" not in path.parts)


def test_modules_functions_and_classes_fit_on_a_few_screens() -> None:
    outliers = []
    for path in _modules():
        source = path.read_text()
        name = path.relative_to(ROOT)
        if (lines := source.count("\n")) > MODULE:
            outliers.append(f"{name}: {lines} lines, at most {MODULE}")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                limit = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
                if size > limit and node.name not in FIXED_SIGNATURES:
                    outliers.append(f"{name}:{node.lineno} {node.name}: {size} lines, at most {limit}")
    assert not outliers, "\n".join(outliers)


def _is_verb(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A verb of the command line: its parameters are its options."""
    return any(ast.unparse(decorator).startswith("app.command(") for decorator in node.decorator_list)


def test_functions_take_few_parameters() -> None:
    outliers = []
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name in FIXED_SIGNATURES:
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            taken = [argument for argument in given if argument.arg not in ("self", "cls")]
            if len(taken) > PARAMETERS and not _is_verb(node):
                outliers.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {len(taken)} parameters")
    assert not outliers, "\n".join(outliers)
