"""What a result was measured on, and where results are kept."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import thresher

RESULTS = Path(__file__).with_name("results")
LIBRARIES = (
    *("duckdb", "fastmcp", "mcp", "numpy", "onnxruntime", "pgvector", "postgast", "psycopg", "sqlalchemy", "sqlglot"),
    "tokenizers",
)


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def describe() -> dict[str, Any]:
    """Machine, versions and date, as they stand in every result."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "thresher": thresher.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def save(name: str, figures: dict[str, Any]) -> Path:
    """Write one result file and return its path."""
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": describe(), **figures}, indent=2) + "\n", encoding="utf-8")
    return path
