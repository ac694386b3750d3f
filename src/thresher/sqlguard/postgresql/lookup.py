"""Looks up the names of one statement in the shipped list and in what is known about the database.

Invariant: a name that runs code and is on no list is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.sqlguard.postgresql.grammar import Body, Offsets, text_of
from thresher.sqlguard.postgresql.names import CATALOG, INTERNAL, JSON_WORDS, SETTINGS, WORDS, shipped
from thresher.sqlguard.records import Functions, Rule
from thresher.sqlguard.verdicts import Refusal

ASKED: Final = frozenset({"current_setting"})
"""Functions that may be called with certain arguments only."""


class Lookup:
    """The lists, for one statement.

    Every method raises `Refusal` if the name is not allowed; `at` is its place in bytes.

    Args:
        functions: Functions of the database; None if nothing is known about it.
        offsets: Places of the text.
    """

    def __init__(self, functions: Functions | None, offsets: Offsets) -> None:
        self._list = shipped()
        self._is_known = functions is not None
        self._functions = functions or self._list.functions
        self._offsets = offsets

    def require_function(self, parts: Sequence[str], at: int) -> None:
        """Require that a function may be called by name."""
        known, name, written = self._functions, parts[-1], ".".join(parts)
        if len(parts) == 1:
            if name in known.shadowed:
                hint = f"Write pg_catalog.{name}." if name in known.allowed else ""
                reason = f"{name} is also a user-defined function."
                raise self._refused("shadowed_function", reason, at, hint=hint)
            if name in known.allowed or any(own.endswith(f".{name}") for own in known.own):
                return
        elif parts[0] == CATALOG and len(parts) == 2:
            if name in known.allowed:
                return
        elif written in known.own or (written in known.allowed and "." in written):
            return
        raise self._refused("function", self._why(written, name), at, hint=self._function_hint(parts))

    def _why(self, written: str, name: str) -> str:
        reason = self._list.refused.get(name, "")
        return f"{written} {reason}." if reason else f"{written} is not on the list of functions that only read."

    def _function_hint(self, parts: Sequence[str]) -> str:
        if parts[-1] in self._list.refused or parts[0] == CATALOG:
            return "Ask without it."
        return "Omit it, or ask the owner of the connection to allow a function that only reads, by name."

    def require_setting(self, body: Body, at: int) -> None:
        """Require that `current_setting` names a harmless setting as a literal."""
        arguments: list[Body] = body.get("args") or [{}]
        if text_of(arguments[0]).lower() not in SETTINGS:
            raise self._refused("function", "current_setting is only allowed for settings without secrets.", at)

    def require_field(self, name: str, at: int) -> None:
        """Require that a field of any value is not a forbidden function."""
        if name in self._functions.fields:
            raise self._called_as_field(name, at)
        self.require_row_field(name, at)

    def require_row_field(self, name: str, at: int) -> None:
        """Require that a field of a table's row, or what may be one, is not a function."""
        reason = self._list.refused.get(name, "")
        if name in self._functions.row_fields or name in ASKED or (reason and reason != INTERNAL):
            raise self._called_as_field(name, at)

    def _called_as_field(self, name: str, at: int) -> Refusal:
        hint = "If it is a column, write it without the name of its table."
        return self._refused("function", f"{name} is a function and could be called as a field.", at, hint=hint)

    def require_operator(self, parts: Sequence[str], at: int) -> None:
        """Require that an operator is PostgreSQL's own or of a reviewed extension."""
        if not parts:
            return
        name, schema = parts[-1], ".".join(parts[:-1])
        is_own = name in self._list.operators
        if schema not in ("", CATALOG) or (schema and not is_own):
            raise self._refused("operator", f"The operator {schema}.{name} is not built in.", at)
        if not schema and (name in self._functions.operators or not (is_own or self._is_known)):
            reason = f"The operator {name} calls a user-defined function."
            hint = f"Write OPERATOR(pg_catalog.{name}) for PostgreSQL's own." if is_own else ""
            raise self._refused("operator", reason, at, hint=hint)

    def require_word(self, kind: str, body: Body, at: int) -> None:
        """Require a part of the syntax that older servers read as a call."""
        name = WORDS[kind] or JSON_WORDS.get(body.get("op", ""), "")
        if name in self._functions.shadowed:
            reason = f"{name} is also a user-defined function."
            raise self._refused("shadowed_function", reason, at)

    def require_own(self, at: int, *names: str) -> None:
        """Require operators that a part of the syntax calls by their unqualified names."""
        for name in names:
            self.require_operator([name], at)

    def require_type(self, parts: Sequence[str], at: int) -> None:
        """Require that a type may be cast to."""
        own = self._list.types
        name = parts[-1] if parts[:-1] in ([], [CATALOG]) else ".".join(parts)
        if not parts or name in own or name in self._functions.types:
            return
        if name.removeprefix("_") in self._functions.types:
            return
        hint = "Compare with the plain text instead; PostgreSQL converts it."
        raise self._refused("type", f"{name} is not a type that only holds values.", at, hint=hint)

    def _refused(self, rule: Rule, reason: str, at: int, *, hint: str = "") -> Refusal:
        return Refusal(rule, reason, hint=hint, offset=self._offsets.characters(at))
