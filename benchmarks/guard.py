"""The guard of SQL: which statements that only read it refuses, which others it lets through, and how long it takes."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import data, machine
from tests.hostile_sql.corpus import ENGINES, ideas
from tests.hostile_sql.disguises import disguised
from thresher.sqlguard import DIALECTS, Dialect, Verdict, judge
from thresher.sqlguard.function_lists import left_out
from thresher.sqlguard.postgresql.names import shipped

TABLES = {"{{T}}": "public.orders", "{{T2}}": "customers"}
READING = re.compile(
    r"(/\*.*?\*/\s*)*\(*\s*(SELECT|WITH|VALUES|TABLE|FROM|EXPLAIN|DESCRIBE|DESC|SHOW|PRAGMA|SUMMARIZE)\b", re.IGNORECASE
)
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Judged:
    """One statement with its verdict and the milliseconds of processor time that it took."""

    sql: str
    verdict: Verdict
    milliseconds: float


def reads() -> dict[str, list[str]]:
    """Statements that only read: written by hand, and as an optimizer wrote them again, whose dialect is none."""
    folder = data.folder().parent / "databases"
    spider = json.loads((folder / "spider" / "dev.json").read_text(encoding="utf-8"))
    found = {"spider": [entry["query"] for entry in spider]}
    for name in ("tpc-h", "tpc-ds"):
        pairs = _statements((folder / "reads" / f"{name}.sql").read_text(encoding="utf-8"))
        found[name], found[f"{name} rewritten"] = pairs[::2], pairs[1::2]
    return found


def _statements(text: str) -> list[str]:
    lines = (line for line in text.splitlines() if not line.startswith(("#", "--")))
    return [part.strip() for part in re.split(r";\s*\n", "\n".join(lines) + "\n") if part.strip()]


def hostile(dialect: Dialect) -> Iterator[str]:
    """What must be refused: by others, and our own ideas in every disguise where we have some for the engine."""
    folder = data.folder().parent / "databases" / "adversarial"
    for path in sorted(folder.glob("*.txt")):
        yield from (_filled(sql) for expected, sql in _lines(path) if expected == "deny")
    if dialect in ENGINES:
        mine = (idea for idea in ideas(dialect) if not idea.allowed)
        yield from (sql for idea in mine for _, sql in disguised(idea, dialect))
    yield from _no_queries(folder)


def harmless() -> list[str]:
    """What looks hostile and is not; PostgreSQL's."""
    folder = data.folder().parent / "databases" / "adversarial"
    return [_filled(sql) for path in folder.glob("*.txt") for expected, sql in _lines(path) if expected == "allow"]


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            expected, sql, *_ = line.split("\t")
            yield expected, sql


def _filled(sql: str) -> str:
    for mark, table in TABLES.items():
        sql = sql.replace(mark, table)
    return sql


def _no_queries(folder: Path) -> Iterator[str]:
    """Statements of many dialects that begin as no query does."""
    for line in (folder / "sqlglot_identity.sql").read_text(encoding="utf-8").splitlines():
        if line.strip() and not READING.match(line):
            yield line.strip()


def _judge(statements: Iterable[str], dialect: Dialect) -> list[Judged]:
    found: list[Judged] = []
    for sql in statements:
        started = time.process_time()
        verdict = judge(sql, dialect)
        found.append(Judged(sql, verdict, (time.process_time() - started) * 1000))
    return found


def _of_reads(judged: Sequence[Judged], dialect: Dialect) -> dict[str, Any]:
    """Accepted among those that the engine could run: in its grammar, with functions and types that it has."""
    parsed = [one for one in judged if one.verdict.rule != "syntax"]
    foreign = [one for one in parsed if _names_what_is_not_there(one.verdict, dialect)]
    refused = Counter(f"{one.verdict.rule}: {one.verdict.reason}" for one in parsed if not one.verdict.allowed)
    accepted = sum(one.verdict.allowed for one in parsed)
    return {
        "statements": len(judged),
        "in_the_grammar": len(parsed),
        "of_other_engines": len(foreign),
        "accepted": accepted,
        "share": round(accepted / (len(parsed) - len(foreign)), 4) if len(parsed) > len(foreign) else None,
        "refused": dict(refused.most_common(10)),
    }


def _names_what_is_not_there(verdict: Verdict, dialect: Dialect) -> bool:
    """Whether it was refused for a name that is on neither list of the engine: allowed, or left out with a reason."""
    if verdict.rule not in ("function", "type") or verdict.place is None:
        return False
    return verdict.place.text.lower() not in (shipped().refused if dialect == "postgresql" else left_out(dialect))


def _times(statements: Sequence[str], dialect: Dialect) -> dict[str, float]:
    """Quantiles over all statements of the least time of some rounds, which others on the machine disturb least."""
    rounds = [_judge(statements, dialect) for _ in range(ROUNDS)]
    spent = sorted(min(one.milliseconds for one in tries) for tries in zip(*rounds, strict=True))
    return {
        "p50_ms": round(spent[len(spent) // 2], 3),
        "p99_ms": round(spent[int(len(spent) * 0.99)], 3),
        "largest_ms": round(spent[-1], 3),
    }


def figures_of(dialect: Dialect) -> dict[str, Any]:
    """The figures of one dialect."""
    judge("SELECT 1", dialect)
    corpora = reads()
    bad = list(dict.fromkeys(hostile(dialect)))
    accepted = [one.sql for one in _judge(bad, dialect) if one.verdict.allowed]
    figures: dict[str, Any] = {
        "reads": {name: _of_reads(_judge(statements, dialect), dialect) for name, statements in corpora.items()},
        "hostile": len(bad),
        "hostile_accepted": len(accepted),
        "accepted": accepted[:20],
        **_times(list(chain.from_iterable(corpora.values())), dialect),
    }
    if dialect == "postgresql":
        figures["harmless_refused"] = [one.sql for one in _judge(harmless(), dialect) if not one.verdict.allowed]
    return figures


async def run() -> None:
    """Judge all corpora in every dialect; save."""
    figures = {dialect: figures_of(dialect) for dialect in DIALECTS}
    print(machine.save("guard", figures))
    print(json.dumps(figures, indent=2))
