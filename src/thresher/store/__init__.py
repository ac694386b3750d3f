"""PostgreSQL. Uses: core."""
