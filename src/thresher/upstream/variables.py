"""Fills `${NAME}`, `${env:NAME}` and `${NAME:-default}` in; `${connection:NAME}` waits until its server starts.

Invariant: a variable that is missing or empty is an error, never an empty text, unless a default is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{(?:(?P<space>\w+):(?!-))?(?P<name>[A-Za-z_][\w.-]*?)(?::-(?P<default>[^}]*))?\}")


class Unresolved(Exception):
    """A reference has no value.

    Attributes:
        reference: As it stands in the text, without its default.
        reason: What is missing.
        hint: What to do.
    """

    def __init__(self, reference: str, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reference = reference
        self.reason = reason
        self.hint = hint


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace every reference by its value, once (values are not expanded again).

    Raises:
        Unresolved: A variable is missing or empty and has no default, or is of a kind that only an editor knows.
    """
    return _REFERENCE.sub(lambda found: _value(found, variables), text)


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    space, name, default = found["space"], found["name"], found["default"]
    if space is None and name == "userHome":
        name = "HOME" if variables.get("HOME") else "USERPROFILE"
    if space == "connection":
        return found[0]
    if space not in (None, "env"):
        raise Unresolved(
            f"${{{space}:{name}}}",
            "only the editor that this file was written for can fill it in.",
            "Put the value into an environment variable and write ${env:NAME} in its place.",
        )
    if value := variables.get(name):
        return value
    if default is not None:
        return default
    state = "empty" if name in variables else "not set"
    raise Unresolved(
        f"${{{name}}}",
        f"the environment variable {name} is {state}.",
        f"Set {name} where Thresher starts, or give a default: ${{{name}:-value}}.",
    )
