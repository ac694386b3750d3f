"""Reads PostgreSQL arrays and vectors as numpy arrays, without a Python object for each number.

Invariant: the loaders are registered on single cursors only; the connection's own types stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection as DriverConnection
from psycopg import AsyncCursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.store import Database, driver

Ids: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Row: TypeAlias = tuple[Any, ...]

_INT8_ARRAY, _FLOAT4_ARRAY = 1016, 1021
_HEADER = 20
"""Bytes before the first element of a one-dimensional array in PostgreSQL's binary format: dimensions, null flag,
element type, length, lower bound, four bytes each (array_send in src/backend/utils/adt/arrayfuncs.c)."""
_INT8 = np.dtype([("size", ">i4"), ("value", ">i8")])
_FLOAT4 = np.dtype([("size", ">i4"), ("value", ">f4")])


class _Int8Array(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> Ids:
        return np.frombuffer(data, dtype=_INT8, offset=min(_HEADER, len(data)))["value"].astype(np.int64)


class _Float4Array(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> Floats:
        return np.frombuffer(data, dtype=_FLOAT4, offset=min(_HEADER, len(data)))["value"].astype(np.float32)


async def run(connection: AsyncConnection, statement: str, parameters: Mapping[str, object]) -> list[Row]:
    """Run one statement inside the connection's transaction and return its rows.

    int8[] and float4[] columns arrive as numpy arrays; they must not hold nulls. A list of numpy rows may be bound to a
    vector[] as `%(name)b`.

    Args:
        connection: One that `Database.transaction` gave.
        statement: A constant of `queries`.
        parameters: Its bound values.
    """
    async with await send(await driver(connection), statement, parameters) as cursor:
        return await cursor.fetchall() if cursor.description else []


async def run_once(database: Database, tenant: Tenant, statement: str, parameters: Mapping[str, object]) -> list[Row]:
    """The same as a transaction of its own, in one round trip."""
    return await database.once(tenant, lambda connection: send(connection, statement, parameters))


async def send(connection: DriverConnection[Any], statement: str, parameters: Mapping[str, object]) -> AsyncCursor[Row]:
    """Execute one statement; the rows are the caller's to fetch."""
    cursor = cast("AsyncCursor[Row]", connection.cursor(binary=True))
    cursor.adapters.register_loader(_INT8_ARRAY, _Int8Array)
    cursor.adapters.register_loader(_FLOAT4_ARRAY, _Float4Array)
    await cursor.execute(statement, parameters, prepare=True)  # pyright: ignore[reportArgumentType, reportCallIssue] - a constant, not a literal
    return cursor


def vectors_of(packed: bytes, dimension: int) -> Floats:
    """Decode concatenated `vector_send` values: int16 dimension, int16 unused, then float32, big-endian.

    Returns:
        float32 (n, dimension).
    """
    layout = np.dtype([("dimension", ">i2"), ("unused", ">i2"), ("values", ">f4", (dimension,))])
    return np.frombuffer(packed, dtype=layout)["values"].astype(np.float32)
