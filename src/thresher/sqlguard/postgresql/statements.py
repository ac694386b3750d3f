"""The allowed statements: SELECT, VALUES and TABLE, EXPLAIN of these without ANALYZE, SHOW of harmless settings.

Invariant: a single statement of an allowed kind, with everything in it walked.
"""

from __future__ import annotations

from typing import Any, Final

from thresher.sqlguard.postgresql.grammar import Body, Offsets, hint_of, parse
from thresher.sqlguard.postgresql.names import SETTINGS
from thresher.sqlguard.postgresql.nodes import is_writing
from thresher.sqlguard.postgresql.walk import SyntaxWalk
from thresher.sqlguard.records import Dialect, Knowledge, StatementLimits, Verdict
from thresher.sqlguard.verdicts import Refusal

EXPLAIN_OPTIONS: Final = frozenset({"verbose", "costs", "settings", "memory", "summary", "format", "buffers"})
"""Options of EXPLAIN that only change its output."""
_OFF: Final = frozenset({"false", "off", "0"})
_ENDING: Final = ("COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT")


def read(sql: str, _dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Return the verdict for a PostgreSQL statement.

    Args:
        sql: Text without NUL and lone surrogates.
        _dialect: PostgreSQL, the only dialect read here.
        knowledge: The functions of the database, if its catalog was read. Option `standard_conforming_strings` is `off`
            if the session reads a backslash as an escape, which the grammar does not.
        limits: Bounds on depth and sizes.

    Raises:
        Refusal: The statement must not run.
    """
    if "\\" in sql and knowledge.options.get("standard_conforming_strings", "on") == "off":
        raise Refusal("syntax", "This session reads backslashes differently.", offset=sql.index("\\"))
    offsets = Offsets(sql)
    statements = parse(sql)
    hint = hint_of(sql)
    if hint is not None:
        reason = "A comment that begins with + can change settings during planning."
        raise Refusal("comment", reason, hint="Leave it out.", offset=hint, text="/*+")
    if not statements:
        raise Refusal("empty", "There is no statement, only comments.")
    if len(statements) > 1:
        at = offsets.characters(statements[1].get("stmt_location", 0))
        at += len(sql[at:]) - len(sql[at:].lstrip())
        raise Refusal("several_statements", "There is more than one statement.", hint="Send one at a time.", offset=at)
    [(kind, body)] = statements[0]["stmt"].items()
    walk = SyntaxWalk(knowledge.functions, limits, offsets)
    return _judge_root(kind, body, walk, _start(sql))


def _judge_root(kind: str, body: Body, walk: SyntaxWalk, start: int) -> Verdict:
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


def _judge_query(body: Body, walk: SyntaxWalk, kind: str) -> Verdict:
    try:
        walk.read("SelectStmt", body, 0)
    except Refusal as refused:
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
    """Return names in the order of their first places."""
    return tuple(sorted(names, key=names.__getitem__))


def _judge_show(body: Body) -> Verdict:
    name = body.get("name", "").lower()
    if name not in SETTINGS:
        hint = "Settings without secrets can be shown, such as server_version, timezone or search_path."
        raise Refusal("statement", f"The setting {name} must not be shown.", hint=hint, kind="show")
    return Verdict(True, kind="show")


def _require_harmless_options(body: Body) -> None:
    for option in body.get("options", ()):
        name, value = option["DefElem"].get("defname", "").lower(), _value(option["DefElem"].get("arg", {}))
        if name == "analyze" and value not in _OFF:
            hint = "EXPLAIN without ANALYZE plans the statement and does not run it."
            raise Refusal("clause", "EXPLAIN ANALYZE runs the statement.", hint=hint, kind="explain")
        if name not in EXPLAIN_OPTIONS | {"analyze"}:
            raise Refusal("clause", f"The option {name} of EXPLAIN is not allowed.", kind="explain")


def _value(argument: dict[str, Any]) -> str:
    """Return an option's value as a word; `true` if it has none."""
    for body in argument.values():
        return str(next(iter(body.values()), "0" if "Integer" in argument else "false")).lower()
    return "true"


def _no_reading(kind: str, start: int, shown: str) -> Refusal:
    hint = "Write a SELECT."
    if is_writing(kind):
        return Refusal("writes", f"{_words(kind)} changes the database.", hint=hint, offset=start, kind=shown)
    if kind == "LockStmt":
        return Refusal("locks", "LOCK keeps others out.", hint=hint, offset=start, kind=shown)
    return Refusal("statement", f"{_words(kind)} is not a statement that reads.", hint=hint, offset=start, kind=shown)


def _words(kind: str) -> str:
    """Return a kind of statement as keywords: `AlterTableStmt` is ALTER TABLE."""
    return "".join(f" {letter}" if letter.isupper() else letter for letter in kind.removesuffix("Stmt")).strip().upper()


def _start(sql: str) -> int:
    """Return the number of blanks before the statement."""
    return len(sql) - len(sql.lstrip())
