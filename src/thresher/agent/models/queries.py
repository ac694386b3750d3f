"""The SQL of registered models.

Invariant: a model is written under its owner, so that no user's replaces the tenant's, or another user's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from thresher.core import Caller
from thresher.store import Database, Send, prepared

_COLUMNS: Final = "id, owner, name, url, model, key, enabled, created_at"
_MINE: Final = "tenant_id = %(tenant)s and owner is not distinct from %(user)s::text and name = %(name)s"

_SEEN: Final = f"""
    select {_COLUMNS} from chat_model
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text)
    order by owner nulls last, created_at, id"""  # noqa: S608 - names of columns, which stand above

# If it is sent twice over a lost connection, it is written once.
_ADD: Final = f"""
    insert into chat_model as m (tenant_id, owner, name, url, model, key)
    values (%(tenant)s, %(user)s, %(name)s, %(url)s, %(model)s, %(key)s)
    on conflict (tenant_id, owner, name) do update
    set url = excluded.url, model = excluded.model, key = excluded.key, enabled = true
    where %(replace)s or (m.url, m.model, m.key) is not distinct from (excluded.url, excluded.model, excluded.key)
    returning {_COLUMNS}"""  # noqa: S608 - as above
_ENABLE: Final = f"update chat_model set enabled = %(enabled)s where {_MINE} returning {_COLUMNS}"  # noqa: S608 - as above
_REMOVE: Final = f"delete from chat_model where {_MINE} returning id"  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A stored model.

    Attributes:
        id: Its row.
        owner: The user who owns it; None for the tenant.
        name: Its name in Thresher.
        url: The service's address.
        model: The service's name for it.
        key: Sealed; None without a key.
        enabled: Whether conversations may use it.
        created_at: When it was registered.
    """

    id: int
    owner: str | None
    name: str
    url: str
    model: str
    key: bytes | None = field(repr=False)
    enabled: bool
    created_at: dt.datetime


async def seen(database: Database, caller: Caller) -> dict[str, ModelRow]:
    """Return the models that the caller sees, by name: the user's own first, each group by age.

    A user's model hides a model of the tenant with the same name.
    """
    return seen_of(await database.once(caller.tenant, seen_statement(caller)))


def seen_statement(caller: Caller) -> Send:
    """Return the statement that reads them."""
    return prepared(_SEEN, tenant=caller.tenant.id, user=caller.user)


def seen_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, ModelRow]:
    """Return the models in that statement's rows, by name."""
    found: dict[str, ModelRow] = {}
    for row in map(_row, rows):
        found.setdefault(row.name, row)
    return found


async def add(
    database: Database, caller: Caller, name: str, url: str, model: str, key: bytes | None, *, replace: bool
) -> ModelRow | None:
    """Register a model of the caller's user (or the tenant without one); None if the name is taken."""
    values = {"name": name, "url": url, "model": model, "key": key, "replace": replace}
    return _one(await _rows(database, caller, _ADD, **values))


async def enable(database: Database, caller: Caller, name: str, *, enabled: bool) -> ModelRow | None:
    """Enable or disable the caller's own model of a name; None if there is none."""
    return _one(await _rows(database, caller, _ENABLE, name=name, enabled=enabled))


async def remove(database: Database, caller: Caller, name: str) -> None:
    """Delete the caller's own model of a name."""
    await database.once(caller.tenant, prepared(_REMOVE, tenant=caller.tenant.id, user=caller.user, name=name))


async def _rows(database: Database, caller: Caller, statement: str, **values: object) -> list[ModelRow]:
    send = prepared(statement, tenant=caller.tenant.id, user=caller.user, **values)
    return [_row(row) for row in await database.once(caller.tenant, send)]


def _row(row: tuple[Any, ...]) -> ModelRow:
    number, owner, name, url, model, key, enabled, created_at = row
    return ModelRow(number, owner, name, url, model, None if key is None else bytes(key), enabled, created_at)


def _one(rows: list[ModelRow]) -> ModelRow | None:
    return rows[0] if rows else None
