"""What is read: repositories, the versions of their files and their texts, and workspaces; the jobs that read them.

Invariant: a document's row, layout and texts never change once it is current; a changed file is a new document.
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
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

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


repository = tenant_table(
    "repository",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("ref", Text, nullable=False, server_default=""),
    Column("include", ARRAY(Text), nullable=False),
    Column("exclude", ARRAY(Text), nullable=False),
    Column("version", Text, nullable=False, server_default=""),
    Column("guide", Text, nullable=False, server_default=""),
    Column("guide_by", Text, nullable=False, server_default="structure"),
    Column("acronyms", JSONB, nullable=False, server_default="{}"),
    Column("documents", Integer, nullable=False, server_default="0"),
    Column("chunks", Integer, nullable=False, server_default="0"),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
    Column("embedded", Integer, nullable=False, server_default="0"),
    Column("skipped", JSONB, nullable=False, server_default="[]"),
    Column("skipped_counts", JSONB, nullable=False, server_default="{}"),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("problem", Text, nullable=False, server_default=""),
    Column("job", BigInteger, nullable=False, server_default="0"),
    Column("edition", BigInteger, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("indexed_at", DateTime(timezone=True), nullable=True),
    Column("former", JSONB(none_as_null=True), nullable=True),
    Column("check_seconds", Integer, nullable=True),
    Column("check_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("webhook", Text, nullable=True),
    Column("webhook_at", Double, nullable=True),
    Column("claimed_by", Text, nullable=False, server_default=""),
    Column("keyed", Boolean, nullable=False, server_default="false"),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`kind`, `location`, `ref`, `include`, `exclude`: where it comes from; nothing secret. `version`: commit or digest of
the files of the last good run. `acronyms`: short form to long form, which text search uses. `skipped`: the first files
that were not read, as [path, reason, detail, blob, format]; `skipped_counts`: how many for each reason. `state`:
waiting, indexing, ready, failed or removing. `edition`: raised whenever other documents are current, so that copies
know that they are old. `former`: the `kind`, `ref`, `include` and `exclude` of the last good run while others are
tried, with `failed` once the source could not be read with these. `check_seconds`: how often its source is checked;
null: as the settings say; 0: never. `check_at`: when a daemon may take that up next; the one that follows it,
`claimed_by`, moves it on. `keyed`: whether a caller with a key chose the source. `webhook`: what, with the key of the
installation, makes the secret of its webhook; null: it has none. `webhook_at`: the time of the last call that was
accepted, in seconds; an older one is refused."""

upload = tenant_table(
    "upload",
    Column("repository_id", BigInteger, primary_key=True),
    Column("path", Text(collation="C"), primary_key=True),
    Column("archive", Text, nullable=False, server_default=""),
    Column("blob", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(["tenant_id", "repository_id"], ["repository.tenant_id", "repository.id"], ondelete="CASCADE"),
)
"""The files of a repository that people have uploaded. `archive`: path of the archive that held it; empty for a file
that was uploaded by itself. `blob`: git blob id of the bytes."""

document = tenant_table(
    "document",
    row_id(),
    Column("repository_id", BigInteger, nullable=False),
    Column("path", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("media", Text, nullable=False),
    Column("blob", Text, nullable=False),
    Column("format", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("lines", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("notes", ARRAY(Text), nullable=False),
    Column("outline", JSONB, nullable=False, server_default="{}"),
    Column("sections", JSONB, nullable=False, server_default="[]"),
    Column("layout", LargeBinary, nullable=False),
    Column("current", Boolean, nullable=False, server_default="false"),
    Column("made_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("stemming", Text, nullable=False, server_default=""),
    ForeignKeyConstraint(["tenant_id", "repository_id"], ["repository.tenant_id", "repository.id"], ondelete="CASCADE"),
)
"""One version of a file. `blob`: git blob id of the bytes; `format`: of the reading and cutting that made it, so that
files are read again when these have changed; `outline`: what the guide must know of it; `sections`: [level, title,
first character] of each; `layout`: its chunks, packed; `stemming`: how its words are indexed: an edition, a language.
`current`: whether it is answered from; not yet while its chunks are written, no longer after a newer version came."""

Index(
    "document_tenant_id_repository_id_path_idx",
    document.c.tenant_id,
    document.c.repository_id,
    document.c.path,
    unique=True,
    postgresql_where=document.c.current,
)
Index("document_tenant_id_repository_id_idx", document.c.tenant_id, document.c.repository_id)

chunk = tenant_table(
    "chunk",
    Column("document_id", BigInteger, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    ForeignKeyConstraint(["tenant_id", "document_id"], ["document.tenant_id", "document.id"], ondelete="CASCADE"),
)
"""The pieces of a document's text; in order they give it back exactly."""
