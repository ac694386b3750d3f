"""Finds the references of a description that lead nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from thresher.openapi.digests import refs_in, written
from thresher.openapi.notes import Code, Notes
from thresher.openapi.pointers import join
from thresher.openapi.records import Json
from thresher.openapi.references import Missing, References
from thresher.openapi.walks import mappings_in

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
