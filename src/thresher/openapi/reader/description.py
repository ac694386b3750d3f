"""A description that was read: its operations, its problems, and access to any part by reference or pointer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, cast

from thresher.openapi.pointers import join
from thresher.openapi.reader.context import Context, dialect_of, schemas_pointer
from thresher.openapi.reader.digests import Digests, refs_in, written
from thresher.openapi.reader.loading import Format, LoadedSource, load
from thresher.openapi.reader.operations import read_operations
from thresher.openapi.reader.positions import Positions
from thresher.openapi.reader.problems import LIMITS, Code, DescriptionLimits, Notes, ProblemNote, too_large
from thresher.openapi.reader.references import MissingType, ReferenceResolver, mappings_in
from thresher.openapi.reader.spec_objects import read_schemes, read_security, read_servers, read_tags
from thresher.openapi.records import Dialect, Json, Operation, Problem, Requirement, SecurityScheme, SourceLocation, Tag

_BUNDLE: Final = "Bundle the description into one file first."
_CLIP: Final = 160


def note_broken(root: Mapping[str, Json], references: ReferenceResolver, notes: Notes) -> None:
    """Note each reference that leaves the document, has no target, or leads only to other references."""
    broken = {ref for ref in refs_in(written(root)) if not _leads(ref, references)}
    if not broken:
        return
    for fields, pointer in mappings_in(root):
        ref = fields.get("$ref")
        if isinstance(ref, str) and ref in broken:
            code, message = _problem_of(ref, references)
            notes.add(code, message, join(pointer, "$ref"))


def _leads(ref: str, references: ReferenceResolver) -> bool:
    """Return whether a reference ends at a value."""
    value, pointer = references.at(ref)
    return not isinstance(value, MissingType) and not isinstance(references.follow(value, pointer)[0], MissingType)


def _problem_of(ref: str, references: ReferenceResolver) -> tuple[Code, str]:
    """Return the problem code and message for a broken reference."""
    named = repr(ref if len(ref) <= _CLIP else f"{ref[:_CLIP]}...")
    if not ref.startswith("#"):
        return "remote-ref", f"The reference {named} leaves the document and is not followed. {_BUNDLE}"
    if isinstance(references.at(ref)[0], MissingType):
        return "unresolved-ref", f"The reference {named} names nothing in the document. Add it, or correct the name."
    return "circular-ref", f"The reference {named} leads to no value, only to more references. Point it at a value."


class Description:
    """A description that was read.

    Attributes:
        name: Name given by the caller, such as a file name; may be empty.
        dialect: Specification version.
        format: `json` or `yaml`.
        text: Its source without a byte order mark.
        digest: SHA-256 of its bytes, hexadecimal.
        root: The whole document as plain data; must not be changed.
        title: `info.title`.
        declared: `info.version`.
        summary: `info.summary`, or `info.description`.
        servers: Base addresses with the defaults of their variables.
        tags: The tags that it explains.
        operations: In document order.
        security_schemes: By name.
        security: Alternative security requirements, which apply unless an operation has its own; None if not given.
    """

    def __init__(
        self, name: str, digest: str, context: Context, loaded: LoadedSource, limits: DescriptionLimits
    ) -> None:
        self.name = name
        self.digest = digest
        self.text = loaded.text
        self.format: Format = loaded.format
        self._readable = loaded.readable
        self.dialect: Dialect = context.dialect
        self.root = context.root
        self._references = context.references
        info, place = context.mapping(context.root, "info", "")
        self.title = context.text(info, "title", place)
        self.declared = context.text(info, "version", place)
        self.summary = context.text(info, "summary", place) or context.text(info, "description", place)
        self.servers: tuple[str, ...] = read_servers(context, context.root, "")
        self.tags: tuple[Tag, ...] = read_tags(context)
        self.security_schemes: Mapping[str, SecurityScheme] = read_schemes(context)
        self.security: tuple[Requirement, ...] | None = read_security(context, context.root, "")
        self.operations: tuple[Operation, ...] = _operations(context, limits)
        note_broken(context.root, context.references, context.notes)
        self._notes = tuple(context.notes.kept)
        self._unlisted = context.notes.beyond

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The parts that were left out, in the order of the text."""
        placed = (Problem(each.code, each.message, self._placed(each)) for each in self._notes)
        listed = sorted(placed, key=lambda each: (each.place.line, each.place.column))
        if self._unlisted:
            listed.append(
                Problem("more-problems", f"{self._unlisted:,} more problems are not listed.", SourceLocation(""))
            )
        return tuple(listed)

    @property
    def schemas(self) -> Mapping[str, Json]:
        """The named schemas as written."""
        found, _ = self._references.at(schemas_pointer(self.dialect))
        return cast("dict[str, Json]", found) if isinstance(found, dict) else {}

    def schema(self, name: str) -> Mapping[str, Json]:
        """Return a named schema; an empty one if there is none."""
        found = self.schemas.get(name)
        return cast("dict[str, Json]", found) if isinstance(found, dict) else {}

    def resolve(self, ref: str) -> Json | MissingType:
        """Return the target of a reference (`#/components/schemas/Pet`) or pointer (`/components/schemas/Pet`).

        References on the way are followed; if the target is itself a reference, use `follow`.

        Returns:
            The value, or `MISSING` (which is false) if there is none or the reference leaves the document.
        """
        return self._references.at(ref)[0]

    def follow(self, value: Json) -> Json | MissingType:
        """Return the value, or what its chain of references ends at; `MISSING` if the chain is broken or circular."""
        return self._references.follow(value, "")[0]

    def place(self, pointer: str) -> SourceLocation:
        """Return the location of a key or list entry; if it is absent, that of its nearest existing ancestor."""
        line, column = self._positions.line(pointer)
        return SourceLocation(pointer, line, column)

    def _placed(self, note: ProblemNote) -> SourceLocation:
        return SourceLocation(note.pointer, note.line, 1) if note.line else self.place(note.pointer)

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self._readable, self.format)


def read_description(data: bytes, *, name: str = "", limits: DescriptionLimits = LIMITS) -> Description:
    """Read an API description. Its content decides whether it is read as JSON or YAML.

    Args:
        data: Its bytes.
        name: Used in messages, such as a file name.
        limits: Bounds beyond which the description is refused.

    Raises:
        InvalidInput: Nothing can be read: it is too large, not text, neither JSON nor YAML, not a mapping, nested too
            deeply, has aliases that expand too far, or declares no supported version. Lesser faults are listed in
            `problems`.
    """
    notes = Notes(limits.problems)
    loaded = load(data, limits, notes)
    dialect = dialect_of(loaded.root, notes)
    context = Context(dialect, loaded.root, ReferenceResolver(loaded.root, dialect in {"3.1", "3.2"}), notes)
    return Description(name, hashlib.sha256(data).hexdigest(), context, loaded, limits)


def _operations(context: Context, limits: DescriptionLimits) -> tuple[Operation, ...]:
    """Read the operations, each with the schemas that it reaches and its digest."""
    digests = Digests(context.references, schemas_pointer(context.dialect), limits)
    found: list[Operation] = []
    parts = 0
    for operation, said in read_operations(context):
        parts += _parts_of(operation)
        if parts > limits.parts:
            raise too_large(
                f"The operations have more than {limits.parts:,} parameters, responses and the like together."
            )
        found.append(_finished(digests, operation, said))
    return tuple(found)


def _parts_of(operation: Operation) -> int:
    contents = len(operation.body.contents) if operation.body else 0
    answers = sum(1 + len(each.contents) for each in operation.responses)
    return len(operation.parameters) + contents + answers + len(operation.security or ()) + len(operation.servers)


def _finished(digests: Digests, operation: Operation, said: Sequence[Json]) -> Operation:
    schemas, digest = digests.of(said)
    return replace(operation, schemas=schemas, digest=digest)
