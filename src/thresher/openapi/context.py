"""Typed looks at plain data that may be anything, which note what is not as it should be.

Invariant: nothing here raises, whatever stands in the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from thresher.openapi.notes import Notes
from thresher.openapi.pointers import join
from thresher.openapi.records import Body, Dialect, Json, Parameter, Response
from thresher.openapi.references import Missing, References, reference_of

_NAMES: Final[Mapping[type, str]] = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Context:
    """What reading any part of one description needs.

    Attributes:
        dialect: Of the description.
        root: Plain data.
        references: Its resolver.
        notes: Takes what is wrong.
        parameters: Those already read, by the pointer that defines them.
        responses: Likewise.
        bodies: Likewise.
    """

    dialect: Dialect
    root: Mapping[str, Json]
    references: References
    notes: Notes
    parameters: dict[str, Parameter | None] = field(default_factory=dict[str, "Parameter | None"])
    responses: dict[str, Response] = field(default_factory=dict[str, Response])
    bodies: dict[str, Body] = field(default_factory=dict[str, Body])

    def mapping(self, value: Json, pointer: str, what: str) -> Mapping[str, Json]:
        """The value where it is a mapping; an empty one else."""
        if isinstance(value, dict):
            return cast("dict[str, Json]", value)
        self._expect(value, pointer, what, "a mapping")
        return {}

    def items(self, value: Json, pointer: str, what: str) -> list[Json]:
        """The value where it is a list; an empty one else."""
        if isinstance(value, list):
            return cast("list[Json]", value)
        self._expect(value, pointer, what, "a list")
        return []

    def text(self, value: Json, pointer: str, what: str) -> str:
        """The value where it is text or a number; empty text else."""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._expect(value, pointer, what, "text")
        return ""

    def flag(self, value: Json, pointer: str, what: str) -> bool:
        """The value where it is true or false; false else."""
        if isinstance(value, bool):
            return value
        self._expect(value, pointer, what, "true or false")
        return False

    def texts(self, value: Json, pointer: str, what: str) -> tuple[str, ...]:
        """The texts of a list."""
        found = (self.text(each, join(pointer, i), what) for i, each in enumerate(self.items(value, pointer, what)))
        return tuple(dict.fromkeys(each for each in found if each))

    def entries(self, value: Json, pointer: str, what: str) -> Iterator[tuple[str, Json, str]]:
        """Key, value and pointer of a mapping's entries but its extensions (`x-...`)."""
        for key, each in self.mapping(value, pointer, what).items():
            if not key.startswith("x-"):
                yield key, each, join(pointer, key)

    def follow(self, value: Json, pointer: str, what: str) -> tuple[Mapping[str, Json], str]:
        """The mapping at the end of a reference, or the value itself, and where it stands.

        A broken reference was noted with all others; an empty mapping comes of it.
        """
        if reference_of(value) is None:
            return self.mapping(value, pointer, what), pointer
        target, place = self.references.follow(value, pointer)
        if isinstance(target, Missing):
            return {}, pointer
        return self.mapping(target, place, what), place

    def _expect(self, value: Json, pointer: str, what: str, wanted: str) -> None:
        if value is None:
            return
        seen = next((name for kind, name in _NAMES.items() if isinstance(value, kind)), "something else")
        self.notes.add("wrong-type", f"{what} must be {wanted}, not {seen}; it is left out.", pointer)
