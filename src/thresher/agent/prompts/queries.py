"""The SQL of prompts: versions are added and never changed.

Invariant: one statement each. If two write the same version at once, one writes nothing.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from thresher.core import Caller
from thresher.store import Database, Send, prepared

_COLUMNS: Final = "name, version, text, author, created_at"
_IN_FORCE: Final = f"""
    select distinct on (name) {_COLUMNS} from prompt_version
    where tenant_id = %(tenant)s order by name, version desc"""  # noqa: S608 - columns are ours
_NEWEST: Final = f"""
    select {_COLUMNS} from prompt_version
    where tenant_id = %(tenant)s and name = %(name)s order by version desc limit %(limit)s"""  # noqa: S608 - as above
_ONE: Final = f"""
    select {_COLUMNS} from prompt_version
    where tenant_id = %(tenant)s and name = %(name)s and version = %(version)s"""  # noqa: S608 - as above
_ADD: Final = f"""
    insert into prompt_version (tenant_id, name, version, text, author)
    values (%(tenant)s, %(name)s, %(version)s, %(text)s, %(author)s)
    on conflict do nothing returning {_COLUMNS}"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A row. `text`: None if it restored the shipped text."""

    name: str
    version: int
    text: str | None
    author: str | None
    created_at: dt.datetime


async def in_force(database: Database, caller: Caller) -> list[PromptVersion]:
    """Return the newest version of each prompt that the caller's tenant has ever changed."""
    return [PromptVersion(*row) for row in await database.once(caller.tenant, in_force_statement(caller))]


def in_force_statement(caller: Caller) -> Send:
    """Return the statement that reads the versions in force: the fields of `PromptVersion`, a row each."""
    return prepared(_IN_FORCE, tenant=caller.tenant.id)


async def newest(database: Database, caller: Caller, name: str, limit: int) -> list[PromptVersion]:
    """Return the versions of one prompt, newest first."""
    return await _versions(database, caller, _NEWEST, name=name, limit=limit)


async def find_version(database: Database, caller: Caller, name: str, version: int) -> PromptVersion | None:
    """Return one version of a prompt."""
    found = await _versions(database, caller, _ONE, name=name, version=version)
    return found[0] if found else None


async def add_version(
    database: Database, caller: Caller, name: str, version: int, text: str | None
) -> PromptVersion | None:
    """Write a version; None if it exists already, which may be this one, sent twice over a lost connection."""
    author = "key" if caller.keyed else "local"
    added = await _versions(database, caller, _ADD, name=name, version=version, text=text, author=author)
    return added[0] if added else None


async def _versions(database: Database, caller: Caller, statement: str, **values: object) -> list[PromptVersion]:
    rows = await database.once(caller.tenant, prepared(statement, tenant=caller.tenant.id, **values))
    return [PromptVersion(*row) for row in rows]
