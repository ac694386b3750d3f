"""A filled system: everyday tools, skills, documents, API descriptions and databases in one tenant.

`THRESHER_EVERYDAY_TOOLS` names the file with the definitions of the tools (see `benchmarks/everyday.py`), and
`THRESHER_SKILLS` a folder of Agent Skills; without it the built-in packs are the only rules.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from sqlglot import parse_one

from benchmarks import apis, data, everyday
from benchmarks.documents import CORPORA, MANUAL
from benchmarks.documents import folder as documents_folder
from thresher.core import Caller
from thresher.knowledge.documents import origin_of
from thresher.services import Services

DESCRIPTIONS: Final = {**apis.PROVIDERS, "tmdb": (("the movie database",), ("restbench/tmdb_oas.json",))}
SCRIPTS: Final = {"northwind": "northwind/northwind_postgres.sql", "hr": "oracle_hr/hr_create.sql"}
_STATEMENT: Final = re.compile(r"^(CREATE|ALTER) TABLE (?:ONLY )?(\w+)(.*?);", re.S | re.M)
_KEY: Final = re.compile(r"(?:PRIMARY|FOREIGN) KEY\s*\([^)]*\)(?:\s*REFERENCES\s+\w+(?:\s*\([^)]*\))?)?")
_ORACLE: Final = re.compile(r"CONSTRAINT\s+\w+\s+(?=NOT NULL)|ORGANIZATION INDEX|\bENABLE\b|^\s*rem\b.*$", re.M)
_WAITED: Final = 0.2


def settings() -> dict[str, Any]:
    """The settings of the product for a filled system."""
    folder = os.environ.get("THRESHER_SKILLS", "")
    return {"home_packs": "off", "packs": (Path(folder),) if folder else ()}


async def fill(services: Services, caller: Caller, place: Path) -> None:
    """Index everything, and wait until all of it has vectors.

    Args:
        services: Of a product that runs with `settings`.
        caller: The tenant that gets it.
        place: An empty folder for the databases' files; it must stay while the product runs.
    """
    await services.tools.import_tools(caller, everyday.definitions(), {})
    for name in (*CORPORA, "pestpp"):
        file = documents_folder() / ("pestpp" if name == "pestpp" else "chunking_evaluation")
        source = file / (MANUAL if name == "pestpp" else f"{name}.md")
        await services.documents.index_here(caller, name, origin_of(str(source)))
    described = data.folder().parent / "apis"
    for name, (aliases, files) in DESCRIPTIONS.items():
        await services.apis.add(caller, name, [str(described / file) for file in files], aliases=aliases)
        await services.apis.index_here(caller, name)
    await _add_databases(services, caller, place)
    await services.intents.prepare(caller)
    await services.intents.settle()


async def _add_databases(services: Services, caller: Caller, place: Path) -> None:
    folder = data.folder().parent / "databases"
    files = {"chinook": folder / "chinook" / "chinook.sqlite"}
    for name, script in SCRIPTS.items():
        files[name] = await asyncio.to_thread(_made, folder / script, place / f"{name}.sqlite")
    for name, file in files.items():
        connection = await services.databases.add_connection(caller, name, f"sqlite:///{file}")
        await services.databases.refresh_schema(caller, name)
        await services.databases.settle()
        connection = await services.databases.connection(caller, name)
        while await services.databases.embedded_tables(caller, name) < connection.tables:  # noqa: ASYNC110 - a worker's work
            await asyncio.sleep(_WAITED)


def _made(script: Path, file: Path) -> Path:
    """A SQLite file with the tables and keys of a script, and without rows."""
    tables: dict[str, str] = {}
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for verb, table, text in _STATEMENT.findall(_ORACLE.sub("", script.read_text(encoding="utf-8"))):
        if verb == "ALTER":
            keys[table] += _KEY.findall(text)
        else:
            tables[table] = parse_one(f"CREATE TABLE {table} {text}", read="postgres").sql("sqlite")
    with sqlite3.connect(file) as link:
        for name, statement in tables.items():
            link.execute(", ".join([statement.rstrip().removesuffix(")"), *keys[name]]) + ")")
    return file
