"""Sets up what questions are asked over: document repositories, databases, APIs and servers, from one JSON file.

Paths are relative to the data folder (`THRESHER_BENCH_DATA`). A repository is a folder, a file, or lines of files; a
database is a SQLite file, or scripts of another dialect of which tables and rows are taken over into one; a server is
a list of tool definitions, or the name of a server in LiveMCPBench whose tools it has.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from benchmarks import data
from thresher.core import Tool
from thresher.knowledge.documents import origin_of
from thresher.services import Services

_STATEMENT = re.compile(r"^[ \t]*(?:CREATE TABLE|INSERT INTO)\b.*?;[ \t]*$", re.I | re.M | re.S)
_DAY_FIRST = re.compile(r"^(\d\d)-(\d\d)-(\d{4})$")


async def install(services: Services, installation: Path, folder: Path) -> None:
    """Set up everything that an installation file lists.

    Args:
        services: The product.
        installation: The JSON file: `repositories`, `databases`, `apis`, `servers`.
        folder: Where files that are made of the data are put.
    """
    text = await asyncio.to_thread(installation.read_text, encoding="utf-8")
    about, root = json.loads(text), data.folder().parent
    caller = services.caller
    for one in about.get("repositories", ()):
        source = _repository(one, root, folder)
        await services.documents.index_here(caller, one["name"], origin_of(str(source)))
    for one in about.get("databases", ()):
        path = _database(one, root, folder)
        await services.databases.add_connection(
            caller, one["name"], f"sqlite:///{path}", description=one.get("description", "")
        )
        await services.databases.refresh_schema(caller, one["name"])
    for one in about.get("apis", ()):
        files = [str(root / name) for name in _listed(one["files"])]
        given = {"display_name": one.get("display_name", ""), "aliases": one.get("aliases", [])}
        await services.apis.add(caller, one["name"], files, **given)
        await services.apis.index_here(caller, one["name"])
    tools = [tool for one in about.get("servers", ()) for tool in _tools(one)]
    said = {one["name"]: one.get("description", "") for one in about.get("servers", ())}
    await services.tools.import_tools(caller, tools, said)


def _listed(value: str | Sequence[Any]) -> Sequence[Any]:
    return [value] if isinstance(value, str) else value


def _repository(one: Mapping[str, Any], root: Path, folder: Path) -> Path:
    """A folder or file as it is, or a folder with the lines that are wanted of some files."""
    if "path" in one:
        return root / one["path"]
    place = folder / "repositories" / one["name"]
    place.mkdir(parents=True, exist_ok=True)
    for part in one["files"]:
        about: dict[str, Any] = {"path": part} if isinstance(part, str) else part
        lines = (root / about["path"]).read_text(encoding="utf-8").splitlines(keepends=True)
        first, last = about.get("lines", (1, len(lines)))
        name = about.get("name") or Path(about["path"]).name
        (place / name).write_text("".join(lines[first - 1 : last]), encoding="utf-8")
    return place


def _database(one: Mapping[str, Any], root: Path, folder: Path) -> Path:
    files = [root / name for name in _listed(one.get("files") or one["path"])]
    if files[0].suffix != ".sql":
        return files[0]
    path = folder / f"{one['name']}.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as link, link:
        for statement in _statements(files, one["dialect"]):
            try:
                link.execute(statement)
            except sqlite3.Error as error:
                raise SystemExit(f"{one['name']}: {error} in {statement[:200]}") from error
    return path


def _statements(files: Iterable[Path], dialect: str) -> Iterator[str]:
    """The tables and rows of scripts, as SQLite takes them."""
    for file in files:
        for found in _STATEMENT.finditer(file.read_text(encoding="utf-8")):
            try:
                text = found[0].rstrip().rstrip(";").replace("ORGANIZATION INDEX", "")  # Oracle's, of no account here
                tree = sqlglot.parse_one(text, dialect=dialect)
            except SqlglotError:
                continue
            if isinstance(tree, exp.Insert):
                tree = tree.transform(_plain_value)
            yield tree.sql(dialect="sqlite")


def _plain_value(node: Any) -> Any:
    """A date that is made of a text, as SQLite writes it."""
    made = (exp.StrToTime, exp.StrToDate, exp.TsOrDsToDate, exp.Anonymous)
    if not (isinstance(node, made) and isinstance(node.this, exp.Literal)):
        return node
    return exp.Literal.string(_DAY_FIRST.sub(r"\3-\2-\1", node.this.name))


def _tools(one: Mapping[str, Any]) -> list[Tool]:
    if "tools" in one:
        return [
            Tool(
                one["name"],
                tool["name"],
                tool.get("title") or "",
                tool.get("description") or "",
                tool.get("inputSchema") or tool.get("input_schema") or {"type": "object"},
                annotations=tool.get("annotations") or {},
            )
            for tool in one["tools"]
        ]
    wanted = one.get("livemcpbench", one["name"])
    known = [tool for tool in data.livemcpbench().tools if tool.server == wanted]
    return [Tool(one["name"], tool.name, tool.title, tool.description, tool.input_schema) for tool in known]
