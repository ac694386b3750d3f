"""Pairs of columns and values as they are typed: `customer_id = id`, `Open|1`.

Invariant: pure; what is not said is left out, so that nothing is changed that nobody named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

import typer

_OPERATORS = ("not like", "not in", ">=", "<=", "!=", "like", "in", "=", ">", "<")
"""The longer ones first: `>=` is no `>`."""
_MODIFIERS = {"ignore case": "ignore_case", "or null": "or_null", "remove when null": "remove_when_null"}
_PAIR = re.compile(
    r"\s*(?P<primary>.+?)(?:\s*(?P<sign>>=|<=|!=|(?<![<>!])=|>|<)\s*|\s+(?P<word>not\s+like|not\s+in|like|in)\s+)"
    r"(?P<foreign>[^\s\[\]=<>!]+)\s*(?:\[(?P<modifiers>[^\]]*)\])?\s*"
)


def items_of(texts: Sequence[str] | None) -> list[dict[str, Any]] | None:
    """The pairs of `--item`, as the verbs take them; None where none was given.

    Args:
        texts: `PRIMARY OPERATOR FOREIGN [MODIFIER, ...]`, or the pair as a JSON object.

    Raises:
        BadParameter: A text is none of these.
    """
    return None if texts is None or not texts else [_item(text) for text in texts]


def _item(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        return _object(text)
    if (found := _PAIR.fullmatch(text)) is None:
        raise typer.BadParameter(f"'{text}' is no pair of columns: write 'customer_id = id'; operators: {_known()}.")
    operator = found["sign"] or " ".join(found["word"].split())
    item: dict[str, Any] = {"primary": found["primary"], "foreign": found["foreign"], "operator": operator}
    return item | _modifiers(found["modifiers"] or "")


def _modifiers(text: str) -> dict[str, bool]:
    given = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in given if part not in _MODIFIERS]:
        raise typer.BadParameter(f"There is no modifier '{unknown[0]}'; known: {', '.join(_MODIFIERS)}.")
    return {_MODIFIERS[part]: True for part in given}


def _object(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"This pair of columns is no JSON object: {error}.") from None
    return cast("dict[str, Any]", value)


def _known() -> str:
    return ", ".join(reversed(_OPERATORS))
