"""Long work: what was asked for, how far it is, how it ended.

Invariant: a row and its place in the queue (schema `jobs`, whose tables are procrastinate's) are written together; the
queue holds ids and no tenant's data.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, Integer, Text, func, text

from thresher.store.tables.metadata import row_id, tenant_table

job = tenant_table(
    "job",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("task", Text, nullable=False),
    Column("subject", BigInteger, nullable=False),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("phase", Text, nullable=False, server_default=""),
    Column("done", BigInteger, nullable=False, server_default="0"),
    Column("total", BigInteger, nullable=False, server_default="0"),
    Column("error", Text, nullable=False, server_default=""),
    Column("hint", Text, nullable=False, server_default=""),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("deaths", Integer, nullable=False, server_default="0"),
    Column("cancelled", Boolean, nullable=False, server_default="false"),
    Column("queue_id", BigInteger, nullable=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("started_at", DateTime(timezone=True), nullable=True),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("ended_at", DateTime(timezone=True), nullable=True),
)
"""`subject`: id of the row that the work is about. `state`: waiting, running, done, failed or cancelled; `attempts`:
how often it was begun; `failures`: how often something passing, such as a lost database, put it off; `deaths`: how many
workers ended under it; `cancelled`: it was asked to end; `queue_id`: its row in the queue."""

Index("job_tenant_id_task_subject_idx", job.c.tenant_id, job.c.task, job.c.subject)
Index(
    "job_fresh_key",
    job.c.tenant_id,
    job.c.task,
    job.c.subject,
    unique=True,
    postgresql_where=text("state = 'waiting' AND attempts = 0"),
)
