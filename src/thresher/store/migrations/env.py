"""What Alembic runs for each command: it works on the connection that `thresher.store.migrate` hands over."""

from alembic import context

from thresher.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
