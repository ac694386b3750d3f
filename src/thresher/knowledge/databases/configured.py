"""Connections that a file names: read at the start, there while the file names them.

    {"databases": {"shop": {"url": "postgresql://reader:${SHOP_PASSWORD}@db.example.org/shop",
                            "description": "Orders and invoices", "samples": false,
                            "allow_functions": ["shop.net_price"]}}}

The same may be written in YAML, and a connection as its URL alone.

Invariant: a password stands in the environment or in this file, and from there goes sealed into the database; a
connection that cannot be used is told of and stops no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

import yaml

from thresher.core import Caller, InvalidInput, ThresherError
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.refreshing import Refresher

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_KEYS: Final = frozenset({"url", "description", "samples", "allow_functions"})
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Configured:
    """A connection as a file names it.

    Attributes:
        name: What tools take as `connection`.
        url: With its variables filled in.
        samples: Whether potential relations may look at values.
        description: What it holds.
        allow_functions: Functions of that database's users that may be called.
    """

    name: str
    url: str = field(repr=False)
    samples: bool = True
    description: str = ""
    allow_functions: tuple[str, ...] = ()


def read_configured(path: Path, variables: Mapping[str, str]) -> tuple[list[Configured], dict[str, str]]:
    """Read a file of connections.

    Args:
        path: JSON or YAML.
        variables: For `${NAME}` and `${NAME:-default}` in URLs; values are quoted as URLs ask for it.

    Returns:
        The good ones, and of the others name to reason.

    Raises:
        InvalidInput: It cannot be read, or is no such file.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidInput(f"{path} is too large to be a list of connections.", hint="Correct the path.")
        document = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {type(error).__name__}.", hint="Correct the path.") from None
    except yaml.YAMLError as error:
        # The text of the error quotes the file, and so perhaps a password.
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}"
        raise InvalidInput(f"{path} is neither JSON nor YAML{where}.", hint="Correct the file.") from None
    section = cast("dict[Any, Any]", document).get("databases") if isinstance(document, dict) else None
    if not isinstance(section, dict):
        raise InvalidInput(f"{path} has no section 'databases'.", hint='Write {"databases": {"name": {"url": "..."}}}.')
    return configured_of(cast("dict[Any, Any]", section), variables)


def configured_of(section: Mapping[Any, Any], variables: Mapping[str, str]) -> tuple[list[Configured], dict[str, str]]:
    """The connections of a section, and of those that are wrong name to reason."""
    good: list[Configured] = []
    wrong: dict[str, str] = {}
    for name, entry in section.items():
        try:
            good.append(_one(str(name), entry, variables))
        except InvalidInput as error:
            wrong[str(name)] = str(error)
    return good, wrong


def _one(name: str, entry: Any, variables: Mapping[str, str]) -> Configured:
    said = cast("dict[str, Any]", {"url": entry} if isinstance(entry, str) else entry)
    if not isinstance(entry, str | dict) or not isinstance(said.get("url"), str):
        raise InvalidInput(f"The connection '{name}' has no url.", hint="Write a SQLAlchemy URL under 'url'.")
    if unknown := sorted(set(said) - _KEYS):
        hint = f"There are: {', '.join(sorted(_KEYS))}."
        raise InvalidInput(f"The connection '{name}' has an unknown key '{unknown[0]}'.", hint=hint)
    functions = said.get("allow_functions", [])
    if not isinstance(functions, list) or not isinstance(said.get("samples", True), bool):
        raise InvalidInput(
            f"The connection '{name}' is written wrongly.", hint="'samples' is true or false, 'allow_functions' a list."
        )
    named = tuple(str(one) for one in cast("list[Any]", functions))
    url = _filled(name, said["url"], variables)
    return Configured(name, url, said.get("samples", True), str(said.get("description", "")), named)


def _filled(name: str, url: str, variables: Mapping[str, str]) -> str:
    """The URL with its variables; a whole URL from a variable stays as it is, parts of one are quoted."""

    def value(match: re.Match[str]) -> str:
        found = variables.get(match[1]) or match[2]
        if found is None:
            raise InvalidInput(
                f"The connection '{name}' needs the variable {match[1]}, which is not set.", hint="Set it and restart."
            )
        return found if match.span() == (0, len(url)) else quote(found, safe="")

    return _VARIABLE.sub(value, url.strip())


async def settle(
    connections: Connections, refresher: Refresher, caller: Caller, wanted: Sequence[Configured]
) -> dict[str, str]:
    """Have exactly these connections come from the configuration; of those that cannot be used name to reason."""
    failed: dict[str, str] = {}
    for one in wanted:
        try:
            held = await connections.add(
                caller,
                one.name,
                one.url,
                samples=one.samples,
                description=one.description,
                allow_functions=one.allow_functions,
                replace=True,
                configured=True,
            )
        except ThresherError as error:
            failed[one.name] = str(error)
        else:
            if held.connection.state == "new":
                refresher.begin(caller.tenant, held)
    for gone in await connections.configured(caller.tenant):
        if gone.connection.name not in {one.name for one in wanted}:
            await connections.remove(caller.tenant, gone)
    return failed
