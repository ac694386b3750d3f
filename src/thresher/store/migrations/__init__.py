"""Alembic's revisions of the schema, shipped inside the package.

Invariant: applied to an empty database, they give exactly `thresher.store.tables`.
"""
