"""The SQL of the search index, as named constants with bound parameters, and how a statement is run.

Arrays and vectors are read as numpy arrays, without a Python object for each number.

Invariant: no statement names a tenant in a WHERE clause. Row-level security lets a statement reach only the rows of the
transaction's tenant, so a forgotten condition cannot leak. The array loaders are registered on single cursors; the
connection's own types stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import numpy as np
from psycopg import AsyncConnection as DriverConnection
from psycopg import AsyncCursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.search.records import Floats, Ids
from thresher.store import Database, driver

READ = """
WITH found AS (
  SELECT term, documents, least(documents, %(most)s) AS read
  FROM term_stat WHERE kind = %(kind)s AND term = ANY (%(terms)s::text[])
), wanted AS (
  SELECT term, documents, sum(read) OVER (ORDER BY documents, term) - read < %(budget)s AS taken FROM found
)
SELECT c.model, c.version, c.items, c.total_length, w.term, w.documents, w.taken, p.ids, p.frequencies, p.lengths,
       c.languages
FROM collection c LEFT JOIN wanted w ON true LEFT JOIN LATERAL (
  SELECT coalesce(array_agg(p.id ORDER BY p.id), '{}') AS ids,
         coalesce(array_agg(p.frequency ORDER BY p.id), '{}') AS frequencies,
         coalesce(array_agg(p.length ORDER BY p.id), '{}') AS lengths
  FROM posting p
  WHERE w.taken AND p.kind = %(kind)s AND p.term = w.term AND (p.owner IS NULL OR p.owner = %(user)s::text)
    AND p.id BETWEEN %(low)s AND %(high)s
) p ON true
WHERE c.kind = %(kind)s
"""
"""The collection's state and the postings of some terms, as one consistent statement. Terms are read rarest first
until their postings reach the budget; the rarest is always read, and for the others only the count is returned. Ids
from `low` to `high` are read, at most `most` of them."""

NEAR_TERMS = """
(
  SELECT term FROM term_stat WHERE kind = %(kind)s AND term = ANY (%(slips)s::text[])
  ORDER BY documents DESC, term LIMIT %(limit)s
)
UNION
(
  SELECT term FROM term_stat WHERE kind = %(kind)s AND term > %(above)s::text AND term < %(below)s::text
  ORDER BY documents DESC, term LIMIT %(limit)s
)
"""
"""Terms from a list, and terms that begin with a prefix; the commonest of each."""

DENSE = """
WITH living AS MATERIALIZED (
  SELECT id FROM item
  WHERE kind = %(kind)s AND (owner IS NULL OR owner = %(user)s::text)
    AND (%(facets)s::text[] IS NULL OR facets && %(facets)s::text[])
), query AS MATERIALIZED (
  SELECT q.vector, q.number FROM unnest(%(vectors)b::vector[]) WITH ORDINALITY AS q (vector, number)
)
SELECT array_agg(s.id ORDER BY s.id) AS ids, array_agg(s.score ORDER BY s.id) AS scores
FROM query q CROSS JOIN LATERAL (
  SELECT l.id, coalesce(max(-(v.vector <#> q.vector)), 'NaN')::real AS score
  FROM living l LEFT JOIN item_vector v ON v.kind = %(kind)s AND v.id = l.id AND v.model = %(model)s
  GROUP BY l.id
) s
GROUP BY q.number ORDER BY q.number
"""
"""Exact scores of every item that the caller may see, one row per query vector; NaN without vectors."""

LIVING = """
SELECT coalesce(array_agg(id ORDER BY id), '{}') AS ids FROM item
WHERE kind = %(kind)s AND (owner IS NULL OR owner = %(user)s::text)
  AND (%(facets)s::text[] IS NULL OR facets && %(facets)s::text[])
"""
"""Ids of every item that the caller may see."""

TRAITS = "SELECT id, facets, slots FROM item WHERE kind = %(kind)s AND id = ANY (%(ids)s::bigint[])"

HEAD = "SELECT model, version, items FROM collection WHERE kind = %(kind)s"

CHANGED = """
SELECT id, owner, facets, slots FROM item WHERE kind = %(kind)s AND version > %(since)s ORDER BY id
"""

ALL_IDS = "SELECT coalesce(array_agg(id ORDER BY id), '{}') AS ids FROM item WHERE kind = %(kind)s"

VECTORS = """
SELECT coalesce(array_agg(id ORDER BY id, part), '{}') AS ids, min(vector_dims(vector)) AS dimension,
       coalesce(string_agg(vector_send(vector), ''::bytea ORDER BY id, part), ''::bytea) AS packed
FROM item_vector WHERE kind = %(kind)s AND model = %(model)s AND id = ANY (%(ids)s::bigint[])
"""

VECTOR_BYTES = """
SELECT coalesce(sum(vector_dims(vector)), 0) * 4 AS size FROM item_vector WHERE kind = %(kind)s AND model = %(model)s
"""

STATE = """
SELECT i.id, i.hash,
  (SELECT count(*) FROM item_vector v WHERE v.kind = i.kind AND v.id = i.id AND v.model = %(model)s) AS vectors
FROM item i WHERE i.kind = %(kind)s AND i.id = ANY (%(ids)s::bigint[])
"""

CACHED = "SELECT hash FROM cached_embeddings(%(model)s, %(hashes)s::bytea[])"

CACHED_VECTORS = """
SELECT coalesce(string_agg(hash, ''::bytea ORDER BY hash), ''::bytea) AS hashes,
       coalesce(string_agg(vector_send(vector), ''::bytea ORDER BY hash), ''::bytea) AS packed
FROM cached_embeddings(%(model)s, %(hashes)s::bytea[])
"""

REMEMBER = "SELECT remember_embeddings(%(model)s, %(hashes)s::bytea[], %(vectors)b::vector[])"

BEGIN_WRITE = """
INSERT INTO collection (tenant_id, kind, model, version)
VALUES (current_setting('app.tenant')::int, %(kind)s, %(model)s, 1)
ON CONFLICT (tenant_id, kind) DO UPDATE SET version = collection.version + 1
RETURNING model, version
"""
"""Raises the version and locks the collection's row until the end of the transaction, so that writers of one
tenant and kind run one after another and the statistics stay exact. Readers do not wait."""

OLD_TERMS = """
SELECT id, terms, length FROM item WHERE kind = %(kind)s AND id = ANY (%(ids)s::bigint[])
"""

DELETE_POSTINGS = """
DELETE FROM posting
WHERE kind = %(kind)s AND term = ANY (%(terms)s::text[]) AND id = ANY (%(ids)s::bigint[])
"""
"""All postings of some items; `terms` are all that these items have. It is planned for its values, never prepared: the
plan for any values, made while the table is small, compares every posting with every value (1,000 tools written twice
within a minute: 11 to 36 s)."""

DELETE_ITEMS = "DELETE FROM item WHERE kind = %(kind)s AND id = ANY (%(ids)s::bigint[])"

DELETE_VECTORS = "DELETE FROM item_vector WHERE kind = %(kind)s AND id = ANY (%(ids)s::bigint[])"

UPSERT_ITEMS = """
INSERT INTO item (tenant_id, kind, id, owner, facets, hash, terms, length, slots, version)
SELECT current_setting('app.tenant')::int, %(kind)s, u.id, u.owner, string_to_array(u.facets, chr(31)), u.hash,
       string_to_array(u.terms, ' '), u.length, u.slots, %(version)s
FROM unnest(%(ids)s::bigint[], %(owners)s::text[], %(facets)s::text[], %(hashes)s::bytea[], %(terms)s::text[],
            %(lengths)s::real[], %(slots)s::text[]) AS u (id, owner, facets, hash, terms, length, slots)
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET owner = excluded.owner, facets = excluded.facets,
  hash = excluded.hash, terms = excluded.terms, length = excluded.length, slots = excluded.slots,
  version = excluded.version
"""
"""Facets and terms are passed as one text per item (unit separator, space), since rows of an array must be
equally long."""

INSERT_POSTINGS = """
INSERT INTO posting (tenant_id, kind, term, id, owner, frequency, length)
SELECT current_setting('app.tenant')::int, %(kind)s, t.term, u.id, u.owner, t.frequency, u.length
FROM unnest(%(ids)s::bigint[], %(owners)s::text[], %(terms)s::text[], %(frequencies)s::text[], %(lengths)s::real[])
       AS u (id, owner, terms, frequencies, length),
     unnest(string_to_array(u.terms, ' '), string_to_array(u.frequencies, ' ')::real[]) AS t (term, frequency)
"""

ADD_STATISTICS = """
INSERT INTO term_stat (tenant_id, kind, term, documents)
SELECT current_setting('app.tenant')::int, %(kind)s, u.term, u.change
FROM unnest(%(terms)s::text[], %(changes)s::int[]) AS u (term, change)
ON CONFLICT (tenant_id, kind, term) DO UPDATE SET documents = term_stat.documents + excluded.documents
"""

DROP_STATISTICS = """
DELETE FROM term_stat WHERE kind = %(kind)s AND term = ANY (%(terms)s::text[]) AND documents <= 0
"""

ADD_TOTALS = """
UPDATE collection SET items = items + %(items)s, total_length = total_length + %(length)s WHERE kind = %(kind)s
"""

ADD_LANGUAGES = """
UPDATE collection SET languages = ARRAY(
  SELECT DISTINCT one FROM unnest(languages || %(languages)s::text[]) AS one ORDER BY one)
WHERE kind = %(kind)s AND NOT languages @> %(languages)s::text[]
"""

INSERT_VECTORS = """
INSERT INTO item_vector (tenant_id, kind, model, id, part, hash, vector)
SELECT current_setting('app.tenant')::int, %(kind)s, %(model)s, u.id, u.part, u.hash, c.vector
FROM unnest(%(ids)s::bigint[], %(parts)s::smallint[], %(hashes)s::bytea[]) AS u (id, part, hash)
JOIN cached_embeddings(%(model)s, %(distinct)s::bytea[]) AS c ON c.hash = u.hash
JOIN item i ON i.kind = %(kind)s AND i.id = u.id
ON CONFLICT (tenant_id, kind, id, model, part) DO UPDATE SET hash = excluded.hash, vector = excluded.vector
"""
"""Copies vectors from the content-addressed cache, so that they never travel back to the client; an item that
was deleted meanwhile gets none."""

RAISE_VERSIONS = "UPDATE item SET version = %(version)s WHERE kind = %(kind)s AND id = ANY (%(ids)s::bigint[])"

PENDING = """
SELECT i.id FROM item i
WHERE i.kind = %(kind)s AND i.id > %(after)s AND (%(facets)s::text[] IS NULL OR i.facets && %(facets)s::text[])
  AND NOT EXISTS (
    SELECT 1 FROM item_vector v WHERE v.kind = i.kind AND v.id = i.id AND v.model = %(model)s OFFSET 0
  )
ORDER BY i.id LIMIT %(limit)s
"""
"""`OFFSET 0` keeps the condition from becoming a join: without statistics, items would be compared with all vectors."""

COUNT_PENDING = """
SELECT count(*) FROM item i
WHERE i.kind = %(kind)s AND (%(facets)s::text[] IS NULL OR i.facets && %(facets)s::text[])
  AND NOT EXISTS (
    SELECT 1 FROM item_vector v WHERE v.kind = i.kind AND v.id = i.id AND v.model = %(model)s OFFSET 0
  )
"""

COUNT_EMBEDDED = """
SELECT count(*) FROM item i
WHERE i.kind = %(kind)s AND (%(facets)s::text[] IS NULL OR i.facets && %(facets)s::text[])
  AND EXISTS (
    SELECT 1 FROM item_vector v WHERE v.kind = i.kind AND v.id = i.id AND v.model = %(model)s OFFSET 0
  )
"""

COMPLETE = """
SELECT count(DISTINCT v.id) FROM item_vector v
WHERE v.kind = %(kind)s AND v.id = ANY (%(ids)s::bigint[]) AND v.model = %(model)s
"""
"""A vector never exists without its item."""

FLIP = """
UPDATE collection SET model = %(model)s WHERE kind = %(kind)s AND model <> %(model)s AND NOT EXISTS (
  SELECT 1 FROM item i WHERE i.kind = %(kind)s AND NOT EXISTS (
    SELECT 1 FROM item_vector v WHERE v.kind = i.kind AND v.id = i.id AND v.model = %(model)s OFFSET 0
  )
) RETURNING model
"""
"""Puts the new model to use once every item has a vector of it."""

DELETE_OTHER_MODELS = "DELETE FROM item_vector WHERE kind = %(kind)s AND model <> %(model)s"


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


async def run(
    connection: AsyncConnection, statement: str, parameters: Mapping[str, object], *, prepare: bool = True
) -> list[Row]:
    """Run one statement inside the connection's transaction and return its rows.

    int8[] and float4[] columns are returned as numpy arrays; they must not contain nulls. A list of numpy rows may
    be bound
    to a vector[] as `%(name)b`.

    Args:
        connection: A connection of `Database.transaction`.
        statement: A constant of this module.
        parameters: Its bound values.
        prepare: Whether its plan is kept for other values.
    """
    async with await send(await driver(connection), statement, parameters, prepare=prepare) as cursor:
        return await cursor.fetchall() if cursor.description else []


async def run_once(database: Database, tenant: Tenant, statement: str, parameters: Mapping[str, object]) -> list[Row]:
    """Run one statement as a transaction of its own, in one round trip."""
    return await database.once(tenant, lambda connection: send(connection, statement, parameters))


async def send(
    connection: DriverConnection[Any], statement: str, parameters: Mapping[str, object], *, prepare: bool = True
) -> AsyncCursor[Row]:
    """Execute one statement; the caller fetches the rows."""
    cursor = cast("AsyncCursor[Row]", connection.cursor(binary=True))
    cursor.adapters.register_loader(_INT8_ARRAY, _Int8Array)
    cursor.adapters.register_loader(_FLOAT4_ARRAY, _Float4Array)
    await cursor.execute(statement, parameters, prepare=prepare)  # pyright: ignore[reportArgumentType, reportCallIssue] - a constant, not a literal
    return cursor


def vectors_of(packed: bytes, dimension: int) -> Floats:
    """Decode concatenated `vector_send` values: int16 dimension, int16 unused, then float32, big-endian.

    Returns:
        float32 (n, dimension).
    """
    layout = np.dtype([("dimension", ">i2"), ("unused", ">i2"), ("values", ">f4", (dimension,))])
    return np.frombuffer(packed, dtype=layout)["values"].astype(np.float32)
