"""From a description that was read to the rows that are stored of it.

Invariant: pure; what PostgreSQL cannot hold is left out of every text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from thresher.core import shortened
from thresher.knowledge.apis import wording
from thresher.knowledge.apis.heads import endpoint_id
from thresher.openapi import Description, Operation, tips_of
from thresher.store import clean

FORM: Final = f"1.{wording.FORM}"
"""Another one whenever other things are stored of an operation, so that all of them are made again."""
_DESCRIPTION: Final = 600
_LONGEST_ID: Final = 2_000
"""Characters of an operation's id: a longer one is cut in what is stored."""
_PARAMETERS: Final = 60
_TAGS: Final = 30
_TAG_DESCRIPTION: Final = 300
_PROBLEMS: Final = 50


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is stored of a description.

    Attributes:
        version: Column to value, of the version.
        digests: Method and path of each operation to its digest.
        rows: The operations, JSON: a list of column to value.
    """

    version: Mapping[str, Any]
    digests: Mapping[tuple[str, str], str]
    rows: str = field(repr=False)


def prepared(description: Description, provider: str, label: str) -> Prepared:
    """The rows of a description.

    Args:
        description: As it was read.
        provider: Name of its provider.
        label: Of the version.
    """
    worder = wording.Worder(description, provider)
    rows = [
        _row(ordinal, operation, description, worder.worded(operation))
        | {"endpoint": endpoint_id(provider, label, operation.method, operation.path)}
        for ordinal, operation in enumerate(description.operations)
    ]
    distinct = {(row["method"], row["path"]): row for row in reversed(rows)}
    problems = [
        [one.code, clean(one.message), clean(one.place.pointer), one.place.line, one.place.column]
        for one in description.problems[:_PROBLEMS]
    ]
    version = {
        "dialect": description.dialect,
        "title": clean(shortened(description.title, 200)),
        "declared": clean(shortened(description.declared, 100)),
        "servers": [clean(server) for server in description.servers],
        "tags": [[clean(tag.name), clean(shortened(tag.description, _TAG_DESCRIPTION))] for tag in description.tags],
        "problems": problems,
        "problem_count": len(description.problems),
    }
    digests = {key: row["digest"] for key, row in distinct.items()}
    return Prepared(version, digests, json.dumps(list(distinct.values())))


def _row(ordinal: int, operation: Operation, description: Description, worded: wording.Wording) -> dict[str, Any]:
    row = {
        "method": operation.method,
        "path": operation.path,
        "operation_id": operation.operation_id[:_LONGEST_ID],
        "summary": shortened(operation.summary, _DESCRIPTION),
        "description": shortened(operation.description, _DESCRIPTION),
        "tags": list(operation.tags[:_TAGS]),
        "parameters": _parameters(operation),
        "body": _body(operation),
        "tips": list(tips_of(operation, description)),
        "deprecated": operation.deprecated,
        "pointer": operation.pointer,
        "ordinal": ordinal,
        "digest": operation.digest,
        "wording": worded.document(),
    }
    return cast("dict[str, Any]", _cleaned(row))


def _parameters(operation: Operation) -> list[str]:
    """Names of parameters, those of the path first, then those that must be given."""
    ordered = sorted(operation.parameters, key=lambda one: (one.place != "path", not one.required))
    return [one.name for one in ordered[:_PARAMETERS]]


def _body(operation: Operation) -> str:
    """Name of the schema of what an operation is sent; of a list, of its items."""
    for content in operation.body.contents if operation.body else ():
        schema: Any = content.schema or {}
        items = schema.get("items")
        ref = schema.get("$ref") or (cast("dict[str, Any]", items).get("$ref") if isinstance(items, dict) else None)
        if isinstance(ref, str):
            return ref.rpartition("/")[2]
    return ""


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(one) for name, one in cast("dict[str, Any]", value).items()}
    return [_cleaned(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
