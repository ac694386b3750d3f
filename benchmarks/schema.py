"""Schemas: what `query_database_schema` costs in tokens and milliseconds, and which tables it finds for a question.

Made schemas of 200, 2,000 and 10,000 tables, such as a business system has them, stand in SQLite files; Chinook is
asked the questions of `benchmarks/questions/schemas.tsv`, each of which names the tables that an answer needs. Every
call is one of the service's, after the schema was read and put into the index.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import data, machine, product
from benchmarks.speed import percentiles
from thresher.services import Services

SIZES = (200, 2_000, 10_000)
EMBEDDED = 200
"""Up to so many tables it is waited until all are found by meaning; of more the words alone are measured."""
CALLS = 30
QUESTIONS = Path(__file__).with_name("questions") / "schemas.tsv"
BUDGETS = (600, 1_500, 4_000)
AREAS = (
    "sales", "purchase", "stock", "ledger", "payroll", "project", "service", "quality", "plant", "asset", "bank", "tax",
    "crm", "web", "edi", "fleet", "lab", "hr", "budget", "legal",
)  # fmt: skip
THINGS = (
    "order", "invoice", "delivery", "offer", "contract", "payment", "return", "claim", "booking", "request", "plan",
    "price", "visit", "shipment", "account", "journal", "batch", "job", "ticket", "device", "route", "rule", "message",
    "survey", "permit",
)  # fmt: skip
PARTS = (
    "", "line", "tax", "note", "file", "history", "address", "contact", "text", "status", "log", "version", "approval",
    "discount", "reminder", "cost", "schedule", "limit", "group", "tag",
)  # fmt: skip
MASTERS = ("company", "currency", "customer", "supplier", "item", "employee", "country", "unit")
FIELDS = (
    "code varchar(20)", "name varchar(120)", "amount numeric(12,2)", "quantity numeric(10,3)", "valid_from date",
    "valid_to date", "remark text", "is_active integer", "created_at timestamp", "created_by varchar(40)",
    "changed_at timestamp", "changed_by varchar(40)",
)  # fmt: skip


def statements(tables: int) -> Iterator[str]:
    """The tables of a business system, with most of their keys declared."""
    for master in MASTERS:
        yield f"create table {master} ({master}_id integer primary key, code varchar(20), name varchar(120))"
    made = itertools.product(range(1, 3), AREAS, THINGS, PARTS)
    for number, (edition, area, thing, part) in enumerate(itertools.islice(made, tables - len(MASTERS))):
        base = f"{area}_{thing}" + ("" if edition == 1 else "_archive")
        name = f"{base}_{part}" if part else base
        master = MASTERS[number % len(MASTERS)]
        columns = [f"{name}_id integer primary key", f"{master}_id integer references {master} ({master}_id)"]
        if part:
            declared = "" if number % 7 == 0 else f" references {base} ({base}_id)"
            columns.append(f"{base}_id integer not null{declared}")
        columns += [FIELDS[(number + step) % len(FIELDS)] for step in range(9)]
        yield f"create table {name} ({', '.join(columns)})"


def made(folder: Path, tables: int) -> Path:
    """A SQLite file with so many tables."""
    file = folder / f"made_{tables}.db"
    link = sqlite3.connect(file)
    link.execute("pragma synchronous = off")
    link.execute("begin")
    for statement in statements(tables):
        link.execute(statement)
    link.commit()
    link.close()
    return file


async def _embedded(services: Services, name: str, tables: int) -> None:
    """Wait until a worker has embedded all tables."""
    while True:
        if await services.databases.embedded_tables(services.caller, name) == tables:
            return
        await asyncio.sleep(0.2)


async def _sized(services: Services, folder: Path, tables: int) -> dict[str, Any]:
    """Reading a schema, then asking for it in each way."""
    caller, databases, name = services.caller, services.databases, f"made_{tables}"
    file = await asyncio.to_thread(made, folder, tables)
    started = time.perf_counter()
    await databases.add_connection(caller, name, f"sqlite:///{file}", samples=False)
    first = await databases.query_database_schema(caller, name)
    seconds = {"first_answer": round(time.perf_counter() - started, 2)}
    await databases.settle()
    seconds["found_by_words"] = round(time.perf_counter() - started, 2)
    if tables <= EMBEDDED:
        await _embedded(services, name, tables)
        seconds["found_by_meaning"] = round(time.perf_counter() - started, 2)
    acts: dict[str, dict[str, Any]] = {
        "summary": {},
        "question": {"question": "which invoices of a customer were not paid yet"},
        "table": {"table": "sales_order"},
    }
    figures: dict[str, Any] = {"seconds": seconds}
    for act, arguments in acts.items():
        taken: list[float] = []
        tokens = 0
        for _ in range(CALLS):
            began = time.perf_counter()
            answer = await databases.query_database_schema(caller, name, **arguments)
            taken.append((time.perf_counter() - began) * 1000)
            tokens = answer.token_count
        figures[act] = {"tokens": tokens, "ms": percentiles(taken)}
    assert first.tables == tables
    await databases.remove_connection(caller, name)
    return figures


def questions() -> list[tuple[str, str, frozenset[str]]]:
    """Database, question, and the tables that an answer needs."""
    lines = [line for line in QUESTIONS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(one[0], one[1], frozenset(one[2].split(","))) for one in (line.split("\t") for line in lines)]


async def _sliced(services: Services) -> dict[str, Any]:
    """How often the part of a schema that goes with a question holds all tables that it needs."""
    caller, databases = services.caller, services.databases
    await databases.add_connection(
        caller, "chinook", f"sqlite:///{data.folder().parent / 'databases/chinook/chinook.sqlite'}"
    )
    await databases.refresh_schema(caller, "chinook")
    asked = [one for one in questions() if one[0] == "chinook"]
    figures: dict[str, Any] = {"questions": len(asked)}
    first = 0
    for name, question, needed in asked:
        found = await databases.search_schema(caller, question, name, limit=len(needed))
        first += bool(found.tables) and found.tables[0].table.name in needed
    figures["first_is_needed"] = round(first / len(asked), 3)
    for budget in BUDGETS:
        whole = 0
        for name, question, needed in asked:
            answer = await databases.query_database_schema(caller, name, question=question, budget=budget)
            whole += needed <= set(answer.shown)
        figures[f"all_needed_in_{budget}_tokens"] = round(whole / len(asked), 3)
    figures["query"] = await _queried(services)
    return figures


async def _queried(services: Services) -> dict[str, float]:
    """A small statement: judged, noted, run, its rows read, its end noted."""
    taken: list[float] = []
    for number in range(10 * CALLS):
        began = time.perf_counter()
        await services.databases.query(services.caller, "chinook", f"select * from Artist where ArtistId = {number}")
        taken.append((time.perf_counter() - began) * 1000)
    return percentiles(taken)


async def run() -> dict[str, Any]:
    """Measure and save."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="thresher-schemas-") as place:
        async with product.running(query_cache_seconds=0) as services:
            figures["slices"] = await _sliced(services)
            for tables in SIZES:
                figures[str(tables)] = await _sized(services, Path(place), tables)
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("schema", figures)
    return figures
