"""What is indexed of an operation: a text to embed, and fields for lexical search.

A summary alone says little ("create a LimitRange"), and some descriptions explain a thing only in its schema. So the
text starts with provider and path in words, and ends with what the schema says about the thing.

Invariant: pure; the same operation of the same description gives the same wording, since wordings decide what is
embedded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from thresher.core import shortened
from thresher.knowledge.apis.ingestion.paths import literals, spaced, squeezed
from thresher.openapi import Description, Json, Operation

WORDING_FORM: Final = 2
"""Incremented when wordings change, so that the next sync builds every one again."""
_LINK: Final = re.compile(r"\[([^\]\[]{0,300})\]\([^()\s]{0,500}\)")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
"""Splits a name such as `LimitRange` into two words for the encoder."""
_MARKS: Final = re.compile(r"[*_`#>|~\\]+")
_SENTENCE: Final = re.compile(r"(.{20,}?(?<!\be\.g)(?<!\bi\.e)[.!?])(?:\s|$)")
_ENDING: Final = re.compile(r"(?:list|response|request|bean|dto)+$")
_READ: Final = 2_000
"""Characters of a description that are read."""
_SENTENCE_CHARACTERS: Final = 200
_THING_CHARACTERS: Final = 250
_TITLE_CHARACTERS: Final = 160
_SCHEMAS: Final = 5
_PROPERTIES: Final = 80
_DEPTH: Final = 2
_LOOKED: Final = 500
"""Maximum schemas to visit for the property names of one request."""
_EVERYWHERE: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
"""Properties of every Kubernetes object, which distinguish none."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What is indexed of an operation.

    Attributes:
        texts: Texts for the encoder.
        weights: One for each text, or none.
        fields: Field to text, for lexical search.
    """

    texts: tuple[str, ...]
    weights: tuple[float, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    def document(self) -> dict[str, Any]:
        """Return the wording in the form that is stored."""
        return {"texts": list(self.texts), "weights": list(self.weights), "fields": dict(self.fields)}


class WordingBuilder:
    """Builds wordings for the operations of one description.

    Args:
        description: The description with its schemas.
        provider: Name of the provider.
    """

    def __init__(self, description: Description, provider: str) -> None:
        self._description = description
        self._provider = provider
        self._things: dict[str, str] = {}
        for name in description.schemas:
            thing = _thing_of(name)
            if thing not in self._things or name.lower().endswith(thing):
                self._things[thing] = name

    def wording(self, operation: Operation) -> Wording:
        """Return the wording of an operation."""
        title = title_of(
            operation.method, operation.path, operation.operation_id, operation.summary, operation.description
        )
        text = plain(operation.description)
        thing = first_sentence(self._thing(operation), _THING_CHARACTERS)
        brief = first_sentence(text, _SENTENCE_CHARACTERS)
        resources = " ".join(spaced(segment) for segment in literals(operation.path))
        about = " ".join(part for part in ("" if brief in title else brief, thing) if part)
        schemas = [name.rpartition(".")[2] for name in operation.schemas[:_SCHEMAS]]
        tag = " ".join(spaced(tag) for tag in operation.tags)
        return Wording(
            (_HUMP.sub(" ", f"{self._provider} {resources} ({tag}): {title}. {about}".strip()),),
            fields={
                "title": title,
                "description": text,
                "path": spaced(operation.path),
                "id": spaced(operation.operation_id),
                "tag": tag,
                "parameters": " ".join(parameter.name for parameter in operation.parameters),
                "schemas": " ".join(spaced(name) for name in schemas),
                "provider": self._provider,
                "thing": thing,
                "properties": " ".join(spaced(name) for name in _properties(operation, self._description)),
            },
        )

    def _thing(self, operation: Operation) -> str:
        """Return the description of a path's thing: of the schema with its name, or of the nearest one."""
        reached = {_thing_of(name): name for name in reversed(operation.schemas)}
        for segment in reversed([one for one in literals(operation.path) if one not in _EVERYWHERE]):
            thing = squeezed(segment)
            for name in (self._things.get(thing), reached.get(thing)):
                if name is not None and (text := self._schema_text(name)):
                    return text
        return next((text for name in operation.schemas[:_SCHEMAS] if (text := self._schema_text(name))), "")

    def _schema_text(self, name: str) -> str:
        text = self._description.schema(name).get("description")
        return plain(text) if isinstance(text, str) else ""


def title_of(method: str, path: str, operation_id: str, summary: str, description: str) -> str:
    """Return the title of an operation: its summary, how its description begins, or its id or path in words."""
    if summary.strip():
        return shortened(plain(summary), _TITLE_CHARACTERS)
    text = plain(description.strip().partition("\n\n")[0])
    for beginning in (text, first_sentence(text, len(text))):
        if beginning and len(beginning) <= _TITLE_CHARACTERS:
            return beginning
    named = spaced(operation_id) or " ".join((method.lower(), *map(spaced, literals(path))))
    return shortened(named.strip() or path, _TITLE_CHARACTERS)


def plain(text: str) -> str:
    """Return the start of a Markdown text as plain text."""
    return " ".join(_MARKS.sub(" ", _LINK.sub(r"\1", text[:_READ])).split())


def first_sentence(text: str, most: int) -> str:
    """Return the first sentence of a plain text, cut to a number of characters."""
    found = _SENTENCE.match(text)
    return shortened(found[1] if found else text, most)


def _thing_of(schema: str) -> str:
    """Return a schema name without package and suffix: `v1.PodList` becomes `pod`."""
    name = schema.rpartition(".")[2].lower()
    return _ENDING.sub("", name) or name


def _properties(operation: Operation, description: Description) -> list[str]:
    """Return the property names of a request, outermost first."""
    contents = operation.body.contents[:1] if operation.body is not None else ()
    names: dict[str, None] = {}
    level: list[Json] = [content.schema for content in contents]
    seen: set[int] = set()
    for _ in range(_DEPTH + 1):
        found = [pair for schema in level for pair in _members(description, schema, seen)]
        names.update(dict.fromkeys(name for name, _ in found))
        if len(names) >= _PROPERTIES:
            break
        level = [schema for _, schema in found]
    return list(names)[:_PROPERTIES]


def _members(description: Description, schema: Json, seen: set[int], depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Yield the properties of a schema, of list items and of `allOf` parts; each schema is visited once."""
    found = description.follow(schema)
    if not isinstance(found, dict) or depth > _DEPTH or len(seen) >= _LOOKED:
        return
    schema = cast("dict[str, Json]", found)
    if id(schema) in seen:
        return
    seen.add(id(schema))
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        known = cast("Mapping[str, Json]", properties)
        yield from ((str(name), known[name]) for name in known if name not in _EVERYWHERE)
    parts = schema.get("allOf")
    inner = cast("list[Json]", parts) if isinstance(parts, list) else []
    for part in (*inner, schema.get("items")):
        if part is not None:
            yield from _members(description, part, seen, depth + 1)
