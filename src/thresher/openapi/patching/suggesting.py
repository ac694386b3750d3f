"""Which texts mend which findings.

Invariant: a finding that no honest text mends gets none; what stands behind a reference is mended where it is defined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final, TypeAlias, cast

from thresher.openapi.description import Description
from thresher.openapi.examples import checked_example
from thresher.openapi.patching.contracts import WORDS
from thresher.openapi.patching.documents import walked
from thresher.openapi.patching.facts import schema_words
from thresher.openapi.patching.sentences import (
    api_text,
    body_text,
    operation_text,
    parameter_text,
    response_text,
    summary_of,
    tag_text,
)
from thresher.openapi.pointers import join, parent, pointer_of, split
from thresher.openapi.records import Content, Edit, Finding, Json, Operation, Parameter, Tag
from thresher.openapi.references import reference_of

_HOPS: Final = 16


def suggest_edits(description: Description, findings: Iterable[Finding]) -> list[Edit]:
    """Texts that mend findings, each place once.

    Args:
        description: In which they were found.
        findings: Some of them.
    """
    writer = _Writer(description)
    edits: dict[str, Edit] = {}
    for finding in findings:
        write = _WRITES.get(finding.rule)
        edit = write(writer, finding) if write else None
        if edit is not None:
            edits.setdefault(edit.pointer, edit)
    return list(edits.values())


class _Writer:
    """Writes the texts of one description."""

    def __init__(self, description: Description) -> None:
        self._description = description

    def description(self, finding: Finding) -> Edit | None:
        """What to say of the thing at a finding's place."""
        holder = self._holder(finding.place.pointer)
        return _edit(holder, "description", self._text(holder, finding), finding)

    def summary(self, finding: Finding) -> Edit | None:
        """A summary of the finding's operation."""
        holder = self._holder(finding.place.pointer)
        operation = self._operations.get(holder) or self._by_key.get(finding.operation)
        return None if operation is None else _edit(operation.pointer, "summary", summary_of(operation), finding)

    def example(self, finding: Finding) -> Edit | None:
        """An example of the form of a body, made from its schema; none where none holds."""
        holder = self._holder(finding.place.pointer)
        there, value = walked(self._description.root, split(holder))
        if not there or not isinstance(value, dict):
            return None
        fields = cast("dict[str, Json]", value)
        schema = fields.get("schema")
        if not isinstance(schema, dict) or "examples" in fields:
            return None
        direction = "response" if "/responses/" in holder else "request"
        made, holds = checked_example(self._description, schema, direction=direction)
        return _edit(holder, "example", made, finding) if holds and made not in (None, "", {}, []) else None

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
        said = self._said[parameter.name, parameter.place]
        schema = self._description.follow(parameter.schema)
        shared = holder.startswith(("/components/", "/parameters/"))
        return parameter_text(parameter, None if shared else taker or operation, said, schema)

    def _holder(self, pointer: str) -> str:
        """The pointer of what holds the text that is missing or wrong, past references."""
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
    def _bodies(self) -> Mapping[str, Content]:
        """The first forms of bodies, by where the bodies are defined."""
        bodies = (operation.body for operation in self._description.operations)
        return {body.pointer: body.contents[0] for body in bodies if body is not None and body.contents}

    @cached_property
    def _said(self) -> Mapping[tuple[str, str], list[str]]:
        """What is said of parameters, by name and place."""
        said: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for operation in self._description.operations:
            for parameter in operation.parameters:
                if text := parameter.description.strip():
                    said[parameter.name, parameter.place].append(text)
        return said


_Write: TypeAlias = Callable[[_Writer, Finding], Edit | None]

_WRITES: Final[Mapping[str, _Write]] = {
    **dict.fromkeys(
        ("operation-description", "info-description", "tag-description", "oas2-parameter-description"),
        _Writer.description,
    ),
    **dict.fromkeys(("oas3-parameter-description",), _Writer.description),
}
"""What mends a rule's findings."""


def _edit(holder: str, key: str, value: Json, finding: Finding) -> Edit | None:
    return Edit(join(holder, key), value, finding.rule) if value else None
