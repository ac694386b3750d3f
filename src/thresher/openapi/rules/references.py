"""Shared rules about references: what stands beside one, and what none names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from thresher.openapi.pointers import pointer_of
from thresher.openapi.records import Json
from thresher.openapi.rules.hits import Hit, clipped
from thresher.openapi.rules.subject import Subject
from thresher.openapi.rules.tree import Tree

_KINDS: Final = ("schemas", "responses", "parameters", "examples", "requestBodies", "headers", "links", "callbacks")


def check_siblings(subject: Subject) -> Iterator[Hit]:
    """Nothing stands beside a reference, where the version says that it is not read."""
    tree = subject.tree
    for node, value in enumerate(tree.values):
        fields = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        if "$ref" in fields and len(fields) > 1:
            for key in fields:
                if key != "$ref":
                    message = f"{key!r} stands beside a reference, where it is not read."
                    yield Hit("no-$ref-siblings", tree.pointer(node, key), message, clipped(fields["$ref"]))


def _named(tree: Tree) -> Iterator[str]:
    """What references name, but not those by which something names itself."""
    for node, ref in tree.references.items():
        pointer = pointer_of(ref)
        if pointer is not None:
            here = tree.pointer(node)
            if here != pointer and not here.startswith(f"{pointer}/"):
                yield pointer


def check_use(subject: Subject) -> Iterator[Hit]:
    """Each component is named by a reference."""
    tree = subject.tree
    named = set(_named(tree))
    if subject.swagger:
        homes = [("oas2-unused-definition", ("definitions",))]
    else:
        homes = [("oas3-unused-component", ("components", kind)) for kind in _KINDS]
    for rule, keys in homes:
        node = tree.at("".join(f"/{key}" for key in keys))
        for name in tree.mapping(node) if node >= 0 else ():
            pointer = tree.pointer(node, name)
            if pointer not in named:
                yield Hit(rule, pointer, "No reference names it.", name)
