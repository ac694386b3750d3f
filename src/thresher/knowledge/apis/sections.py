"""The items of which an explanation of an operation is made, and how other people's text is quoted in them.

Invariant: pure; other people's text appears on single lines, in Markdown quotations, or in a fence longer than any
fence in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import islice
from typing import Any, Final

from thresher.core import one_line
from thresher.knowledge.apis.models import FoundEndpoint
from thresher.openapi import (
    Description,
    Direction,
    MediaType,
    Operation,
    Parameter,
    Response,
    auth_of,
    base_of,
    best_example,
    bounds_of,
    brief_schema,
    call_of,
    example_of,
    finite,
    is_placeholder,
    is_simple,
    lines_of,
    name_of,
    parameter_example,
    samples_of,
    schemas_reached,
    sent_content,
    type_of,
)

_OPENING: Final = 600
"""Characters of a description that appear near the top."""
_NARROW: Final = 100
_FENCE: Final = re.compile(r"`{3,}")


class PageSection(IntEnum):
    """The sections of an explanation, in reading order."""

    RELEVANCE = 0
    ABOUT = 1
    AUTH = 2
    PARAMETERS = 3
    REQUEST = 4
    RESPONSES = 5
    ERRORS = 6
    CURL = 7
    PYTHON = 8
    SCHEMAS = 9
    MORE = 10


TITLES: Final[Mapping[PageSection, str]] = {
    PageSection.AUTH: "## Sign-in",
    PageSection.PARAMETERS: "## Parameters (* must be given)",
    PageSection.REQUEST: "## Request body",
    PageSection.RESPONSES: "## Responses",
    PageSection.ERRORS: "## Errors",
    PageSection.CURL: "## curl",
    PageSection.PYTHON: "## Python",
    PageSection.SCHEMAS: "## Schemas (* must be there)",
    PageSection.MORE: "## More of its description",
}


@dataclass(frozen=True, slots=True)
class ItemText:
    """The text of an item.

    Attributes:
        text: Markdown.
        field: Field of the answer that the item also fills; empty if none.
        value: Value of that field.
    """

    text: str
    field: str = ""
    value: Any = None


@dataclass(frozen=True, slots=True)
class SectionItem:
    """One item of an explanation.

    Attributes:
        section: Where it appears.
        group: What it belongs to, named if it is left out: `optional parameters`.
        name: Its name within the group; empty if the group has one item.
        forms: Alternative texts, the fullest first; each is made only when needed.
    """

    section: PageSection
    group: str
    name: str
    forms: tuple[Callable[[], ItemText], ...]


def opening_of(text: str) -> tuple[str, str]:
    """Split a description into its beginning and the rest, at a line or a word."""
    whole = text.strip()
    if len(whole) <= _OPENING:
        return whole, ""
    at = max(whole.rfind("\n", 0, _OPENING), whole.rfind(". ", 0, _OPENING) + 1)
    if at < _OPENING // 3:
        at = max(whole.rfind(" ", 0, _OPENING), _OPENING // 3)
    return whole[:at].rstrip(), whole[at:].lstrip()


def quoted(text: str) -> str:
    """Return other people's Markdown as a quotation."""
    return "\n".join(f"> {line.rstrip()}".rstrip() for line in text.splitlines())


def fenced(value: Any) -> str:
    """Return a value as JSON in a fenced block."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    text = line if len(line) <= _NARROW else json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return fenced_text(text, "json")


def fenced_text(text: str, language: str) -> str:
    """Return a text in a fenced block that nothing in it can end."""
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
    return f"{fence}{language}\n{text}\n{fence}"


_SAID: Final = 240
_LINES: Final = 300
"""Maximum number of schema properties to list."""
_LINKS: Final = 8
_SUCCESS: Final = ("2", "3")


class SectionItems:
    """The items of one operation, the most needed first.

    Args:
        description: The description that contains the operation.
        operation: The operation.
        endpoint: The operation as search shows it.
        base_url: Base address if the description names none.
        location: Path or URL of the description.
    """

    def __init__(
        self, description: Description, operation: Operation, endpoint: FoundEndpoint, base_url: str, location: str
    ) -> None:
        self._description = description
        self._operation = operation
        self._endpoint = endpoint
        self._base_url = base_url
        self._location = location

    def __iter__(self) -> Iterator[SectionItem]:
        """Yield all items."""
        required = [one for one in self._operation.parameters if one.required]
        optional = [one for one in self._operation.parameters if not one.required]
        yield from self._parameters(required, "parameters that must be given")
        yield from self._request()
        yield self._auth()
        yield from self._sample("curl", PageSection.CURL)
        yield from self._successes()
        yield from self._schemas(self._sent, "schemas of the request", 3)
        yield from self._about()
        yield from self._parameters(sorted(optional, key=lambda one: one.deprecated), "optional parameters")
        yield from self._errors()
        yield from self._sample("python", PageSection.PYTHON)
        yield from self._schemas(self._got, "schemas of the answer", 3)
        yield from self._more()
        yield from self._schemas(self._sent, "schemas of the request", 0)
        yield from self._schemas(self._got, "schemas of the answer", 0)

    @property
    def head(self) -> str:
        """The first lines: method, path, title and base address."""
        one, operation = self._endpoint, self._operation
        marks = [f"{one.provider} {one.version}".strip(), one.id, one_line(operation.operation_id, _SAID)]
        marks += ["deprecated"] if operation.deprecated else []
        about = f"{one_line(one.title, _SAID)} ({', '.join(mark for mark in marks if mark)})"
        where = base_of(self._description, operation, self._base_url, self._location)
        unsaid = " (a placeholder: the description names no server)" if is_placeholder(where) else ""
        call = f"# {one_line(operation.method, 20)} {one_line(operation.path, 500)}"
        return f"{call}\n{about}\nBase: {one_line(where, 300)}{unsaid}"

    def _parameters(self, parameters: list[Parameter], group: str) -> Iterator[SectionItem]:
        for one in parameters:
            yield SectionItem(
                PageSection.PARAMETERS,
                group,
                one_line(one.name, 80),
                (lambda one=one: self._parameter(one),),
            )

    def _parameter(self, one: Parameter) -> ItemText:
        words = self._parameter_data(one)
        must = "*" if one.required else ""
        marks = ", ".join(
            item
            for item in (words["in"], words["type"], words["bounds"], "deprecated" if one.deprecated else "")
            if item
        )
        suffix = f": {words['description']}" if words["description"] else ""
        return ItemText(f"- {words['name']}{must} ({marks}){suffix}", "parameters", words)

    def _parameter_data(self, one: Parameter) -> dict[str, Any]:
        return {
            "name": one_line(one.name, 200),
            "in": one.place,
            "required": one.required,
            "description": one_line(one.description, _SAID),
            "type": type_of(self._description, one.schema),
            "bounds": bounds_of(self._description, one.schema),
            "example": parameter_example(self._description, one),
            "deprecated": one.deprecated,
        }

    def _request(self) -> Iterator[SectionItem]:
        body = self._operation.body
        content = sent_content(body)
        if body is None or content is None:
            return
        others = [one.media for one in body.contents if one is not content]
        must = "must be sent" if body.required else "may be sent"
        also = f" (or {', '.join(one_line(one, 80) for one in others)})" if others else ""
        suffix = f": {one_line(body.description, _SAID)}" if body.description else ""
        shape = f", {type_of(self._description, content.schema)}" if content.schema is not None else ""
        head = f"{one_line(content.media, 80)}{also}{shape}, {must}{suffix}"
        yield SectionItem(PageSection.REQUEST, "the form of the request body", "", (lambda: ItemText(head),))
        yield SectionItem(PageSection.REQUEST, "an example of the request body", "", self._examples(content, "request"))

    def _examples(
        self, content: MediaType, direction: Direction, status: str = ""
    ) -> tuple[Callable[[], ItemText], ...]:
        """Return forms of an example body, the fullest first."""
        schema = content.schema

        def whole() -> Any:
            return best_example(self._description, schema, content.example, direction=direction)

        def small(depth: int) -> Any:
            return example_of(self._description, schema, direction=direction, depth=depth)

        def example(value: Any) -> ItemText:
            value = finite(value)
            return ItemText(fenced(value), "example" if status else "request", (status, value) if status else value)

        made = (lambda: example(whole()),)
        return made if schema is None else (*made, lambda: example(small(1)), lambda: example(small(0)))

    def _auth(self) -> SectionItem:
        ways = self.auth
        lines = "\n".join(f"- {way}" for way in ways)
        return SectionItem(PageSection.AUTH, "sign-in", "", (lambda: ItemText(lines, "auth", ways),))

    @cached_property
    def auth(self) -> tuple[str, ...]:
        """The ways to authenticate."""
        return auth_of(self._description, self._operation)

    @cached_property
    def _samples(self) -> Mapping[str, str]:
        if self._operation.pointer.startswith("/webhooks/"):
            return {}
        call = call_of(
            self._description,
            self._operation,
            base_url=self._base_url,
            location=self._location,
            prefix=self._endpoint.provider or "api",
        )
        return samples_of(call)

    def _sample(self, language: str, section: PageSection) -> Iterator[SectionItem]:
        if language in self._samples:
            code = self._samples[language]
            fenced = fenced_text(code, "sh" if language == "curl" else "python")
            yield SectionItem(
                section, f"a sample in {language}", "", (lambda: ItemText(fenced, "samples", (language, code)),)
            )

    def _successes(self) -> Iterator[SectionItem]:
        answers = [one for one in self._operation.responses if one.status.startswith(_SUCCESS)]
        answers = answers or [one for one in self._operation.responses if one.status == "default"]
        for one in answers:
            yield self._response(one, PageSection.RESPONSES, "responses")
        for one in answers[:1]:
            yield from self._response_example(one)

    def _errors(self) -> Iterator[SectionItem]:
        succeeds = any(one.status.startswith(_SUCCESS) for one in self._operation.responses)
        for one in self._operation.responses:
            if one.status.startswith(("4", "5")) or (succeeds and one.status == "default"):
                yield self._response(one, PageSection.ERRORS, "errors")

    def _response(self, one: Response, section: PageSection, group: str) -> SectionItem:
        content = one.contents[0] if one.contents else None
        shape = "" if content is None or content.schema is None else type_of(self._description, content.schema)
        data: dict[str, Any] = {
            "status": one_line(one.status, 20),
            "description": one_line(one.description, _SAID),
            "media": "" if content is None else one_line(content.media, 80),
            "schema": shape,
        }
        if links := [one_line(link, _SAID) for link in one.links[:_LINKS]]:
            data["links"] = links
        form = ", ".join(item for item in (data["media"], shape) if item)
        suffix = f": {data['description']}" if data["description"] else ""
        then = f"; then {' or '.join(links)}" if links else ""
        line = f"- {data['status']}{suffix}{f' [{form}]' if form else ''}{then}"
        return SectionItem(section, group, data["status"], (lambda: ItemText(line, "responses", data),))

    def _response_example(self, one: Response) -> Iterator[SectionItem]:
        content = one.contents[0] if one.contents else None
        if content is None or (not content.schema and content.example is None):
            return
        status = one_line(one.status, 20)
        yield SectionItem(
            PageSection.RESPONSES, "an example of the answer", "", self._examples(content, "response", status)
        )

    def _about(self) -> Iterator[SectionItem]:
        if self._endpoint.tips:
            lines = "\n".join(f"- {one_line(tip, _SAID)}" for tip in self._endpoint.tips)
            yield SectionItem(PageSection.ABOUT, "tips", "", (lambda: ItemText(lines),))
        opening, _ = opening_of(self._operation.description)
        if opening:
            yield SectionItem(PageSection.ABOUT, "its description", "", (lambda: ItemText(quoted(opening)),))

    def _more(self) -> Iterator[SectionItem]:
        _, rest = opening_of(self._operation.description)
        if rest:
            yield SectionItem(PageSection.MORE, "the rest of its description", "", (lambda: ItemText(quoted(rest)),))

    @cached_property
    def _sent(self) -> tuple[str, ...]:
        content = sent_content(self._operation.body)
        schemas = [one.schema for one in self._operation.parameters]
        return self._named([*([] if content is None else [content.schema]), *schemas])

    @cached_property
    def _got(self) -> tuple[str, ...]:
        ordered = sorted(self._operation.responses, key=lambda one: not one.status.startswith(_SUCCESS))
        found = self._named([one.contents[0].schema for one in ordered if one.contents])
        return tuple(ref for ref in found if ref not in self._sent)

    def _named(self, schemas: list[Any]) -> tuple[str, ...]:
        reached = schemas_reached(self._description, schemas)
        return tuple(ref for ref in reached if not is_simple(self._description, {"$ref": ref}))

    def _schemas(self, refs: tuple[str, ...], group: str, first: int) -> Iterator[SectionItem]:
        """Yield the first schemas, or if `first` is 0 those after the first three."""
        for ref in refs[:first] if first else refs[3:]:
            yield SectionItem(
                PageSection.SCHEMAS,
                group,
                one_line(name_of(ref), 120),
                (lambda ref=ref: self._schema(ref),),
            )

    def _schema(self, ref: str) -> ItemText:
        schema, name = self._description.resolve(ref), name_of(ref)
        listed = list(islice(lines_of(self._description, schema), _LINES + 1))
        more = ["- and more"] if len(listed) > _LINES else []
        lines = [f"### {one_line(name, 120)}", *(f"- {line}" for line in listed[:_LINES]), *more]
        return ItemText("\n".join(lines), "schemas", (name, finite(brief_schema(schema))))
