"""Sets values in the text of a source by their pointers.

Invariant: everything else keeps its characters: comments, order, quotes, white space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from thresher.openapi.patching.entries import (
    Render,
    added_in_block,
    added_in_braces,
    filled_braces,
    is_bare,
    json_entry,
    replaced_in_block,
    replaced_in_braces,
)
from thresher.openapi.patching.nodes import MappingNode, MappingNodes, json_nodes, pointer_tree, yaml_nodes
from thresher.openapi.patching.splices import Splice
from thresher.openapi.patching.styles import BlockWriter, Style, flow_text, line_text, style_of
from thresher.openapi.pointers import parent, split
from thresher.openapi.reader.characters import legible
from thresher.openapi.records import Edit, Json

_ALIASED = "It is in a part that an alias reuses elsewhere, which would change too."
_NOWHERE = "Its place is not in the source text: it comes from an alias or a merged mapping."
_TOUCHING = "Another edit changes the same place."

_RANKS: Final = {"summary": "0", "description": "1", "example": "2"}

Planned: TypeAlias = tuple[Splice, tuple[Edit, ...]]
"""A change of the text and the edits that it makes."""


@dataclass(frozen=True, slots=True)
class EditedText:
    """The changes of a text.

    Attributes:
        splices: The changes, in order.
        done: Edits that they make.
        dropped: Edits that they do not make, each with its reason.
    """

    splices: tuple[Splice, ...]
    done: tuple[Edit, ...]
    dropped: tuple[tuple[Edit, str], ...]


def edit_text(text: str, form: str, edits: Iterable[Edit]) -> EditedText:
    """Return the changes of a source's text that make these edits.

    Args:
        text: The source.
        form: `json` or `yaml`.
        edits: At most one per pointer.
    """
    edits = tuple(edits)
    wanted = pointer_tree(parent(edit.pointer) for edit in edits)
    nodes = json_nodes(text, wanted) if form == "json" else yaml_nodes(legible(text), wanted)
    style = style_of(text, form, nodes.found.values())
    writer = BlockWriter(style)
    planned: list[Planned] = []
    dropped: list[tuple[Edit, str]] = []
    bare: dict[str, list[Edit]] = {}
    for edit in edits:
        node = nodes.found.get(parent(edit.pointer))
        reason = _NOWHERE if node is None else _hindrance(node, nodes, edit)
        if node is None or reason:
            dropped.append((edit, reason))
        elif is_bare(text, node) and node.entry(split(edit.pointer)[-1]) is None:
            bare.setdefault(parent(edit.pointer), []).append(edit)
        else:
            planned.append((_splice(text, form, node, edit, style, writer), (edit,)))
    for pointer, group in bare.items():
        node = nodes.found[pointer]
        entries = {split(edit.pointer)[-1]: edit.value for edit in sorted(group, key=_rank)}
        planned.append((filled_braces(text, node, entries, *_in_braces(text, form, node, style)), tuple(group)))
    return _in_order(planned, dropped, ordered=style.ordered)


def _hindrance(node: MappingNode, nodes: MappingNodes, edit: Edit) -> str:
    """Return why an edit cannot be made in the text; empty if it can."""
    entry = node.entry(split(edit.pointer)[-1])
    if node.anchors & nodes.aliased or (entry is not None and entry.anchor in nodes.aliased):
        return _ALIASED
    return ""


def _splice(text: str, form: str, node: MappingNode, edit: Edit, style: Style, writer: BlockWriter) -> Splice:
    key = split(edit.pointer)[-1]
    entry = node.entry(key)
    if not node.flow and entry is None:
        return added_in_block(text, node, key, edit.value, style, writer)
    if not node.flow and entry is not None:
        return replaced_in_block(text, node, entry, edit.value, style, writer)
    style, render = _in_braces(text, form, node, style)
    if entry is None:
        return added_in_braces(text, node, key, edit.value, style, render)
    if form == "json":
        return replaced_in_braces(text, node, key, edit.value, style)
    style = replace(style, quote=entry.style) if entry.style in {"'", '"'} else style
    white = "" if text[entry.value - 1] in " \t\n" else " "
    return Splice(entry.value, entry.end, white + _flow_value(edit.value, text, node, style))


def _in_braces(text: str, form: str, node: MappingNode, style: Style) -> tuple[Style, Render]:
    """Return the style of entries in these braces and how to write one."""
    if form == "json":
        return style, json_entry(style)
    style = replace(style, indent="", colon=": ", ascii=False)
    return style, _flow_entry(text, node, style)


def _flow_entry(text: str, node: MappingNode, style: Style) -> Render:
    """Return how to write an entry in YAML's braces: as JSON if its neighbours are."""
    quoted = bool(node.entries) and text[node.entries[0].start] == '"'

    def render(key: str, value: Json, _indent: str, _breaking: bool) -> str:
        name = flow_text(key) if quoted else line_text(key, "plain", style.quoting, flow=True)
        return f"{name}: {_flow_value(value, text, node, style)}"

    return render


def _flow_value(value: Json, text: str, node: MappingNode, style: Style) -> str:
    quoted = bool(node.entries) and text[node.entries[0].start] == '"'
    if isinstance(value, str) and not quoted and "\n" not in value:
        return line_text(value, style.quote, style.quoting, flow=True)
    return flow_text(value)


def _in_order(planned: Sequence[Planned], dropped: list[tuple[Edit, str]], *, ordered: bool) -> EditedText:
    """Order the splices by position; of two that overlap the later one is dropped."""

    def order(each: Planned) -> tuple[int, int, int, str]:
        # Of splices that end at one place the innermost comes first: its lines belong to it.
        splice, edits = each
        keys = split(edits[0].pointer)
        return splice.start, splice.end, -len(keys), keys[-1] if ordered else _rank(edits[0])

    splices: list[Splice] = []
    done: list[Edit] = []
    reached = -1
    for splice, edits in sorted(planned, key=order):
        if splice.start < reached:
            dropped += [(edit, _TOUCHING) for edit in edits]
            continue
        reached = splice.end
        splices.append(splice)
        done += edits
    return EditedText(tuple(splices), tuple(done), tuple(dropped))


def _rank(edit: Edit) -> str:
    """Return the sort key for several new keys at one place."""
    key = split(edit.pointer)[-1]
    return _RANKS.get(key, key)
