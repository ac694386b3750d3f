"""Whether a job waits for its first attempt: long work makes way for it."""

from __future__ import annotations

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A function beside those of the baseline."""
    op.execute("""
        create function jobs.unbegun(tasks text[]) returns boolean
        language sql stable security definer set search_path = pg_catalog, jobs, pg_temp as $$
          select exists (
            select from procrastinate_jobs q
            where q.status = 'todo' and q.queue_name = any(tasks) and q.attempts = 0)
        $$""")
    op.execute("comment on function jobs.unbegun(text[]) is 'Whether a job of some tasks waits for its first attempt.'")
    op.execute("revoke all on function jobs.unbegun(text[]) from public")
