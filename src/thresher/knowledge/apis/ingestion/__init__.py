"""Bringing descriptions in: sources, downloads, syncs, and the rows that are stored."""
