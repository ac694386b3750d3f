"""Source code: the start of its functions, classes and other parts, found by tree-sitter.

Invariant: blocks are whole lines, in order; a file that violates its grammar, or takes too long to parse, is read
anyway.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from tree_sitter import Node, Point, Tree

from thresher.knowledge.documents.models import Block
from thresher.knowledge.documents.reading.blocks import TextStructure, block_within, line_starts
from thresher.knowledge.documents.reading.languages import LANGUAGES, LanguageNodes, parser_of

SECONDS: Final = 10.0
"""Processor time for parsing a file: 20 MB of usual code take two seconds."""
_PIECE: Final = 65_536
"""Bytes that are passed to the parser at a time."""
_LONG: Final = 1_000
"""Bytes; a definition up to this size is one block, a longer one is divided into its statements."""
_DEEPEST: Final = 24
"""Levels that are divided; deeper code is cut by lines."""
_LONGEST_NAME: Final = 80
_BODIES: Final = re.compile(
    r"(?:.*_)?(?:body|block|declaration_list|body_statement|suite|do_group|statements|declarations)|"
    r"compound_statement|source_file|program|module"
)
_IDENTIFIERS: Final = re.compile(r"(?:.*_)?identifier|name|constant|word|operator_name|destructor_name|operator_cast")
_NAMED_BY_TYPE: Final = {"impl_item", "extension_definition"}
_COMMENT: Final = re.compile(r"(?:.*_)?comment|attribute_item|attribute_list|annotation|decorator")


@dataclass(slots=True)
class _Marks:
    """Where blocks start: line (from 0), depth, and the name defined there."""

    nodes: LanguageNodes
    found: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def add(self, row: int, level: int, title: str) -> None:
        """Begin a block, unless one begins there or later already."""
        if not self.found or row > self.found[-1][0]:
            self.found.append((row, level, title))


def read_code(text: str, language: str, *, seconds: float = SECONDS) -> TextStructure:
    """The blocks of a source file; one block for the whole file if parsing takes too long.

    Args:
        text: Text with Unix line ends.
        language: One of `LANGUAGES`.
        seconds: Processor time for parsing.
    """
    tree = _tree(text.encode("utf-8", "replace"), language, seconds)
    marks = _Marks(LANGUAGES[language])
    if tree is not None:
        _members(tree.root_node, marks, "", 0)
    starts = line_starts(text)
    rows = [mark for mark in marks.found if mark[0] < len(starts) - 1] or [(0, 0, "")]
    rows[0] = (0, *rows[0][1:])
    bounds = [*(starts[row] for row, _, _ in rows), len(text)]
    return TextStructure(
        tuple(
            block
            for (start, end), (_, level, title) in zip(pairwise(bounds), rows, strict=True)
            for block in block_within(text, start, end, Block("code", 0, 0, level, title))
        ),
        notes=()
        if tree is not None
        else (f"Its functions were not found: parsing it takes more than {seconds:g} seconds.",),
    )


def _tree(octets: bytes, language: str, seconds: float) -> Tree | None:
    """The syntax tree of a file; None if the time is up: the scanners of some grammars take quadratic time."""
    until = time.thread_time() + seconds

    def piece(place: int, _: Point) -> bytes:
        return octets[place : place + _PIECE]

    def is_over(_place: int, _has_error: bool) -> bool:
        return time.thread_time() > until

    try:
        # The parser calls back only if it receives the file in pieces.
        return parser_of(language).parse(piece, encoding="utf8", progress_callback=is_over)
    except ValueError:
        return None


def _members(parent: Node, marks: _Marks, prefix: str, level: int) -> None:
    """Add the members of a file or of a class body; a comment belongs to what follows it directly."""
    comment, end, after_definition = -1, -2, True
    for child in parent.named_children:
        row = child.start_point.row
        if _COMMENT.fullmatch(child.type):
            comment = row if comment < 0 or row > end + 1 else comment
            end = _last_row(child)
            continue
        first = comment if comment >= 0 and row <= end + 1 else row
        if 0 <= comment < first:
            marks.add(comment, level, prefix)
        definition = _definition(child, marks.nodes)
        if definition is not None:
            _define(definition, first, marks, prefix, level)
        elif (child.type in marks.nodes.wrappers or child.is_error) and level < _DEEPEST:
            marks.add(first, level, prefix)
            _members(child, marks, prefix, level + 1)
        elif after_definition or first > end + 1 or comment >= 0:
            marks.add(first, level, prefix)
        if definition is None and _size(child) > _LONG:
            _statements(child, marks, prefix, level + 1)
        comment, end, after_definition = -1, _last_row(child), definition is not None
    if comment >= 0:
        marks.add(comment, level, prefix)


def _define(node: Node, row: int, marks: _Marks, prefix: str, level: int) -> None:
    """Begin a block with a definition's name, and add its content."""
    name = _name(node)
    title = f"{prefix}.{name}" if prefix and name else prefix or name
    marks.add(row, level, title)
    body = _body(node)
    if body is None or level >= _DEEPEST:
        return
    if node.type in marks.nodes.holders:
        _members(body, marks, title, level + 1)
    elif _size(node) > _LONG:
        _statements(body, marks, title, level + 1)


def _statements(parent: Node, marks: _Marks, title: str, level: int) -> None:
    """Add the statements of something long, and those inside long ones."""
    if level > _DEEPEST:
        return
    block = _BODIES.fullmatch(parent.type) is not None
    for child in parent.named_children:
        if block:
            marks.add(child.start_point.row, level, title)
        if _size(child) > _LONG // 2:
            _statements(child, marks, title, level + 1)


def _definition(node: Node, nodes: LanguageNodes) -> Node | None:
    """The definition that a node is, or that it wraps."""
    for _ in range(4):
        if node.type in nodes.holders or node.type in nodes.functions:
            return node if _counts(node) else None
        if node.type not in nodes.wrappers and not node.type.endswith("declaration"):
            return None
        wrapped = [child for child in node.named_children if not _COMMENT.fullmatch(child.type)]
        inner = [child for child in wrapped if child.type in nodes.holders | nodes.functions | nodes.wrappers]
        if len(inner) != 1 or node.type.startswith("preproc") or node.type == "declaration_list":
            return None
        node = inner[0]
    return None


def _counts(node: Node) -> bool:
    """Whether a definition counts; a variable does if it has a function or something long."""
    if node.type not in ("lexical_declaration", "variable_declaration", "property_declaration"):
        return True
    return _size(node) > _LONG // 4


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    for child in reversed(node.named_children):
        if _BODIES.fullmatch(child.type):
            return child
    value = node.named_children[-1] if node.named_children else None
    return value if value is not None and value.type in ("variable_declarator", "type_spec") else None


def _name(node: Node) -> str:
    """The name of a definition; a method outside its class has the name of the class too."""
    named = node.child_by_field_name("name") or (
        node.child_by_field_name("type") if node.type in _NAMED_BY_TYPE else None
    )
    inner = node
    for _ in range(6):
        if named is not None:
            break
        inner = inner.child_by_field_name("declarator") or _first_declarator(inner)
        if inner is None:
            break
        named = inner if _IDENTIFIERS.fullmatch(inner.type) else inner.child_by_field_name("name")
    if named is None:
        named = next((child for child in node.named_children if _IDENTIFIERS.fullmatch(child.type)), None)
    name = _words(named)
    receiver = node.child_by_field_name("receiver")
    owner = re.findall(r"\w+", _words(receiver))[-1:] if receiver is not None else []
    return ".".join([*owner, name]) if name else ""


def _first_declarator(node: Node) -> Node | None:
    kinds = ("variable_declarator", "type_spec", "variable_declaration")
    return next((child for child in node.named_children if child.type in kinds), None)


def _words(node: Node | None) -> str:
    text = (node.text or b"").decode("utf-8", "replace") if node is not None else ""
    return " ".join(text.replace("::", ".").split())[:_LONGEST_NAME]


def _size(node: Node) -> int:
    return node.end_byte - node.start_byte


def _last_row(node: Node) -> int:
    """The last line of a node; some grammars end a node at the start of the next line."""
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row
