"""What there is to say of an operation, in parts: each with its lines, its data, and how soon a caller needs it.

Invariant: pure; other people's words stand on single lines, behind quotation marks of Markdown, or inside of a fence
that is longer than any in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final

from thresher.core import one_line
from thresher.knowledge.apis.details_said import Part, Said, Section, fenced, fenced_text, opening_of, quoted
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

_SAID: Final = 240
_LINES: Final = 300
"""Properties of a schema that are told."""
_SUCCESS: Final = ("2", "3")


class Parts:
    """The parts of one operation, those first that a caller needs first.

    Args:
        description: That of the operation.
        operation: What is to be called.
        endpoint: The same in brief.
        base_url: Where it is called, where the description does not say.
    """

    def __init__(self, description: Description, operation: Operation, endpoint: FoundEndpoint, base_url: str) -> None:
        self._description = description
        self._operation = operation
        self._endpoint = endpoint
        self._base_url = base_url

    def __iter__(self) -> Iterator[Part]:
        """All parts."""
        required = [one for one in self._operation.parameters if one.required]
        optional = [one for one in self._operation.parameters if not one.required]
        yield from self._parameters(required, "parameters that must be given")
        yield from self._request()
        yield self._auth()
        yield from self._sample("curl", Section.CURL)
        yield from self._successes()
        yield from self._schemas(self._sent, "schemas of the request", 3)
        yield from self._about()
        yield from self._parameters(sorted(optional, key=lambda one: one.deprecated), "optional parameters")
        yield from self._errors()
        yield from self._sample("python", Section.PYTHON)
        yield from self._schemas(self._got, "schemas of the answer", 3)
        yield from self._more()
        yield from self._schemas(self._sent, "schemas of the request", 0)
        yield from self._schemas(self._got, "schemas of the answer", 0)

    @property
    def head(self) -> str:
        """What it is, and where: the first lines."""
        one, operation = self._endpoint, self._operation
        marks = [f"{one.provider} {one.version}".strip(), one.id, one_line(operation.operation_id, _SAID)]
        marks += ["deprecated"] if operation.deprecated else []
        about = f"{one_line(one.title, _SAID)} ({', '.join(mark for mark in marks if mark)})"
        where = base_of(self._description, operation, self._base_url)
        unsaid = " (a placeholder: the description names no server)" if is_placeholder(where) else ""
        call = f"# {one_line(operation.method, 20)} {one_line(operation.path, 500)}"
        return f"{call}\n{about}\nBase: {one_line(where, 300)}{unsaid}"

    def _parameters(self, parameters: list[Parameter], group: str) -> Iterator[Part]:
        for one in parameters:
            yield Part(
                Section.PARAMETERS,
                group,
                one_line(one.name, 80),
                (lambda one=one: self._parameter(one),),
            )

    def _parameter(self, one: Parameter) -> Said:
        words = self._parameter_data(one)
        must = "*" if one.required else ""
        marks = ", ".join(
            part
            for part in (words["in"], words["type"], words["bounds"], "deprecated" if one.deprecated else "")
            if part
        )
        said = f": {words['description']}" if words["description"] else ""
        return Said(f"- {words['name']}{must} ({marks}){said}", "parameters", words)

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

    def _request(self) -> Iterator[Part]:
        body = self._operation.body
        content = sent_content(body)
        if body is None or content is None:
            return
        others = [one.media for one in body.contents if one is not content]
        must = "must be sent" if body.required else "may be sent"
        also = f" (or {', '.join(one_line(one, 80) for one in others)})" if others else ""
        said = f": {one_line(body.description, _SAID)}" if body.description else ""
        shape = f", {type_of(self._description, content.schema)}" if content.schema is not None else ""
        head = f"{one_line(content.media, 80)}{also}{shape}, {must}{said}"
        yield Part(Section.REQUEST, "the form of the request body", "", (lambda: Said(head),))
        yield Part(Section.REQUEST, "an example of the request body", "", self._examples(content, "request"))

    def _examples(self, content: MediaType, direction: Direction, status: str = "") -> tuple[Callable[[], Said], ...]:
        """Examples of a body, the fullest first."""
        schema = content.schema

        def whole() -> Any:
            return best_example(self._description, schema, content.example, direction=direction)

        def small(depth: int) -> Any:
            return example_of(self._description, schema, direction=direction, depth=depth)

        def said(value: Any) -> Said:
            value = finite(value)
            return Said(fenced(value), "example" if status else "request", (status, value) if status else value)

        made = (lambda: said(whole()),)
        return made if schema is None else (*made, lambda: said(small(1)), lambda: said(small(0)))

    def _auth(self) -> Part:
        ways = self.auth
        lines = "\n".join(f"- {way}" for way in ways)
        return Part(Section.AUTH, "sign-in", "", (lambda: Said(lines, "auth", ways),))

    @cached_property
    def auth(self) -> tuple[str, ...]:
        """Ways to be let in."""
        return auth_of(self._description, self._operation)

    @cached_property
    def _samples(self) -> Mapping[str, str]:
        if self._operation.pointer.startswith("/webhooks/"):
            return {}
        call = call_of(
            self._description, self._operation, base_url=self._base_url, prefix=self._endpoint.provider or "api"
        )
        return samples_of(call)

    def _sample(self, language: str, section: Section) -> Iterator[Part]:
        if language in self._samples:
            code = self._samples[language]
            fenced = fenced_text(code, "sh" if language == "curl" else "python")
            yield Part(section, f"a sample in {language}", "", (lambda: Said(fenced, "samples", (language, code)),))

    def _successes(self) -> Iterator[Part]:
        answers = [one for one in self._operation.responses if one.status.startswith(_SUCCESS)]
        answers = answers or [one for one in self._operation.responses if one.status == "default"]
        for one in answers:
            yield self._response(one, Section.RESPONSES, "responses")
        for one in answers[:1]:
            yield from self._response_example(one)

    def _errors(self) -> Iterator[Part]:
        succeeds = any(one.status.startswith(_SUCCESS) for one in self._operation.responses)
        for one in self._operation.responses:
            if one.status.startswith(("4", "5")) or (succeeds and one.status == "default"):
                yield self._response(one, Section.ERRORS, "errors")

    def _response(self, one: Response, section: Section, group: str) -> Part:
        content = one.contents[0] if one.contents else None
        shape = "" if content is None or content.schema is None else type_of(self._description, content.schema)
        data = {
            "status": one_line(one.status, 20),
            "description": one_line(one.description, _SAID),
            "media": "" if content is None else one_line(content.media, 80),
            "schema": shape,
        }
        form = ", ".join(part for part in (data["media"], shape) if part)
        said = f": {data['description']}" if data["description"] else ""
        line = f"- {data['status']}{said}{f' [{form}]' if form else ''}"
        return Part(section, group, data["status"], (lambda: Said(line, "responses", data),))

    def _response_example(self, one: Response) -> Iterator[Part]:
        content = one.contents[0] if one.contents else None
        if content is None or (not content.schema and content.example is None):
            return
        status = one_line(one.status, 20)
        yield Part(Section.RESPONSES, "an example of the answer", "", self._examples(content, "response", status))

    def _about(self) -> Iterator[Part]:
        if self._endpoint.tips:
            lines = "\n".join(f"- {one_line(tip, _SAID)}" for tip in self._endpoint.tips)
            yield Part(Section.ABOUT, "tips", "", (lambda: Said(lines),))
        opening, _ = opening_of(self._operation.description)
        if opening:
            yield Part(Section.ABOUT, "its description", "", (lambda: Said(quoted(opening)),))

    def _more(self) -> Iterator[Part]:
        _, rest = opening_of(self._operation.description)
        if rest:
            yield Part(Section.MORE, "the rest of its description", "", (lambda: Said(quoted(rest)),))

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

    def _schemas(self, refs: tuple[str, ...], group: str, first: int) -> Iterator[Part]:
        """The first ones, or with 0 those after the first three."""
        for ref in refs[:first] if first else refs[3:]:
            yield Part(
                Section.SCHEMAS,
                group,
                one_line(name_of(ref), 120),
                (lambda ref=ref: self._schema(ref),),
            )

    def _schema(self, ref: str) -> Said:
        schema, name = self._description.resolve(ref), name_of(ref)
        said = list(islice(lines_of(self._description, schema), _LINES + 1))
        more = ["- and more"] if len(said) > _LINES else []
        lines = [f"### {one_line(name, 120)}", *(f"- {line}" for line in said[:_LINES]), *more]
        return Said("\n".join(lines), "schemas", (name, finite(brief_schema(schema))))
