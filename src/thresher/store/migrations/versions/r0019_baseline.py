"""Every table, policy and function of the versions before the first release, in one step.

Its revision is that of the last of the migrations which it replaces: a database that had them all has it already.

The queue is procrastinate's, made by the schema of the release that is pinned, which is what its scripts up to the one
named below give (they themselves cannot run in one transaction on PostgreSQL 16, where a new value of an enum must be
committed before it is used). A release with newer scripts needs a revision that runs those where they are missing.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from alembic import op

import thresher.store.migrations

revision = "0019"
down_revision = None
branch_labels = None
depends_on = None

LAST_SCRIPT = "03.04.00_50_post_add_retry_failed_job_procedure.sql"
_BASELINE = Path(str(next(iter(thresher.store.migrations.__path__)))) / "baseline"


def upgrade() -> None:
    """Make everything."""
    schema = op.get_bind().exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    _run(_BASELINE / "tables.sql")
    _run(_BASELINE / "functions.sql", schema=schema)
    _queue()


def _queue() -> None:
    """The queue's tables and functions, as the library's schema makes them, then closed to everybody else."""
    connection = op.get_bind()
    connection.exec_driver_sql("create schema jobs")
    path = connection.exec_driver_sql("select current_setting('search_path')").scalar_one()
    connection.exec_driver_sql("select set_config('search_path', 'jobs, pg_catalog', true)")
    _run(schema_file())
    _run(_BASELINE / "queue.sql")
    connection.exec_driver_sql("select set_config('search_path', %s, true)", (path,))


def _run(file: Path, schema: str = "") -> None:
    statements = file.read_text(encoding="utf-8").replace("{schema}", schema) if schema else file.read_text("utf-8")
    op.get_bind().exec_driver_sql(statements.replace("%", "%%"))


def schema_file() -> Path:
    """The library's schema; found without importing it."""
    spec = find_spec("procrastinate")
    return Path(str(spec and spec.origin)).parent / "sql" / "schema.sql"
