"""What a new kind costs: a copy of the product gets one with a verb on every face, and the files are counted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source import PACKAGE

MOST_FILES = 7
KIND = '''"""The toys kind: what toys there are.

Invariant: toys are never lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from thresher.core import NotFound

_ALL = ("ball", "drum", "kite", "train")


@dataclass(frozen=True, slots=True)
class Toys:
    """Some toys.

    Attributes:
        names: In order.
    """

    names: tuple[str, ...]


def toys_named(part: str, limit: int) -> Toys:
    """Return the toys with this in their names."""
    found = tuple(toy for toy in _ALL if part in toy)
    if not found:
        raise NotFound(f"There is no toy '{part}'.")
    return Toys(found[:limit])
'''
VERBS = '''"""The verbs of toys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.knowledge.toys import Toys
    from thresher.verbs.request import Request

TOYS = Kind("toys", "thresher.knowledge.toys", remote=False)


@TOYS.verb("read")
async def find_toys(
    request: Request,
    name: Annotated[str, Doc("Part of its name")],
    limit: Annotated[int, Ge(1), Le(100), Doc("Most toys")] = 2,
) -> Toys:
    """Toys by name.

    Raises:
        NotFound: No toy has such a name.
    """
    return TOYS.imported("toys_named")(name, limit)
'''
RULES = """---
name: toys
description: Find toys by name. Use when the person asks for toys.
---

Call `find_toys`.
"""
TOOLS = '''"""The tool of toys."""

from __future__ import annotations

from thresher.knowledge.toys import Toys
from thresher.packs.verbs import tool_of
from thresher.verbs import TOYS

PREFIX = False
LISTED = ("find_toys",)


def _text(toys: Toys) -> str:
    return ", ".join(toys.names)


find_toys = tool_of(TOYS["find_toys"], _text)
'''
COMMANDS = '''"""`thresher toys`."""

from __future__ import annotations

import typer
from rich.text import Text

from thresher.cli.commands import add_command
from thresher.verbs import TOYS

toys = typer.Typer(help="Find toys.", no_args_is_help=True, rich_markup_mode=None)
add_command(toys, "find", TOYS["find_toys"], lambda found: Text(", ".join(found["names"])), arguments={"name": "NAME"})
'''
CHECKS = """
import asyncio, json
from unittest.mock import MagicMock

from thresher.api import http_api
from thresher.core import Caller, Tenant
from thresher.daemon.server.rehearsal import LOOKS
from thresher.daemon.server.verbs import declared_verbs
from thresher.packs.toys.tools import find_toys
from thresher.verbs import Request

request = Request(MagicMock(), Caller(Tenant(1, "local")))
operation = http_api(MagicMock(), MagicMock()).openapi()["paths"]["/v1/find_toys"]["post"]
asked = declared_verbs(request)["find_toys"]({"name": "i"}, lambda _: None)
print(json.dumps({
    "route": operation["summary"],
    "problems": operation["responses"]["404"]["description"],
    "tool": find_toys.to_mcp_tool().input_schema["properties"]["limit"]["maximum"],
    "control": asyncio.run(asked),
    "rehearsed": "find_toys" in LOOKS,
}))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with the kind."""
    copy = tmp_path_factory.mktemp("toy") / "thresher"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    _write(copy / "knowledge/toys/__init__.py", KIND)
    _write(copy / "verbs/toys.py", VERBS)
    _write(copy / "packs/toys/SKILL.md", RULES)
    _write(copy / "packs/toys/tools.py", TOOLS)
    _write(copy / "cli/knowledge/toys.py", COMMANDS)
    _edit(
        copy / "verbs/__init__.py", "\nKINDS = (\n", "\nfrom thresher.verbs.toys import TOYS\n\nKINDS = (\n    TOYS,\n"
    )
    entry = '    "toys": CommandEntry("knowledge.toys:toys", "Find toys."),\n'
    _edit(copy / "cli/application.py", '    "prompts": CommandEntry(', f'{entry}    "prompts": CommandEntry(')
    return copy


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _edit(path: Path, anchor: str, text: str) -> None:
    before = path.read_text(encoding="utf-8")
    assert before.count(anchor) == 1, path
    path.write_text(before.replace(anchor, text), encoding="utf-8")


def _run(source: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(source.parent)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=source.parent
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_kind_with_a_verb_on_every_face_touches_few_files(source: Path) -> None:
    """Its package, its verb, the list of kinds, its pack, its command, and the list of commands."""
    touched = sorted(
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if not (known := PACKAGE / path.relative_to(source)).exists() or known.read_bytes() != path.read_bytes()
    )

    assert touched == [
        "cli/application.py",
        "cli/knowledge/toys.py",
        "knowledge/toys/__init__.py",
        "packs/toys/SKILL.md",
        "packs/toys/tools.py",
        "verbs/__init__.py",
        "verbs/toys.py",
    ]
    assert len(touched) <= MOST_FILES


def test_the_verb_is_on_every_face(source: Path) -> None:
    """Over HTTP, as a tool, for commands and in dry runs, with the bounds and errors of its declaration."""
    shown: dict[str, Any] = json.loads(_run(source, "-c", CHECKS))
    help_text = re.sub(r"\s+", " ", _run(source, "-m", "thresher", "toys", "find", "--help"))

    assert shown == {
        "route": "Toys by name.",
        "problems": "No toy has such a name.",
        "tool": 100,
        "control": {"names": ["kite", "train"]},
        "rehearsed": True,
    }
    assert "Toys by name." in help_text
    assert "Most toys; 2 by default." in help_text
