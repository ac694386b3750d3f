"""Reads the package's own source as syntax trees, for the tests that hold its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "thresher"


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> list[Path]:
    """Every module of the package; migrations are numbered scripts and stand outside."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "versions" not in path.parts]


def package_of(path: Path) -> str:
    """The top-level part of `thresher` that a module belongs to; empty for the package itself."""
    parts = path.relative_to(PACKAGE).parts
    return "" if parts == ("__init__.py",) else parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Each imported `thresher` module as (dotted name, line); `from x import y` gives `x` alone."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("thresher"))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "thresher":
            if node.module == "thresher":
                yield from ((f"thresher.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno
