"""The solutions kind: workspaces on this machine's disk, and where in them people work.

Invariant: what a workspace holds lies on disk alone; here stand only its place and a person's choice.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, ForeignKeyConstraint, Text, UniqueConstraint, func

from thresher.store.tables.metadata import row_id, tenant_table

workspace = tenant_table(
    "workspace",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("format", Text, nullable=False, server_default="servoy"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`path`: absolute, without links. `format`: of its files."""

solution_choice = tenant_table(
    "solution_choice",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("folder", Text, nullable=False),
    Column("workspace_id", BigInteger, nullable=False),
    Column("active", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "folder", "workspace_id", postgresql_nulls_not_distinct=True),
    ForeignKeyConstraint(["tenant_id", "workspace_id"], ["workspace.tenant_id", "workspace.id"], ondelete="CASCADE"),
)
"""The solution or module that a user chose. `folder`: in which the client worked that did so, or empty; several
clients of one user can so work in several places."""
