"""Servers whose tools take SQL: the `sql` part of a server's definition, and the statements in a call's arguments.

Invariant: pure; where nobody can tell what would run, there is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from thresher.core import JSON, InvalidInput

DIALECTS: Final = ("postgresql", "mysql", "mariadb", "sqlite", "duckdb", "oracle", "mssql")
"""The guard's, which lies beside this package; a test holds the two equal."""
USUAL_ARGUMENTS: Final = ("sql", "query")
"""What arguments with SQL are called unless a definition says so."""
_KEYS: Final = ("dialect", "argument", "tools")


@dataclass(frozen=True, slots=True)
class GuardedSql:
    """Which arguments of a server's tools are statements: the guard reads them before each call.

    Attributes:
        dialect: Of the server's database.
        arguments: Names of arguments that hold SQL, in any tool of the server, at any depth.
        tools: Tools that cannot be called without such an argument.
    """

    dialect: str
    arguments: tuple[str, ...] = USUAL_ARGUMENTS
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            raise InvalidInput(
                f"The guard reads no SQL of the dialect '{self.dialect}'.", hint=f"Use one of {', '.join(DIALECTS)}."
            )
        if not self.arguments:
            raise InvalidInput("'sql' names no argument.", hint='Write "argument": "sql", or leave it out.')

    def public(self) -> dict[str, Any]:
        """The same as in an `mcpServers` file."""
        return {"dialect": self.dialect, "argument": list(self.arguments), "tools": list(self.tools)}


def read_sql(entry: object) -> GuardedSql | None:
    """Read a definition's `sql` object; None where there is none.

    Raises:
        InvalidInput: It is no such object, or a field is wrong.
    """
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise InvalidInput("'sql' must be an object.", hint='Write "sql": {"dialect": "postgresql"}.')
    given = cast("Mapping[str, object]", entry)
    if unknown := sorted(set(given) - set(_KEYS)):
        raise InvalidInput(f"'sql' has no field '{unknown[0]}'.", hint=f"It takes {', '.join(_KEYS)}.")
    arguments = _texts(given.get("argument"), "argument")
    dialect = given.get("dialect")
    return GuardedSql(
        dialect if isinstance(dialect, str) else "",
        USUAL_ARGUMENTS if arguments is None else arguments,
        _texts(given.get("tools"), "tools") or (),
    )


def statements_in(arguments: JSON, names: Sequence[str]) -> tuple[str, ...]:
    """What stands in the arguments of these names, at any depth and whatever the case of their letters.

    Raises:
        InvalidInput: One is neither a text nor a list of texts, so nobody can read what would run.
    """
    wanted = {name.casefold() for name in names}
    found: list[str] = []
    waiting: list[object] = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            for name, item in cast("Mapping[Any, object]", value).items():
                if str(name).casefold() in wanted:
                    found.extend(_statements(str(name), item))
                else:
                    waiting.append(item)
        elif isinstance(value, list | tuple):
            waiting.extend(cast("Sequence[object]", value))
    return tuple(found)


def _statements(name: str, value: object) -> Sequence[str]:
    if value is None:
        return ()
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise InvalidInput(f"'{name}' must be SQL as a text.", hint="Give one statement as a string.")
    return texts


def _texts(value: object, field: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = [value] if isinstance(value, str) else value
    if isinstance(items, list | tuple):
        given = cast("Sequence[object]", items)
        texts = tuple(item for item in given if isinstance(item, str) and item)
        if len(texts) == len(given):
            return texts
    raise InvalidInput(f"'sql.{field}' must be a name or a list of names.", hint=f'Write "{field}": ["query"].')
