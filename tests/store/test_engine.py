"""The door to the database: transactions, tenants, retries."""

from __future__ import annotations

import numpy as np

from thresher.core import Tenant
from thresher.store import Database, driver


async def test_what_one_tenant_writes_it_reads_back(database: Database, tenant: Tenant) -> None:
    """A committed row is there in the next transaction."""
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql(
            "insert into server (tenant_id, name, config) values (%s, 'git', '{}')", (tenant.id,)
        )

    async with database.transaction(tenant) as connection:
        names = (await connection.exec_driver_sql("select name from server")).scalars().all()

    assert names == ["git"]


async def test_the_embedding_cache_gives_vectors_by_hash(database: Database, tenant: Tenant) -> None:
    """What was remembered under a hash comes back under it, for that model alone."""
    vectors = [np.arange(3, dtype=np.float32), np.ones(3, dtype=np.float32)]
    async with database.transaction(tenant) as connection:
        raw = await driver(connection)
        await raw.execute("select remember_embeddings(%s, %s, %s)", ("m", [b"a", b"b"], vectors))

    async with database.transaction(tenant) as connection:
        raw = await driver(connection)
        found = await (
            await raw.execute("select * from cached_embeddings(%s, %s)", ("m", [b"b", b"x"]), binary=True)
        ).fetchall()
        other = await (await raw.execute("select * from cached_embeddings(%s, %s)", ("n", [b"b"]))).fetchall()

    assert [(bytes(hash_), vector.to_list()) for hash_, vector in found] == [(b"b", [1.0, 1.0, 1.0])]
    assert other == []
