"""Benchmarks: commands that measure quality and speed on this code, and write small JSON files."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `thresher` does, before anything brings in numpy
