"""Hostile SQL: ideas, the disguises they come in, and live engines on which nothing may change."""
