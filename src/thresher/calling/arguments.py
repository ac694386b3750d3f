"""Reads the arguments of our own tools as clients mean them, by the tool's schema; the rules hold for every such tool.

Invariant: pure. A value that says something is never changed or dropped.

- Null, an empty text and an empty list stand for an argument that is left out: clients in strict mode have to send
  every argument. Where a schema allows null and the client leaves out others, an empty text or list is a value, for
  null would have said "left out".
- `query`, `question`, `prompt` and `message` stand for whichever of them the tool takes.
- A name written otherwise stands for the argument (`primaryDataSource` for `primary_datasource`), `serverName` for
  `connection`.
- A text stands for a list of one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, cast

from thresher.calling.coercion import allows, check, coerce
from thresher.core import JSON, InvalidInput, argument_meant, did_you_mean, nearest

ASKING: Final = ("query", "question", "prompt", "message")
"""Names under which models give what they ask for."""


def own_arguments(name: str, arguments: JSON, schema: JSON, signature: Callable[[], str]) -> dict[str, Any]:
    """The arguments of one of our own tools, as its schema wants them.

    Args:
        name: The tool.
        arguments: As the client sent them.
        schema: The tool's input schema.
        signature: Gives what the hint shows as the right form.

    Raises:
        InvalidInput: They do not fit; the message names the argument.
    """
    properties = cast("Mapping[str, JSON]", schema.get("properties") or {})
    required = cast("Collection[str]", schema.get("required") or ())
    everything = set(properties) <= set(arguments)
    renamed = _renamed(arguments, properties)
    given = {
        key: value
        for key, value in renamed.items()
        if not _is_left_out(value, properties.get(key), schema, needed=key in required, everything=everything)
    }
    if unknown := sorted(set(given) - set(properties)):
        near = did_you_mean(nearest(unknown[0], properties))
        raise InvalidInput(
            f"{name} has no argument '{unknown[0]}'.", hint=near or f"It takes {', '.join(properties) or 'none'}."
        )
    fitted = coerce(given, schema)
    for key, value in fitted.items():
        if isinstance(value, str) and not allows(properties[key], schema, "string"):
            fitted[key] = [value] if allows(properties[key], schema, "array") else value
    check(fitted, schema, signature, only=True)
    return fitted


def _renamed(arguments: JSON, properties: Mapping[str, JSON]) -> dict[str, Any]:
    """The arguments under the names that the tool has for them."""
    meant = {key: argument_meant(key, properties) for key in arguments}
    arguments = {
        meant[key]: value for key, value in arguments.items() if meant[key] == key or meant[key] not in arguments
    }
    own = next((key for key in properties if key in ASKING), None)
    others = [key for key in ASKING if key not in properties and arguments.get(key)]
    if own is None or len(others) != 1 or arguments.get(own):
        return dict(arguments)
    return {**{key: value for key, value in arguments.items() if key != others[0]}, own: arguments[others[0]]}


def _is_left_out(value: Any, entry: JSON | None, schema: JSON, *, needed: bool, everything: bool) -> bool:
    """Whether a value stands for an argument that the client leaves out.

    Args:
        value: As the client sent it.
        entry: The argument's schema; None if the tool has no such argument.
        schema: The tool's.
        needed: Whether the argument is required.
        everything: Whether the client sends every argument that there is.
    """
    if value is None:
        return True
    if needed or value not in ("", []):
        return False
    return everything or entry is None or not allows(entry, schema, "null")
