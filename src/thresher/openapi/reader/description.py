"""A description that was read: its operations, its problems, and any part of it by reference or by place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, cast

from thresher.openapi.pointers import join
from thresher.openapi.reader.context import Context, dialect_of, schemas_pointer
from thresher.openapi.reader.digests import Digests, refs_in, written
from thresher.openapi.reader.loading import Format, Loaded, load
from thresher.openapi.reader.operations import read_operations
from thresher.openapi.reader.positions import Positions
from thresher.openapi.reader.problems import LIMITS, Code, Limits, Note, Notes, too_large
from thresher.openapi.reader.references import Missing, References, mappings_in
from thresher.openapi.reader.spec_objects import read_schemes, read_security, read_servers, read_tags
from thresher.openapi.records import Dialect, Json, Operation, Place, Problem, Requirement, SecurityScheme, Tag

_BUNDLE: Final = "Bundle the description into one file first."
_CLIP: Final = 160


def note_broken(root: Mapping[str, Json], references: References, notes: Notes) -> None:
    """Note each reference that leaves the document, that names what is not there, or that only leads to itself."""
    broken = {ref for ref in refs_in(written(root)) if not _leads(ref, references)}
    if not broken:
        return
    for fields, pointer in mappings_in(root):
        ref = fields.get("$ref")
        if isinstance(ref, str) and ref in broken:
            code, message = _said(ref, references)
            notes.add(code, message, join(pointer, "$ref"))


def _leads(ref: str, references: References) -> bool:
    """Whether a reference ends at a value."""
    value, pointer = references.at(ref)
    return not isinstance(value, Missing) and not isinstance(references.follow(value, pointer)[0], Missing)


def _said(ref: str, references: References) -> tuple[Code, str]:
    """Code and message for a broken reference."""
    named = repr(ref if len(ref) <= _CLIP else f"{ref[:_CLIP]}...")
    if not ref.startswith("#"):
        return "remote-ref", f"The reference {named} leaves the document and is not followed. {_BUNDLE}"
    if isinstance(references.at(ref)[0], Missing):
        return "unresolved-ref", f"The reference {named} names nothing in the document. Add it, or mend the name."
    return "circular-ref", f"The reference {named} leads to no value, only to more references. Point it at a value."


class Description:
    """A description that was read.

    Attributes:
        name: As its reader called it, such as a file's name; empty without.
        dialect: The specification that it follows.
        format: How it is written.
        text: Its source, without a byte order mark.
        digest: SHA-256 of its octets, hexadecimal.
        root: Plain data of the whole document; never to be changed.
        title: `info.title`.
        declared: `info.version`.
        summary: `info.summary`, or the first lines of `info.description`.
        servers: Base addresses, variables filled with their defaults.
        tags: Those that it explains.
        operations: In the order of the document.
        security_schemes: By name.
        security: Ways to be let in, where an operation says nothing else; None where nothing is said at all.
    """

    def __init__(self, name: str, digest: str, context: Context, loaded: Loaded, limits: Limits) -> None:
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
        """What could not be read and was left out, in the order of the text."""
        placed = (Problem(each.code, each.message, self._placed(each)) for each in self._notes)
        listed = sorted(placed, key=lambda each: (each.place.line, each.place.column))
        if self._unlisted:
            listed.append(Problem("more-problems", f"{self._unlisted:,} more problems are not listed.", Place("")))
        return tuple(listed)

    @property
    def schemas(self) -> Mapping[str, Json]:
        """The named schemas, as they stand."""
        found, _ = self._references.at(schemas_pointer(self.dialect))
        return cast("dict[str, Json]", found) if isinstance(found, dict) else {}

    def schema(self, name: str) -> Mapping[str, Json]:
        """A named schema; an empty one where there is none."""
        found = self.schemas.get(name)
        return cast("dict[str, Json]", found) if isinstance(found, dict) else {}

    def resolve(self, ref: str) -> Json | Missing:
        """What a reference (`#/components/schemas/Pet`) or a pointer (`/components/schemas/Pet`) names.

        References that stand on the way are followed, the one that may stand at its end is not: that is `follow`.

        Returns:
            The value; `MISSING`, which is false, where there is none, or where the reference leaves the document.
        """
        return self._references.at(ref)[0]

    def follow(self, value: Json) -> Json | Missing:
        """The value itself, or what its chain of references ends at; `MISSING` for a broken or a circular chain."""
        return self._references.follow(value, "")[0]

    def place(self, pointer: str) -> Place:
        """Where something stands: its key, or the entry of a list; that of its nearest holder where it is absent."""
        line, column = self._positions.line(pointer)
        return Place(pointer, line, column)

    def _placed(self, note: Note) -> Place:
        return Place(note.pointer, note.line, 1) if note.line else self.place(note.pointer)

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self._readable, self.format)


def read_description(data: bytes, *, name: str = "", limits: Limits = LIMITS) -> Description:
    """Read an API description, JSON or YAML by what it holds.

    Args:
        data: Its octets.
        name: For messages, such as a file's name.
        limits: Beyond which it is refused.

    Raises:
        InvalidInput: Nothing of it can be read: too large, no text, no JSON and no YAML, no mapping, nested too deeply,
            aliases that expand without end, or no version that is known. Anything less is one of its problems.
    """
    notes = Notes(limits.problems)
    loaded = load(data, limits, notes)
    dialect = dialect_of(loaded.root, notes)
    context = Context(dialect, loaded.root, References(loaded.root, dialect in {"3.1", "3.2"}), notes)
    return Description(name, hashlib.sha256(data).hexdigest(), context, loaded, limits)


def _operations(context: Context, limits: Limits) -> tuple[Operation, ...]:
    """The operations, each with the schemas that it reaches and its digest."""
    digests = Digests(context.references, schemas_pointer(context.dialect), limits)
    found: list[Operation] = []
    parts = 0
    for operation, said in read_operations(context):
        parts += _parts_of(operation)
        if parts > limits.parts:
            raise too_large(
                f"The operations have more than {limits.parts:,} parameters, answers and the like together."
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
