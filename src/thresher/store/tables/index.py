"""The search index of every kind, and the content-addressed cache of embeddings.

Invariant: `embedding` carries no tenant and the application role cannot read it; it is reached only through the
function `cached_embeddings(model, hashes)`, so that a vector is found by those who hold the text's hash alone.
"""

from __future__ import annotations

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, REAL
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import metadata, tenant_table

_real: TypeEngine[float] = REAL()
_double: TypeEngine[float] = Double()

embedding = Table(
    "embedding",
    metadata,
    Column("model", Text, primary_key=True),
    Column("hash", LargeBinary, primary_key=True),
    Column("vector", VECTOR(), nullable=False),
    Column("unused_since", DateTime(timezone=True), nullable=True),
)
"""`unused_since`: when a sweep first found no index row of any tenant with this vector; null while there is one."""

collection = tenant_table(
    "collection",
    Column("kind", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("version", BigInteger, nullable=False, server_default="0"),
    Column("items", Integer, nullable=False, server_default="0"),
    Column("total_length", _double, nullable=False, server_default="0"),
    Column("languages", ARRAY(Text), nullable=False, server_default="{}"),
)
"""One row for each tenant and kind: the model whose vectors serve, a version that every write raises, BM25 totals.
`languages`: those of its items besides English; the words of a query are stemmed by these too."""

item = tenant_table(
    "item",
    Column("kind", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True),
    Column("owner", Text, nullable=True),
    Column("facets", ARRAY(Text), nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("terms", ARRAY(Text), nullable=False),
    Column("length", _real, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("slots", Text, nullable=False, server_default=""),
)
"""`hash`: SHA-256 of the texts behind the row, so an unchanged item is left alone; `version`: of its last write;
`terms`: the distinct terms of its postings, so that they are found by their key when the item goes; `slots`: what it
wants to be given, packed."""

item_vector = tenant_table(
    "item_vector",
    Column("kind", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True),
    Column("part", SmallInteger, primary_key=True),
    Column("hash", LargeBinary, nullable=False),
    Column("vector", VECTOR(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "kind", "id", "model", "part"),
    ForeignKeyConstraint(["tenant_id", "kind", "id"], ["item.tenant_id", "item.kind", "item.id"], ondelete="CASCADE"),
)
"""Vectors by model: while a new model is embedded beside the old one, the old one serves. The key begins with the
item, so that removing one finds its vectors without a scan."""

posting = tenant_table(
    "posting",
    Column("kind", Text, primary_key=True),
    Column("term", Text(collation="C"), primary_key=True),
    Column("id", BigInteger, primary_key=True),
    Column("owner", Text, nullable=True),
    Column("frequency", _real, nullable=False),
    Column("length", _real, nullable=False),
    PrimaryKeyConstraint("tenant_id", "kind", "term", "id", postgresql_include=["owner", "frequency", "length"]),
)
"""Term frequency (weighted over fields) and document length: the BM25 weight is computed at query time, when the
average length is known exactly. A query reads the key's index alone (measured at 10,000 items: half the time). No
foreign key to `item`: its check would cost half of the write, and its cascade a scan for each item removed."""

term_stat = tenant_table(
    "term_stat",
    Column("kind", Text, primary_key=True),
    Column("term", Text(collation="C"), primary_key=True),
    Column("documents", Integer, nullable=False),
)
"""Document frequency of a term within one tenant and kind."""
