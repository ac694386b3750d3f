"""Benchmarks: commands that measure quality and speed on this code, and write small JSON files."""
