"""What was delivered for messages, and test cases: messages with what should come, and what came of their runs.

Invariant: no text of a message is in a log row here; a test case is what a person saved.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import row_id, tenant_table

_double: TypeEngine[float] = Double()

context_log = tenant_table(
    "context_log",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("kinds", ARRAY(Text), nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("duration_ms", _double, nullable=False),
)
"""One row for each answer of `process_prompt` and `get_context`. `kinds`: those of what was delivered, after the cut;
empty if there was nothing; `tokens`: those of the answer's text. The message's hash, and its text where texts are
logged, are in the `decision` of the same trace."""

Index("context_log_tenant_id_at_idx", context_log.c.tenant_id, context_log.c.at)

test_case = tenant_table(
    "test_case",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("verb", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("needs", JSONB, nullable=False),
    Column("excluded", JSONB, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "verb", "digest", postgresql_nulls_not_distinct=True),
)
"""A message that a person saved, with the names by kind that should come (`needs`) and must not (`excluded`). `verb`:
what is asked, `get_context` or `find_tools`; `digest`: SHA-256 of the message."""

case_run = tenant_table(
    "case_run",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("budget", Integer, nullable=True),
    Column("duration_ms", _double, nullable=False),
)
"""A run of all test cases that a caller sees. `budget`: tokens of each context; null for the default."""

Index("case_run_tenant_id_at_idx", case_run.c.tenant_id, case_run.c.at)

case_outcome = tenant_table(
    "case_outcome",
    row_id(),
    Column("run_id", BigInteger, nullable=False),
    Column("case_id", BigInteger, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("missing", ARRAY(Text), nullable=False),
    Column("unwanted", ARRAY(Text), nullable=False),
    Column("delivered", ARRAY(Text), nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("duration_ms", _double, nullable=False),
    UniqueConstraint("tenant_id", "run_id", "case_id"),
    ForeignKeyConstraint(["tenant_id", "run_id"], ["case_run.tenant_id", "case_run.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tenant_id", "case_id"], ["test_case.tenant_id", "test_case.id"], ondelete="CASCADE"),
)
"""What one case got in a run; names are `kind: name`."""

Index("case_outcome_tenant_id_case_id_idx", case_outcome.c.tenant_id, case_outcome.c.case_id)
