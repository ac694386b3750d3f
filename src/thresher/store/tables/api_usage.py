"""The logs of API searches and of endpoints that were read: what was asked, what was offered, what was then read.

Invariant: neither names a row of a description, so that an operation that is gone is still counted under its name.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Double, Index, Integer, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import row_id, tenant_table

_double: TypeEngine[float] = Double()

api_search_log = tenant_table(
    "api_search_log",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False, server_default=""),
    Column("mode", Text, nullable=False),
    Column("query", Text, nullable=True),
    Column("providers", ARRAY(Text), nullable=False),
    Column("hits", ARRAY(BigInteger), nullable=False),
    Column("duration_ms", _double, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
    Column("read_rank", Integer, nullable=True),
)
"""One row for each search. `query`: its words, folded; null where the setting keeps them out. `providers`: those that
it was kept to, else those of its hits. `hits`: the numbers in the endpoints' ids, best first, those of later pages at
the end. `error`: the code of what it failed with. `read_rank`: the best place, from 1, of a hit that the same caller
read within half an hour; null for none."""

Index("api_search_log_tenant_id_at_idx", api_search_log.c.tenant_id, api_search_log.c.at)

api_read_log = tenant_table(
    "api_read_log",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False, server_default=""),
    Column("endpoint", BigInteger, nullable=True),
    Column("operation", Text, nullable=False, server_default=""),
    Column("provider", Text, nullable=False, server_default=""),
    Column("duration_ms", _double, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
)
"""One row for each endpoint that was read, or could not be. `endpoint`: the number in its id; null where none was
found. `operation`: `GET /path`."""

Index("api_read_log_tenant_id_at_idx", api_read_log.c.tenant_id, api_read_log.c.at)
