"""Suggests texts that fix findings.

Invariant: a finding that no honest text can fix gets none; content behind a reference is fixed where it is defined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias, cast

from thresher.openapi.patching.contracts import WORDS, example_place
from thresher.openapi.patching.documents import walked
from thresher.openapi.patching.names import schema_words
from thresher.openapi.patching.samples import mended_example, new_example
from thresher.openapi.patching.sentences import (
    apart_text,
    api_text,
    body_text,
    operation_text,
    parameter_text,
    response_text,
    tag_text,
    telling_summaries,
)
from thresher.openapi.pointers import join, parent, pointer_of, split
from thresher.openapi.reader.description import Description
from thresher.openapi.reader.references import reference_of
from thresher.openapi.records import Edit, Finding, Json, MediaType, Operation, Parameter, Tag
from thresher.openapi.schema_checks import Direction
from thresher.openapi.schemas import mapped

_HOPS: Final = 16


def suggest_edits(description: Description, findings: Iterable[Finding]) -> list[Edit]:
    """Return edits that fix findings, at most one per place.

    Args:
        description: The description with the findings.
        findings: Findings to fix.
    """
    findings = tuple(findings)
    writer = _Writer(description, findings)
    edits: dict[str, Edit] = {}
    for finding in findings:
        write = _WRITES.get(finding.rule)
        edit = write(writer, finding) if write else None
        if edit is not None:
            edits.setdefault(edit.pointer, edit)
    return list(edits.values())


class _Writer:
    """Writes the texts of one description."""

    def __init__(self, description: Description, findings: Sequence[Finding]) -> None:
        self._description = description
        self._examples: dict[tuple[str, str], Json] = {}
        self._unsummed = {each.operation for each in findings if _WRITES.get(each.rule) is _Writer.summary}

    def description(self, finding: Finding) -> Edit | None:
        """Return a description for the place of a finding."""
        holder = self._holder(finding.place.pointer)
        return _edit(holder, "description", self._text(holder, finding), finding)

    def summary(self, finding: Finding) -> Edit | None:
        """Return a summary for the operation of a finding."""
        holder = self._holder(finding.place.pointer)
        operation = self._operations.get(holder) or self._by_key.get(finding.operation)
        text = self._summaries.get(operation.key, "") if operation else ""
        if operation is None or text == operation.summary:
            return None  # the new summary of the other operation distinguishes the two
        return _edit(operation.pointer, "summary", text, finding)

    def distinguishing_description(self, finding: Finding) -> Edit | None:
        """Return a description that distinguishes the operation of a finding from its near-duplicate."""
        operation = self._by_key.get(finding.operation)
        if operation is None:
            return None
        twin = self._by_key.get(re.split(r", | and \d+ more$", finding.evidence)[0])
        return _edit(operation.pointer, "description", apart_text(operation, twin), finding)

    def example(self, finding: Finding) -> Edit | None:
        """Return an example of a body or response, made from its schema, or None if none is valid."""
        holder = self._holder(finding.place.pointer)
        fields = mapped(walked(self._description.root, split(holder))[1])
        schema = fields.get("schema")
        if not isinstance(schema, dict) or "examples" in fields:
            return None
        direction = _direction(holder)
        made = self._example(cast("dict[str, Json]", schema), direction)
        if made is None:
            return None
        if self._description.dialect != "2.0":
            return _edit(holder, "example", made, finding)
        if direction == "response":
            return _edit(holder, "examples", {self._media(finding): made}, finding)
        return _edit(self._holder(join(holder, "schema")), "example", made, finding)

    def mended(self, finding: Finding) -> Edit | None:
        """Return a valid example that is as close as possible to the invalid one."""
        place = example_place(self._description.root, finding.place.pointer)
        if place is None:
            return None
        holder, target = place
        there, value = walked(self._description.root, split(target))
        fields = mapped(walked(self._description.root, split(holder))[1])
        schema = (
            fields.get("schema")
            if "media" in finding.rule
            else {key: each for key, each in fields.items() if key not in WORDS}
        )
        if not there or not isinstance(schema, dict):
            return None
        better = mended_example(self._description, schema, value, _direction(holder))
        return None if better is None else Edit(target, better, finding.rule)

    def _text(self, holder: str, finding: Finding) -> str:
        keys = split(holder)
        if (operation := self._operations.get(holder)) is not None:
            return operation_text(operation, self._description)
        if keys == ("info",):
            return api_text(self._description)
        if len(keys) == 2 and keys[0] == "tags":
            return self._tag_text(holder)
        operation = self._by_key.get(finding.operation)
        if len(keys) > 1 and keys[-2] == "responses":
            return self._response_text(holder, operation)
        return self._parameter_text(holder, operation)

    def _tag_text(self, holder: str) -> str:
        name = walked(self._description.root, (*split(holder), "name"))[1]
        return tag_text(Tag(name), self._description.operations) if isinstance(name, str) else ""

    def _response_text(self, holder: str, operation: Operation | None) -> str:
        status = split(holder)[-1]
        response = next((each for each in operation.responses if each.pointer == holder), None) if operation else None
        schema = response.contents[0].schema if response and response.contents else None
        words = schema_words(schema, self._description) if schema else ""
        return response_text(response.status if response else status, operation, words)

    def _parameter_text(self, holder: str, operation: Operation | None) -> str:
        parameter, taker = self._parameters.get(holder, (None, None))
        if parameter is None:
            return body_text(self._bodies.get(holder), self._description)
        said = self._parameter_descriptions[parameter.name, parameter.place]
        schema = self._description.follow(parameter.schema)
        shared = holder.startswith(("/components/", "/parameters/"))
        return parameter_text(parameter, None if shared else taker or operation, said, schema)

    def _holder(self, pointer: str) -> str:
        """Return the pointer of the object whose text is missing or wrong, references followed."""
        keys = split(pointer)
        if keys and keys[-1] in WORDS and pointer not in self._operations:
            pointer = parent(pointer)
        for _ in range(_HOPS):
            there, value = walked(self._description.root, split(pointer))
            ref = reference_of(value) if there else None
            target = pointer_of(ref) if ref is not None else None
            if not target:
                return pointer
            pointer = target
        return pointer

    def _example(self, schema: Mapping[str, Json], direction: Direction) -> Json:
        """Return an example of a schema; that of a referenced one is made once."""
        ref = reference_of(schema)
        if ref is None:
            return new_example(self._description, schema, direction)
        if (ref, direction) not in self._examples:
            self._examples[ref, direction] = new_example(self._description, schema, direction)
        return self._examples[ref, direction]

    def _media(self, finding: Finding) -> str:
        """Return the media type of a Swagger 2.0 response."""
        operation = self._by_key.get(finding.operation)
        contents = [content for each in operation.responses for content in each.contents] if operation else []
        return next((each.media for each in contents if "json" in each.media), "application/json")

    @cached_property
    def _summaries(self) -> Mapping[str, str]:
        """Summaries for operations without a distinctive one."""
        return telling_summaries(self._description.operations, self._unsummed)

    @cached_property
    def _operations(self) -> Mapping[str, Operation]:
        return {operation.pointer: operation for operation in self._description.operations}

    @cached_property
    def _by_key(self) -> Mapping[str, Operation]:
        return {operation.key: operation for operation in self._description.operations}

    @cached_property
    def _parameters(self) -> Mapping[str, tuple[Parameter, Operation]]:
        """Parameters by where they are defined, each with the first operation that takes it."""
        found: dict[str, tuple[Parameter, Operation]] = {}
        for operation in self._description.operations:
            for parameter in operation.parameters:
                found.setdefault(parameter.pointer, (parameter, operation))
        return found

    @cached_property
    def _bodies(self) -> Mapping[str, MediaType]:
        """The first content of each body, by where the body is defined."""
        bodies = (operation.body for operation in self._description.operations)
        return {body.pointer: body.contents[0] for body in bodies if body is not None and body.contents}

    @cached_property
    def _parameter_descriptions(self) -> Mapping[tuple[str, str], list[str]]:
        """Descriptions of parameters, by name and location."""
        said: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for operation in self._description.operations:
            for parameter in operation.parameters:
                if text := parameter.description.strip():
                    said[parameter.name, parameter.place].append(text)
        return said


_Write: TypeAlias = Callable[[_Writer, Finding], Edit | None]

_WRITES: Final[Mapping[str, _Write]] = {
    **dict.fromkeys(
        (
            "operation-description",
            "info-description",
            "tag-description",
            "oas2-parameter-description",
            "oas3-parameter-description",
            "parameter-description-echo",
            "property-description",
            "description-short",
            "description-repeats-summary",
        ),
        _Writer.description,
    ),
    **dict.fromkeys(("operation-summary", "summary-repeats-name", "summary-not-unique"), _Writer.summary),
    **dict.fromkeys(("near-duplicate-description",), _Writer.distinguishing_description),
    **dict.fromkeys(("request-example", "response-example"), _Writer.example),
    **dict.fromkeys(
        (
            "oas2-valid-media-example",
            "oas2-valid-schema-example",
            "oas3-valid-media-example",
            "oas3-valid-schema-example",
        ),
        _Writer.mended,
    ),
}
"""How to fix the findings of each rule."""


def _direction(pointer: str) -> Direction:
    return "response" if "/responses/" in pointer else "request"


def _edit(holder: str, key: str, value: Json, finding: Finding) -> Edit | None:
    return Edit(join(holder, key), value, finding.rule) if value else None
