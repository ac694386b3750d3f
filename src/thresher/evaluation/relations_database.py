"""Reads a database's schema with its declared keys, and samples of its columns, for an evaluation of relations.

Invariant: samples are asked for as the product asks for them, from a schema whose keys are hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thresher.connectors import Profiles, Table, open_connector
from thresher.core import InvalidInput
from thresher.knowledge.databases import columns_to_sample

SECONDS = 60.0
"""For all samples of a database."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A database as it is evaluated.

    Attributes:
        name: Its address without credentials.
        tables: With their declared keys.
        profiles: Samples; None where they were not wanted.
    """

    name: str
    tables: tuple[Table, ...]
    profiles: Profiles | None


async def read_database(url: str, *, samples: bool = True, seconds: float = SECONDS) -> Subject:
    """Read one database.

    Args:
        url: As connections have it.
        samples: Whether to look at values.
        seconds: For all samples together; what is not read in time is missing.

    Raises:
        InvalidInput: The address is wrong, or there are no tables.
        NotFound: The file does not exist.
        DatabaseUnavailable: The database cannot be reached.
        QueryFailed: It does not answer.
    """
    connector = open_connector(url)
    try:
        schema = await connector.reflect()
        if not schema.tables:
            raise InvalidInput(
                f"{connector.location} has no tables that this user may see.", hint="Check the address and the user."
            )
        hidden = [replace(table, foreign_keys=()) for table in schema.tables]
        wanted = columns_to_sample(hidden) if samples else frozenset[tuple[str, str, str]]()
        profiles = await connector.profiles(schema, wanted, seconds) if samples else None
        return Subject(connector.location, schema.tables, profiles)
    finally:
        await connector.close()
