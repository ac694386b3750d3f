"""What became of each module, as the process of components writes it down for the daemon.

Invariant: whoever reads finds a whole report, and the module that was being loaded when the process was killed.
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
        problem: Why it, or a part of it, is left out; empty when all of it is there.
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
        version: Of the folder that was loaded.
        files: Its modules so far.
        loading: The module that is being loaded; empty when none is.
        deadly: Modules that are not tried again, and why: they ended the process while they were loaded, or ran on when
            their time was up.
    """

    version: str = ""
    files: tuple[FileReport, ...] = ()
    loading: str = ""
    deadly: Mapping[str, str] = field(default_factory=dict[str, str])

    def write(self, path: Path) -> None:
        """Put it into a file, in one step, for its owner alone."""
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(asdict(self), stream)
        draft.replace(path)


def read_report(path: Path) -> Report:
    """The report in a file; an empty one where there is none that can be read."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return report_of(cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8"))))
    return Report()


def report_of(value: dict[str, Any]) -> Report:
    """A report out of its JSON.

    Raises:
        TypeError: It is none.
        KeyError: It is none.
    """
    files = tuple(_file(entry) for entry in value["files"])
    deadly = {str(name): str(problem) for name, problem in dict(value["deadly"]).items()}
    return Report(str(value["version"]), files, str(value["loading"]), deadly)


def _file(entry: dict[str, Any]) -> FileReport:
    lists = {name: tuple(map(str, entry[name])) for name in ("tools", "prompts", "resources", "servers")}
    return FileReport(path=str(entry["path"]), problem=str(entry["problem"]), **lists)
