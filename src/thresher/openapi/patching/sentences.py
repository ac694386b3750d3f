"""Descriptions and summaries made from paths, names, types, responses and scopes.

Invariant: a text says no more than the description does; if only a name is known, there is no text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final, cast

from thresher.core import first_sentence, shortened
from thresher.openapi.patching.names import (
    call_words,
    identified,
    is_plural,
    is_verb,
    listing,
    owner_of,
    schema_words,
    sentence,
    sentences_about,
    singular,
    thing_of,
    whether,
    with_article,
    words_of,
)
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, MediaType, Operation, Parameter, Tag
from thresher.openapi.schemas import mapped, shape_of

LONGEST: Final = 700
"""Longest description, in characters."""
SUMMARY: Final = 100
"""Longest summary, in characters."""
_SHOWN: Final = 6
_PARAGRAPH: Final = 300
_STRUCTURE: Final = re.compile(r"^\s*(?:[-*#|>+]|\d+[.)])|[<`]$|:$", re.MULTILINE)
"""Lines of a list, table or heading, and lines that introduce what follows."""
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?|\d{4}-\d\d-\d\d")
_METHODS: Final[Mapping[str, str]] = {
    "PUT": "Update",
    "PATCH": "Change",
    "DELETE": "Delete",
    "HEAD": "Check",
    "OPTIONS": "Ask for the options of",
}
_PURPOSES: Final = {"GET": "to get", "DELETE": "to delete", "PATCH": "to change", "PUT": "to update"}
_PAGING: Final[Mapping[str, str]] = {
    "page": "The page of results to return.",
    "cursor": "The cursor of the page, as given by the previous page.",
    "offset": "The number of results to skip.",
    "limit": "The maximum number of results.",
    "perpage": "The maximum number of results per page.",
    "pagesize": "The maximum number of results per page.",
    "maxresults": "The maximum number of results per page.",
    "sort": "The sort order of the results.",
    "orderby": "The sort order of the results.",
    "fields": "The fields to include in the response.",
    "expand": "The parts of the response to expand.",
}
"""Meaning of parameters that the name alone determines."""


def summary_of(operation: Operation) -> str:
    """Return a short summary from the description's first sentence, the operation's name or its path."""
    said = first_sentence(operation.description)
    if said and len(said) <= SUMMARY and not said.endswith("…") and len(said.split()) > 1:
        return sentence(said).rstrip(".")
    words = call_words(operation.operation_id)
    return shortened(sentence(words or deed_of(operation)).rstrip("."), SUMMARY)


def operation_text(operation: Operation, description: Description) -> str:
    """Return a description: the existing text, or what the operation does, then what it needs and returns."""
    said = operation.description.strip()
    return _joined([said or _lead(operation), *sentences_about(operation, description)])


def apart_text(operation: Operation, twin: Operation | None) -> str:
    """Return a description with what distinguishes an operation from its near-duplicate; empty if nothing does."""
    said = operation.description.strip() or _lead(operation)
    first, gap, rest = said.partition("\n\n")
    if twin is None or twin.path == operation.path or len(first) > _PARAGRAPH or _STRUCTURE.search(first):
        return ""
    thing, picked = thing_of(operation.path)
    at = f"at `{operation.path}`"
    if thing and thing_of(twin.path) != (thing, picked):
        at = f"on {with_article(thing) if picked else thing}, {at}"
    return f"{sentence(first)} This one works {at}.{gap}{rest}"


def parameter_text(parameter: Parameter, operation: Operation | None, elsewhere: Sequence[str], schema: Json) -> str:
    """Return a parameter's description; empty if only its name is known.

    Args:
        parameter: The parameter.
        operation: The operation that takes it; None if it is shared.
        elsewhere: Descriptions of parameters with the same name and location in this document.
        schema: Its schema, without references.
    """
    if len(set(elsewhere)) == 1 and (parameter.place != "path" or operation is None):
        return elsewhere[0]
    facts = " ".join(_constraints(schema))
    lead = _parameter_lead(parameter, operation, schema)
    return f"{lead} {facts}".strip()


def body_text(content: MediaType | None, description: Description) -> str:
    """Describe a request body; empty if its schema has neither a name nor a meaning in words."""
    if content is None or content.schema is None:
        return ""
    words = schema_words(content.schema, description)
    said = first_sentence(str(shape_of(description, content.schema).keywords.get("description") or ""))
    return (
        f"What to send: {words}. {said}".strip()
        if words and said
        else sentence(f"what to send: {words}" if words else "")
    )


def response_text(status: str, operation: Operation | None, content: str) -> str:
    """Describe the response for a status; empty if HTTP does not define the status.

    Args:
        status: `200`, `4XX`, `default`.
        operation: The operation that returns it.
        content: Its body in words; may be empty.
    """
    if status == "default":
        return "Any other response." if not content else f"Any other response: {content}."
    try:
        phrase = HTTPStatus(int(status)).phrase
    except ValueError:
        return ""
    if status == "404" and operation is not None and (thing := thing_of(operation.path))[1]:
        return f"{sentence(phrase)} There is no {thing[0]} with this `{thing[1]}`."
    return f"{phrase}: {content}." if content else sentence(phrase)


def tag_text(tag: Tag, operations: Sequence[Operation]) -> str:
    """Describe what the operations of a tag do; empty if it has none."""
    mine = [operation for operation in operations if tag.name in operation.tags]
    deeds = list(dict.fromkeys(_lead(operation).rstrip(".") for operation in mine))
    if not deeds:
        return ""
    shown = "; ".join(shortened(deed, SUMMARY) for deed in deeds[:_SHOWN])
    more = f"; and {len(deeds) - _SHOWN} more" if len(deeds) > _SHOWN else ""
    return sentence(f"{sentence(tag.name).rstrip('.')}: {shown}{more}")


def api_text(description: Description) -> str:
    """Describe the purpose of an API, as far as its tags tell."""
    count = len(description.operations)
    counts: dict[str, int] = {}
    for operation in description.operations:
        for tag in operation.tags or (thing_of(operation.path)[0].split(" of ")[-1].split(" ")[-1],):
            counts[tag] = counts.get(tag, 0) + 1
    names = sorted((name for name in counts if name), key=lambda name: -counts[name])
    on = f" on {', '.join(names[: 2 * _SHOWN])}" if names else ""
    more = f" and {len(names) - 2 * _SHOWN} more" if len(names) > 2 * _SHOWN else ""
    return f"{description.title or 'This API'} has {count} operations{on}{more}." if count else ""


def _lead(operation: Operation) -> str:
    """Return what an operation does as a sentence: its summary, completed by its object."""
    summary = _plain(operation.summary)
    words = words_of(summary)
    thing, picked = thing_of(operation.path)
    shared = {singular(word.lower()) for word in words} & {singular(word.lower()) for word in thing.split()}
    if not words or (len(words) == 1 and shared):
        return sentence(call_words(operation.operation_id) or deed_of(operation))
    if shared - {"a", "an", "of"} or not thing or " of " in summary:
        return sentence(summary)
    return sentence(f"{summary} of {with_article(thing) if picked else thing}")


def deed_of(operation: Operation) -> str:
    """Return what an operation does, as far as method and path tell."""
    thing, picked = thing_of(operation.path)
    last = thing.split(" of ")[0].rpartition(" ")[2]
    thing = thing or "the root"
    one = with_article(thing) if picked or not is_plural(last) else thing
    match operation.method:
        case "GET":
            return f"Get {one}" if picked or not is_plural(last) else f"List {thing}"
        case "POST" if is_plural(last) and not picked and any(each.status == "201" for each in operation.responses):
            head, space, tail = thing.partition(" of ")
            return f"Create {with_article(head.removesuffix(last) + singular(last))}{space}{tail}"
        case method if method in _METHODS:
            return f"{_METHODS[method]} {one}"
        case method:
            return f"{method.capitalize()} to {thing}"


def _parameter_lead(parameter: Parameter, operation: Operation | None, schema: Json) -> str:
    if parameter.place == "path":
        return _identifying(parameter.name, operation) if operation else ""
    plain = "".join(words_of(parameter.name)).lower()
    fields = mapped(schema)
    if plain in _PAGING and "enum" not in fields:
        return _PAGING[plain]
    if fields.get("type") == "boolean":
        return sentence(whether(" ".join(words_of(parameter.name))))
    thing, by = identified(parameter.name)
    return f"The {by} of {with_article(thing)}." if by and thing else ""


def _identifying(name: str, operation: Operation) -> str:
    """Return what a path parameter selects, and what for; without a purpose only its name would be repeated."""
    words, by = identified(name)
    owner = owner_of(name, operation.path)
    if not by and (words == "name" or words.endswith(" name")):
        words, by = words.removesuffix("name").strip(), "name"
    thing = words or owner
    purpose = _purpose(name, operation)
    if not thing or not purpose:
        return ""
    return f"The {by} of the {thing} {purpose}." if by else f"The {thing} {purpose}."


def _purpose(name: str, operation: Operation) -> str:
    """Return what happens to the thing that a parameter selects."""
    rest = [step for step in operation.path.partition(f"{{{name}}}")[2].split("/") if step]
    following = next((step for step in rest if "{" not in step), "")
    words = words_of(following)
    if not rest:
        return _PURPOSES.get(operation.method, "")
    if not words:
        return ""
    if len(rest) == 1 and operation.method != "GET" and is_verb(words[0]):
        return f"to {' '.join(words)}"
    return f"that the {' '.join(words)} {'belong' if is_plural(words[-1]) else 'belongs'} to"


def _constraints(schema: Json) -> Iterator[str]:
    """Yield the constraints of a schema as sentences."""
    fields = mapped(schema)
    choices = fields.get("enum")
    if isinstance(choices, list) and choices:
        yield f"One of {listing(str(each) for each in cast('list[Json]', choices))}."
    form = fields.get("format")
    if form in {"date", "date-time", "email", "uri", "uuid", "ipv4", "ipv6"}:
        yield {"date": "A date, YYYY-MM-DD.", "date-time": "A time as RFC 3339 writes it."}.get(
            form, f"{sentence(with_article(form.upper() if form != 'email' else 'e-mail address'))}"
        )
    low, high = fields.get("minimum"), fields.get("maximum")
    if _number(low) and _number(high):
        yield f"From {low} to {high}."
    elif _number(low) or _number(high):
        yield f"At least {low}." if _number(low) else f"At most {high}."
    if isinstance(default := fields.get("default"), str | int | float) and str(default) and "`" not in str(default):
        yield f"`{str(default).lower() if isinstance(default, bool) else default}` by default."


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def _joined(parts: Sequence[str]) -> str:
    """Join sentences; those that exceed the longest description are left out whole."""
    text = parts[0].rstrip() if "\n" in parts[0] else sentence(parts[0])
    gap = "\n\n" if "\n" in text else " "
    for part in parts[1:]:
        if part not in text and len(text) + len(part) < LONGEST:
            text, gap = f"{text}{gap}{part}", " "
    return text


def telling_summaries(operations: Sequence[Operation], wanted: Collection[str]) -> Mapping[str, str]:
    """Return a unique summary for each wanted operation, as short as possible.

    Args:
        operations: All operations of the description.
        wanted: Keys of the operations that need one.
    """
    taken = Counter(_folded(each.summary) for each in operations if each.key not in wanted)
    waiting = {each.key: list(_candidates(each)) for each in operations if each.key in wanted}
    while True:
        chosen = {key: candidates[0] for key, candidates in waiting.items()}
        counts = Counter(map(_folded, chosen.values())) + taken
        doubled = [key for key, text in chosen.items() if counts[_folded(text)] > 1 and len(waiting[key]) > 1]
        if not doubled:
            return {key: text for key, text in chosen.items() if counts[_folded(text)] == 1}
        for key in doubled:
            waiting[key].pop(0)


def _candidates(operation: Operation) -> Iterator[str]:
    """Yield summaries, shorter ones first and the path in the last; none repeats the description."""
    said = _folded(operation.description)
    for text in _summary_variants(operation):
        if _folded(text) != said:
            yield shortened(text, SUMMARY)
    yield f"{shortened(next(_summary_variants(operation)), SUMMARY)} ({operation.path})"


def _summary_variants(operation: Operation) -> Iterator[str]:
    names = {operation.operation_id.casefold(), operation.path.casefold(), operation.key.casefold()}
    base = "" if operation.summary.strip().casefold() in names else " ".join(operation.summary.split()).rstrip(".")
    deed = sentence(deed_of(operation)).rstrip(".")
    base = base or summary_of(operation).rstrip(".")  # in the owner's words, by which the operation was found before
    yield base
    thing, picked = thing_of(operation.path)
    owner = with_article(thing) if picked else thing.partition(" of ")[2]
    if owner and owner.partition(" ")[2].casefold() not in base.casefold():
        yield f"{base} of {owner}"
    known = [singular(word) for word in _folded(base).split()]
    glued = "".join(known)
    more = " ".join(word for word in thing.split() if word.casefold() not in glued and word not in {"a", "an", "of"})
    if more:
        yield f"{base} ({more})"
    if version := next((step for step in operation.path.split("/") if _VERSION.fullmatch(step)), ""):
        yield f"{base} ({version})"
    yield deed


def _folded(text: str) -> str:
    return " ".join(words_of(text)).casefold()
