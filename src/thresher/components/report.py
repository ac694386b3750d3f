"""The result of loading each module, which the process of components writes for the daemon.

Invariant: a reader always finds a complete report, and the module that was being loaded if the process was killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class FileReport:
    """One module.

    Attributes:
        path: Relative to the folder, such as `tools/weather.py`.
        tools: Names of its tools.
        prompts: Names of its prompts.
        resources: Addresses of its resources, and patterns of addresses.
        servers: Names of the servers that it has added.
        problem: Why it, or a part of it, is left out; empty if nothing is.
    """

    path: str
    tools: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """One run of the process.

    Attributes:
        version: The version of the folder that was loaded.
        files: Its modules so far.
        loading: The module that is being loaded; empty if none is.
        deadly: Modules that are not tried again, and why: they ended the process while they were loaded, or exceeded
            the time limit.
    """

    version: str = ""
    files: tuple[FileReport, ...] = ()
    loading: str = ""
    deadly: Mapping[str, str] = field(default_factory=dict[str, str])

    def write(self, path: Path) -> None:
        """Write it to a file, atomically and only readable for its owner."""
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(asdict(self), stream)
        draft.replace(path)


def read_report(path: Path) -> Report:
    """Return the report in a file; an empty one if it cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return report_of(cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8"))))
    return Report()


def report_of(value: dict[str, Any]) -> Report:
    """Return a report from its JSON.

    Raises:
        TypeError: It is not a valid report.
        KeyError: It is not a valid report.
    """
    files = tuple(_file(entry) for entry in value["files"])
    deadly = {str(name): str(problem) for name, problem in dict(value["deadly"]).items()}
    return Report(str(value["version"]), files, str(value["loading"]), deadly)


def _file(entry: dict[str, Any]) -> FileReport:
    lists = {name: tuple(map(str, entry[name])) for name in ("tools", "prompts", "resources", "servers")}
    return FileReport(path=str(entry["path"]), problem=str(entry["problem"]), **lists)
