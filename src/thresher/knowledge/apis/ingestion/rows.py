"""Database rows and index entries of a parsed description.

Invariant: pure. Characters that PostgreSQL cannot store are removed from every text; an operation whose wording has not
changed gives the same entry, so it is embedded once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from thresher.core import shortened
from thresher.knowledge.apis.heads import endpoint_id
from thresher.knowledge.apis.ingestion.wording import WORDING_FORM, Wording, WordingBuilder
from thresher.openapi import Description, Operation, tips_of
from thresher.search import Entry
from thresher.store import clean

FORM: Final = f"1.{WORDING_FORM}"
"""Format of the stored operations; a new value makes every sync rebuild them."""
_DESCRIPTION: Final = 600
_LONGEST_ID: Final = 2_000
"""Maximum characters of a stored operation id."""
_PARAMETERS: Final = 60
_TAGS: Final = 30
_TAG_DESCRIPTION: Final = 300
_PROBLEMS: Final = 50


@dataclass(frozen=True, slots=True)
class DescriptionRows:
    """What is stored for a description.

    Attributes:
        version: Column to value, of the version.
        digests: Method and path of each operation to its digest.
        rows: JSON list of the operations, each column to value.
    """

    version: Mapping[str, Any]
    digests: Mapping[tuple[str, str], str]
    rows: str = field(repr=False)


def description_rows(description: Description, provider: str, label: str) -> DescriptionRows:
    """Return the rows of a description.

    Args:
        description: The parsed description.
        provider: Name of its provider.
        label: Label of the version.
    """
    builder = WordingBuilder(description, provider)
    rows = [
        _row(ordinal, operation, description, builder.wording(operation))
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
    return DescriptionRows(version, digests, json.dumps(list(distinct.values())))


def _row(ordinal: int, operation: Operation, description: Description, wording: Wording) -> dict[str, Any]:
    parameters = sorted(operation.parameters, key=lambda one: (one.place != "path", not one.required))
    row = {
        "method": operation.method,
        "path": operation.path,
        "operation_id": operation.operation_id[:_LONGEST_ID],
        "summary": shortened(operation.summary, _DESCRIPTION),
        "description": shortened(operation.description, _DESCRIPTION),
        "tags": list(operation.tags[:_TAGS]),
        "parameters": [one.name for one in parameters[:_PARAMETERS]],
        "body": _body(operation),
        "tips": list(tips_of(operation, description)),
        "deprecated": operation.deprecated,
        "pointer": operation.pointer,
        "ordinal": ordinal,
        "digest": operation.digest,
        "wording": wording.document(),
    }
    return cast("dict[str, Any]", _cleaned(row))


def _body(operation: Operation) -> str:
    """Return the name of the schema of the request body, or of its items if it is a list."""
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


KIND: Final = "operation"
"""The collection of the index that holds operations."""
_PROVIDER: Final = "provider:"
_VERSION: Final = "version:"


@dataclass(frozen=True, slots=True)
class IndexScope:
    """What the operations of a version have in common in the index.

    Attributes:
        provider: Row id of the provider.
        version: Row id of the version.
        owner: The only user who may find them; None if everyone in the tenant may.
    """

    provider: int
    version: int
    owner: str | None

    @property
    def facets(self) -> frozenset[str]:
        """The facets of its operations."""
        return frozenset({f"{_PROVIDER}{self.provider}", f"{_VERSION}{self.version}"})


def facets_of(versions: Iterable[int]) -> frozenset[str]:
    """Return the facets of the operations of some versions."""
    return frozenset(f"{_VERSION}{version}" for version in versions)


def entries_of(scope: IndexScope, wordings: Mapping[int, Mapping[str, Any]]) -> Iterator[Entry]:
    """Yield the index entries of some operations.

    Args:
        scope: Provider, version and owner of the operations.
        wordings: Row id to stored wording: `texts`, `weights`, `fields`.
    """
    for number, wording in wordings.items():
        yield Entry(
            id=number,
            texts=tuple(wording.get("texts", ())),
            weights=tuple(wording.get("weights", ())),
            fields=dict(wording.get("fields", {})),
            facets=scope.facets,
            owner=scope.owner,
        )
