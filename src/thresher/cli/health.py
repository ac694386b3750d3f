"""`thresher doctor`: is everything there, and if not, what to do."""

from __future__ import annotations

import typer

from thresher.cli.output import AsJson, show
from thresher.cli.rendering import checks

PROBLEMS = 1
"""Exit code when a check failed."""


def register(application: typer.Typer) -> None:
    """Add the commands of this module."""
    application.command("doctor")(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Check everything that Thresher needs, and say how to fix what is missing."""
    from thresher.cli.diagnosis import diagnose  # noqa: PLC0415 - `--help` does without what it imports

    found = [check.as_json() for check in diagnose()]
    show(found, as_json, checks)
    if any(check["state"] == "failed" for check in found):
        raise typer.Exit(PROBLEMS)
