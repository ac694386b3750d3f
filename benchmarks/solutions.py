"""Servoy workspaces: whether files come back byte for byte, which columns are inferred again, and how long things take.

The workspaces are read from the data folder. For the pairs every relation is taken out of a copy of the workspace, and
the columns of each pair of different tables that had a relation with columns are inferred anew: once with the keys that
the column information tells (`foreignType`), once without them. Speeds are of workspaces that are made for it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import data, machine, product
from benchmarks.speed import percentiles
from thresher.core import Caller
from thresher.knowledge.solutions import (
    RelationChanges,
    RelationSpec,
    ServoyWorkspace,
    Workspace,
    check_round_trip,
)
from thresher.services import Services
from thresher.servoy import (
    REMOVED,
    Relation,
    RelationItem,
    datasource,
    new_document,
    read_document,
    relation_value,
    with_changes,
)
from thresher.verbs.solutions.relation_columns import infer_columns

WORKSPACES = ("example-solutions", "ai-plugin")
DECLARED = WORKSPACES[0]
RELATIONS = 5_000
TABLES = 1_000
CALLS = 30

Pairs = Mapping[tuple[str, str], Sequence[Relation]]


@dataclass(frozen=True, slots=True)
class Trial:
    """A pair of tables with a relation, and what was inferred without it.

    Attributes:
        primary: Data source that the relation starts from.
        foreign: Data source that it leads to.
        declared: Columns of the relation, or of several the same ones.
        inferred: Columns that were inferred; empty where none were.
        reason: Why, or what would be asked.
        evidence: For that.
    """

    primary: str
    foreign: str
    declared: tuple[tuple[str, str], ...]
    inferred: tuple[tuple[str, str], ...]
    reason: str
    evidence: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether the same columns were found, and only these."""
        return sorted(self.declared) == sorted(self.inferred)


def folder() -> Path:
    """The folder with the workspaces.

    Raises:
        SystemExit: It is not there; the message says what to set.
    """
    path = Path(os.environ.get("THRESHER_BENCH_DATA") or data.DEFAULT_DATA) / "servoy"
    if not path.is_dir():
        raise SystemExit(f"No workspaces at {path}. Set THRESHER_BENCH_DATA to the folder that holds servoy/.")
    return path.resolve()


def declared_pairs(workspace: Workspace) -> Pairs:
    """Relations with columns between different tables, by their data sources."""
    names = [project.name for project in workspace.projects()]
    found: dict[tuple[str, str], list[Relation]] = defaultdict(list)
    for stored in workspace.objects("relation", names)[0]:
        record = stored.record
        if isinstance(record, Relation) and record.items and record.primary_datasource != record.foreign_datasource:
            found[record.primary_datasource, record.foreign_datasource].append(record)
    return dict(sorted(found.items()))


async def trials(services: Services, caller: Caller, pairs: Pairs) -> list[Trial]:
    """Infer the columns of some pairs in the workspace that the caller works in."""
    found: list[Trial] = []
    for (primary, foreign), relations in pairs.items():
        wanted = {tuple(sorted((item.primary, item.foreign) for item in one.items)) for one in relations}
        inferred = await infer_columns(services, caller, datasource(primary), datasource(foreign))
        columns = tuple((item.primary, item.foreign) for item in inferred.items)
        declared = next((one for one in wanted if one == tuple(sorted(columns))), min(wanted))
        reason = inferred.reason or inferred.question
        found.append(Trial(primary, foreign, declared, columns, reason, inferred.evidence))
    return found


def without_relations(source: Path, target: Path, *, keys: bool) -> Path:
    """A copy of a workspace that has no relations, and without `keys` no column that tells where it points to."""
    _copied(source, target, "*.rel")
    for file in target.rglob("*.dbi") if not keys else ():
        document = read_document(file.read_bytes())
        columns = document.get("columns", default=[])
        told = [place for place, one in enumerate(columns) if isinstance(one, dict) and "foreignType" in one]
        file.write_bytes(with_changes(document, {("columns", place, "foreignType"): REMOVED for place in told}))
    return target


def _copied(source: Path, target: Path, *without: str) -> None:
    """Copy a workspace so that it may be written, whatever the mode of its source."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*without), copy_function=shutil.copyfile)
    for place in (target, *target.rglob("*/")):
        place.chmod(0o755)


async def _inferred(services: Services, place: Path, *, keys: bool) -> dict[str, Any]:
    source = folder() / DECLARED
    name = "declared" if keys else "undeclared"
    copy = without_relations(source, place / name, keys=keys)
    caller = Caller(services.caller.tenant, name)
    await services.solutions.add_workspace(caller, str(copy), name)
    tried = await trials(services, caller, declared_pairs(ServoyWorkspace(source)))
    each = [
        {
            "primary": one.primary,
            "foreign": one.foreign,
            "declared": [" = ".join(pair) for pair in one.declared],
            "inferred": [" = ".join(pair) for pair in one.inferred],
            "equal": one.equal,
            "reason": one.reason,
            "evidence": list(one.evidence),
        }
        for one in tried
    ]
    return {"pairs": len(each), "equal": sum(one.equal for one in tried), "each": each}


def _round_trip(name: str) -> dict[str, Any]:
    place = folder() / name
    started = time.process_time()
    found = check_round_trip(place)
    seconds = time.process_time() - started
    return {
        "files": found.files,
        "differ": len(found.differ),
        "differing": list(found.differ),
        "broken": len(found.broken),
        "seconds": round(seconds, 3),
    }


def _made(place: Path) -> Path:
    """A workspace with many relations in one module and many tables of one server."""
    source = folder() / DECLARED
    root = place / "large"
    _copied(source, root)
    module = root / "exampleDataModel" / "relations"
    for number in range(RELATIONS):
        item = RelationItem("customerid", "customerid")
        name = f"orders_to_customers_{number}"
        record = Relation(name, "db:/example_data/orders", "db:/example_data/customers", (item,))
        (module / f"{name}.rel").write_bytes(new_document(relation_value(record), "classic"))
    tables = root / "resources" / "datasources" / "large"
    tables.mkdir()
    document = read_document((tables.parent / "example_data" / "orders.dbi").read_bytes())
    for number in range(TABLES):
        name = f"orders_{number}"
        (tables / f"{name}.dbi").write_bytes(with_changes(document, {("name",): name}))
    old = time.time() - 3_600  # what has just been written is read again, for it may still be changing
    for file in root.rglob("*.*"):
        os.utime(file, (old, old))
    return root


async def _sped(services: Services, place: Path) -> dict[str, Any]:
    caller = Caller(services.caller.tenant, "large")
    solutions, databases = services.solutions, services.databases
    root = _made(place)
    started = time.perf_counter()
    await solutions.add_workspace(caller, str(root), "large")
    figures: dict[str, Any] = {"relations": RELATIONS, "tables": TABLES}
    figures["add_seconds"] = round(time.perf_counter() - started, 3)
    await solutions.set_solution_context(caller, "exampleDataModel")
    started = time.perf_counter()
    await databases.query_database_schema(caller, "large")
    figures["first_schema_seconds"] = round(time.perf_counter() - started, 3)
    await databases.settle()
    for name in ("first_list_ms", "next_list_ms"):
        started = time.perf_counter()
        await solutions.list_relations(caller, "current", limit=100)
        figures[name] = round((time.perf_counter() - started) * 1000, 1)
    return figures | await _changed(services, caller)


async def _changed(services: Services, caller: Caller) -> dict[str, Any]:
    """What making, changing, renaming and undoing take beside many other relations."""
    solutions = services.solutions
    taken: dict[str, list[float]] = defaultdict(list)
    item = RelationItem("customerid", "customerid")
    wish = RelationSpec(
        primary_datasource="example_data/orders", foreign_datasource="example_data/customers", items=(item,)
    )
    for number in range(CALLS):
        name = f"made_{number}"
        await _timed(taken["create_ms"], solutions.open_relation(caller, replace(wish, name=name)))
        changes = RelationChanges(comment="Measured.")
        await _timed(taken["update_ms"], solutions.update_relation(caller, name, changes))
        renamed = await _timed(taken["rename_ms"], solutions.rename_relation(caller, name, f"other_{number}"))
        await _timed(taken["undo_ms"], solutions.undo(caller, renamed.change.id))
        sources = (datasource("example_data/orders"), datasource("example_data/customers"))
        await _timed(taken["infer_ms"], infer_columns(services, caller, *sources))
    return {name: percentiles(values) for name, values in taken.items()}


async def _timed(into: list[float], work: Any) -> Any:
    started = time.perf_counter()
    done = await work
    into.append((time.perf_counter() - started) * 1000)
    return done


async def run() -> dict[str, Any]:
    """Measure, print and save."""
    figures: dict[str, Any] = {"round_trip": {name: _round_trip(name) for name in WORKSPACES}}
    with TemporaryDirectory(prefix="thresher-solutions-") as place:
        async with product.running() as services:
            figures["columns"] = await _inferred(services, Path(place), keys=True)
            figures["columns_without_keys"] = await _inferred(services, Path(place), keys=False)
            figures["speed"] = await _sped(services, Path(place))
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("solutions", figures)
    return figures
