"""What an operation needs and gives, as sentences.

Invariant: every sentence repeats what the description itself says elsewhere: names, types, status codes, scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from thresher.core import first_sentence
from thresher.openapi.description import Description
from thresher.openapi.records import Content, Json, Operation, Parameter, Response
from thresher.openapi.shapes import shape_of

_NAMED: Final = 5
_CLIP: Final = 70
_DEEPEST: Final = 3
"""Lists in lists that words follow; a list may hold itself."""
_PLACES: Final = {"path": "in the path", "query": "in the query", "header": "as header", "cookie": "as cookie"}


def facts_of(operation: Operation, description: Description) -> Iterator[str]:
    """Sentences about an operation, the weightiest first."""
    yield from _needs(operation)
    yield from _body(operation, description)
    yield from _answer(operation, description)
    yield from _failures(operation)
    yield from _scopes(operation)


def schema_words(schema: Json, description: Description, level: int = 0) -> str:
    """What a schema asks for in a few words, such as ``a list of `Pet` ``; empty where it says nothing."""
    shape = shape_of(description, schema)
    if shape.type == "array":
        items = schema_words(shape.keywords.get("items"), description, level + 1) if level < _DEEPEST else ""
        return f"a list of {items}" if items else "a list"
    if shape.name:
        return f"`{shape.name}`"
    if shape.properties:
        return f"an object with {listing(shape.properties)}"
    return {"string": "text", "boolean": "true or false", "integer": "a number", "number": "a number"}.get(
        shape.type, ""
    )


def listing(names: Iterable[str], most: int = _NAMED) -> str:
    """Names in code marks, and how many more there are."""
    marked = [f"`{each}`" for each in names if "`" not in each and "\n" not in each]
    more = len(marked) - most
    shown = marked[:most] if more > 0 else marked
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def success_of(operation: Operation) -> Response | None:
    """The first answer that means success."""
    return next((each for each in operation.responses if each.status.startswith("2")), None)


def _needs(operation: Operation) -> Iterator[str]:
    needed = [each for each in operation.parameters if each.required]
    places = {each.place: "" for each in needed}
    parts = [
        f"{listing(each.name for each in needed if each.place == place)} {_PLACES.get(place, 'in the request')}"
        for place in places
    ]
    if parts:
        yield f"Needs {' and '.join(parts)}."
    taken = [each for each in operation.parameters if not each.required and each.place == "query"]
    if taken:
        yield f"Takes {listing(_names(taken))}{' as well' if parts else ''}."


def _names(parameters: Sequence[Parameter]) -> Iterator[str]:
    return (each.name for each in parameters)


def _body(operation: Operation, description: Description) -> Iterator[str]:
    if operation.body is None or not operation.body.contents:
        return
    content = operation.body.contents[0]
    words = _content_words(content, description)
    required = shape_of(description, content.schema).required
    needing = f", in which {listing(required)} must be given" if required and words.startswith("`") else ""
    yield f"The body is {words}{needing}."


def _answer(operation: Operation, description: Description) -> Iterator[str]:
    success = success_of(operation)
    if success is None:
        return
    if success.contents:
        yield f"Answers {success.status} with {_content_words(success.contents[0], description)}."
    elif success.status == "204":
        yield "Answers 204, without a body."


def _content_words(content: Content, description: Description) -> str:
    return (schema_words(content.schema, description) if content.schema else "") or f"`{content.media}`"


def _failures(operation: Operation) -> Iterator[str]:
    failures = [each for each in operation.responses if each.status[:1] in {"4", "5"}]
    if failures:
        said = [_failure(each) for each in failures[:_NAMED]]
        yield f"Fails with {', '.join(said)}."


def _failure(response: Response) -> str:
    words = first_sentence(response.description).strip().rstrip(".")
    fits = words and len(words) <= _CLIP and "\n" not in words and "`" not in words and "<" not in words
    return f"{response.status} ({words})" if fits else response.status


def _scopes(operation: Operation) -> Iterator[str]:
    scopes = [scope for way in operation.security or () for _, scopes in way.schemes for scope in scopes]
    if scopes and len(operation.security or ()) == 1:
        yield f"Needs the scope {listing(dict.fromkeys(scopes))}."
