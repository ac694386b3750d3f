"""Shared rules about paths and the parameters in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.openapi.rules.hits import Hit
from thresher.openapi.rules.subject import METHODS, Subject

_PARAMETER: Final = re.compile(r"\{;?\??[a-zA-Z0-9_-]+\*?\}")


def check_paths(subject: Subject) -> Iterator[Hit]:
    """How paths are written."""
    tree = subject.tree
    node = tree.child(0, "paths")
    for path in tree.mapping(node) if node >= 0 else ():
        pointer = tree.pointer(node, path)
        if "{}" in path:
            yield Hit("path-declarations-must-exist", pointer, "A parameter of the path has no name.", path)
        if len(path) > 1 and path.endswith("/"):
            yield Hit("path-keys-no-trailing-slash", pointer, "The path ends with a slash.", path)
        if "?" in path:
            yield Hit("path-not-include-query", pointer, "The path holds a query string.", path)


def check_path_parameters(subject: Subject) -> Iterator[Hit]:
    """Each parameter of a path is declared and required, none twice or for nothing; no two paths are one."""
    tree = subject.tree
    shapes: dict[str, str] = {}
    paths = tree.child(0, "paths")
    for path, item in tree.children(paths):
        path = str(path)
        pointer = tree.pointer(paths, path)
        shape = _PARAMETER.sub("%", path)
        if shape in shapes:
            yield Hit("path-params", pointer, f"Only the names of parameters tell it from {shapes[shape]}.", path)
        shapes.setdefault(shape, path)
        yield from _path(subject, path, item, pointer)


def _path(subject: Subject, path: str, item: int, pointer: str) -> Iterator[Hit]:
    named: list[str] = []
    for found in _PARAMETER.findall(path):
        name = found.strip("{}").translate({ord(mark): None for mark in "?*;"})
        if name in named:
            yield Hit("path-params", pointer, f"Parameter {name!r} stands in the path twice.", path)
        else:
            named.append(name)
    shared: dict[str, str] = {}
    yield from _declared(subject, item, shared)
    for method, value in subject.tree.mapping(item).items():
        node = subject.tree.child(item, method)
        if method not in METHODS or node < 0:
            continue
        del value
        own: dict[str, str] = {}
        yield from _declared(subject, node, own)
        known = shared | own
        for name, place in known.items():
            if name not in named:
                yield Hit("path-params", place, f"Parameter {name!r} is declared, but the path does not hold it.", path)
        for name in named:
            if name not in known:
                where = subject.tree.pointer(node)
                yield Hit("path-params", where, f"Parameter {name!r} of the path is not declared.", path)


def _declared(subject: Subject, holder: int, known: dict[str, str]) -> Iterator[Hit]:
    """The path parameters of a path or an operation, gathered by name to their places."""
    tree = subject.tree
    node = tree.child(holder, "parameters")
    if node < 0 or not isinstance(tree.values[node], list):
        return
    for _, each in tree.children(node):
        fields = tree.mapping(each)
        name, place = fields.get("name"), tree.pointer(each)
        if fields.get("in") != "path" or name is None:
            continue
        if fields.get("required") is not True:
            yield Hit("path-params", place, f"Parameter {name!r} stands in the path but is not `required: true`.")
        if str(name) in known:
            yield Hit("path-params", place, f"Parameter {name!r} is declared twice.")
        else:
            known[str(name)] = place
