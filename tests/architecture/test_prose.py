"""Docstrings are plain English: turns of phrase that a reference manual does not use are found by pattern."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import PACKAGE, modules, tree

QUAINT = {
    "is none": r"(?<![Tt]here )\b(is|are|was|were) none\b(?! of)",
    "whoever": r"\b[Ww]ho(m)?ever\b",
    "he, his": r"\b(he|his|him|himself)\b",
    "anew": r"\banew\b",
    "dear": r"\bdear(er|est)?\b",
    "amiss": r"\bamiss\b",
    "unless told": r"\bunless (told|said|given)\b",
    "as it were": r"\bas it were\b",
    "sees to": r"\bsees to\b",
    "Says whether": r"^(Says|Told|Tells)\b",
    "for ever": r"\bfor ever\b",
}


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, with their lines."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


def quaint(path: Path) -> list[str]:
    """What is found in a module."""
    return [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for line, text in docstrings(path)
        for name, pattern in QUAINT.items()
        if re.search(pattern, text, re.M)
    ]


def test_docstrings_are_plain_english() -> None:
    """No turn of phrase from the list."""
    found = [one for path in modules() for one in quaint(path)]

    assert found == []
