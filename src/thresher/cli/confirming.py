"""Asks the daemon for a change, and a person where the change must be agreed to first.

Invariant: nobody is asked where no person looks; the command then ends as the verb's own refusal says.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from thresher.cli.client import ask
from thresher.cli.output import confirm
from thresher.daemon import DaemonFailure

UNCONFIRMED = "unconfirmed"
"""Code of the error of a change that somebody must agree to first."""


def ask_confirmed(verb: str, arguments: Mapping[str, Any], *, as_json: bool) -> Any:
    """Have the daemon do something, and do it all the same where a person says so.

    Args:
        verb: The name of the verb.
        arguments: Its arguments.
        as_json: Whether a program reads the output; it is not asked.

    Raises:
        DaemonFailure: It was refused.
        Abort: The person said no.
    """
    try:
        return ask(verb, arguments)
    except DaemonFailure as refusal:
        if refusal.code != UNCONFIRMED or as_json or not sys.stdin.isatty():
            raise
        confirm(f"{refusal.message} Do it?")
    return ask(verb, {**arguments, "confirm": True})


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments that were given: what was not is for the verb to decide."""
    return {name: value for name, value in arguments.items() if value is not None}
