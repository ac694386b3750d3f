"""What may stand alone: SELECT, VALUES and TABLE, EXPLAIN of such without ANALYZE, SHOW of a harmless setting.

Invariant: one statement; its kind is on the list, then everything in it is walked.
"""

from __future__ import annotations

from typing import Any, Final

from thresher.sqlguard.postgresql.grammar import Body, Offsets, hint_of, parse
from thresher.sqlguard.postgresql.names import SETTINGS
from thresher.sqlguard.postgresql.nodes import is_writing
from thresher.sqlguard.postgresql.walk import Walk
from thresher.sqlguard.records import Dialect, Knowledge, Limits, Verdict
from thresher.sqlguard.verdicts import Refused

EXPLAIN_OPTIONS: Final = frozenset({"verbose", "costs", "settings", "memory", "summary", "format", "buffers"})
"""Options of EXPLAIN that only change what it prints."""
_OFF: Final = frozenset({"false", "off", "0"})
_ENDING: Final = ("COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT")


def read(sql: str, _dialect: Dialect, knowledge: Knowledge, limits: Limits) -> Verdict:
    """The verdict of a statement of PostgreSQL.

    Args:
        sql: Text without NUL and without lone surrogates.
        _dialect: PostgreSQL; there is no other that this reads.
        knowledge: Its functions, if its catalog was read. Option `standard_conforming_strings`: `off` where the
            session reads a backslash as an escape, which the grammar does not.
        limits: How deep and how large it may be.

    Raises:
        Refused: It may not run.
    """
    if "\\" in sql and knowledge.options.get("standard_conforming_strings", "on") == "off":
        raise Refused("syntax", "Backslashes are read otherwise by this session.", offset=sql.index("\\"))
    offsets = Offsets(sql)
    statements = parse(sql)
    hint = hint_of(sql)
    if hint is not None:
        reason = "A comment that begins with + may change settings while the statement is planned."
        raise Refused("comment", reason, hint="Leave it out.", offset=hint, text="/*+")
    if not statements:
        raise Refused("empty", "There is no statement, only comments.")
    if len(statements) > 1:
        at = offsets.characters(statements[1].get("stmt_location", 0))
        at += len(sql[at:]) - len(sql[at:].lstrip())
        raise Refused("several_statements", "There is more than one statement.", hint="Send one at a time.", offset=at)
    [(kind, body)] = statements[0]["stmt"].items()
    walk = Walk(knowledge.functions, limits, offsets)
    return _judge_root(kind, body, walk, _start(sql))


def _judge_root(kind: str, body: Body, walk: Walk, start: int) -> Verdict:
    if kind == "VariableShowStmt":
        return _judge_show(body)
    if kind == "ExplainStmt":
        _require_harmless_options(body)
        [(inner, query)] = body["query"].items()
        if inner != "SelectStmt":
            raise _no_reading(inner, start, "explain")
        return _judge_query(query, walk, "explain")
    if kind != "SelectStmt":
        raise _no_reading(kind, start, _words(kind).lower())
    return _judge_query(body, walk, "values" if "valuesLists" in body else "select")


def _judge_query(body: Body, walk: Walk, kind: str) -> Verdict:
    try:
        walk.read("SelectStmt", body, 0)
    except Refused as refused:
        refused.kind = kind
        raise
    return Verdict(
        True,
        kind=kind,
        tables=_in_order(walk.tables),
        functions=_in_order(walk.functions),
        limited="isnull" not in body.get("limitCount", {"A_Const": {"isnull": True}}).get("A_Const", {}),
    )


def _in_order(names: dict[str, int]) -> tuple[str, ...]:
    """Names by their first places."""
    return tuple(sorted(names, key=names.__getitem__))


def _judge_show(body: Body) -> Verdict:
    name = body.get("name", "").lower()
    if name not in SETTINGS:
        hint = "Settings that hold no secret can be shown, such as server_version, timezone or search_path."
        raise Refused("statement", f"The setting {name} may not be shown.", hint=hint, kind="show")
    return Verdict(True, kind="show")


def _require_harmless_options(body: Body) -> None:
    for option in body.get("options", ()):
        name, value = option["DefElem"].get("defname", "").lower(), _value(option["DefElem"].get("arg", {}))
        if name == "analyze" and value not in _OFF:
            hint = "EXPLAIN without ANALYZE plans the statement and does not run it."
            raise Refused("clause", "EXPLAIN ANALYZE runs the statement.", hint=hint, kind="explain")
        if name not in EXPLAIN_OPTIONS | {"analyze"}:
            raise Refused("clause", f"The option {name} of EXPLAIN is not allowed.", kind="explain")


def _value(argument: dict[str, Any]) -> str:
    """An option's value as a word; `true` where it has none."""
    for body in argument.values():
        return str(next(iter(body.values()), "0" if "Integer" in argument else "false")).lower()
    return "true"


def _no_reading(kind: str, start: int, shown: str) -> Refused:
    hint = "Write a SELECT."
    if is_writing(kind):
        return Refused("writes", f"{_words(kind)} changes the database.", hint=hint, offset=start, kind=shown)
    if kind == "LockStmt":
        return Refused("locks", "LOCK keeps others out.", hint=hint, offset=start, kind=shown)
    return Refused("statement", f"{_words(kind)} is no statement that reads.", hint=hint, offset=start, kind=shown)


def _words(kind: str) -> str:
    """A kind of statement as its keywords: `AlterTableStmt` is ALTER TABLE."""
    return "".join(f" {letter}" if letter.isupper() else letter for letter in kind.removesuffix("Stmt")).strip().upper()


def _start(sql: str) -> int:
    """Blanks before the statement."""
    return len(sql) - len(sql.lstrip())
