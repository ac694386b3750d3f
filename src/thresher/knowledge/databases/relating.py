"""Finds what relates in a schema that was just read: by names, types and keys, and then by values too.

Invariant: finding runs in a thread; what is sampled is bounded in columns and in time.
"""

from __future__ import annotations

import asyncio
from typing import Final

from thresher.connectors import Connector, Schema
from thresher.knowledge.databases.models import PotentialRelation
from thresher.knowledge.databases.relations import columns_wanted, find_relations

SAMPLE_SECONDS: Final = 30.0


def related(schema: Schema) -> tuple[PotentialRelation, ...]:
    """Potential relations by names, types and keys alone."""
    return tuple(find_relations(schema.tables))


async def related_by_values(connector: Connector, schema: Schema) -> tuple[PotentialRelation, ...]:
    """The same by values too, as far as these can be read in time."""
    wanted = await asyncio.to_thread(columns_wanted, schema.tables)
    profiles = await connector.profiles(schema, wanted, SAMPLE_SECONDS)
    return tuple(await asyncio.to_thread(find_relations, schema.tables, profiles))
