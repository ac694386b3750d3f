"""Shared rules about parameters, named examples, callbacks and webhooks."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.openapi.rules.hits import Hit
from thresher.openapi.rules.subject import Subject
from thresher.openapi.rules.values import look, stands, text_of


def check_parameter_texts(subject: Subject) -> Iterator[Hit]:
    """Each parameter says what it is for."""
    tree = subject.tree
    rule = "oas2-parameter-description" if subject.swagger else "oas3-parameter-description"
    for node in sorted(_parameters(subject)):
        fields = tree.mapping(node)
        if stands(fields.get("in")) and not stands(fields.get("description")):
            pointer = tree.pointer(node, "description") if "description" in fields else tree.pointer(node)
            message = f"Parameter {text_of(fields.get('name'))!r} has no description."
            yield Hit(rule, pointer, message)


def _parameters(subject: Subject) -> set[int]:
    """What may be a parameter: in Swagger 2.0 all that a `parameters` holds, wherever it stands."""
    tree = subject.tree
    if subject.swagger:
        alive = set(tree.alive)
        holders = [node for node, key in enumerate(tree.keys) if key == "parameters" and node in alive]
    else:
        holders = [tree.child(holder, "parameters") for _, holder in tree.children(tree.child(0, "paths"))]
        holders += [tree.child(each.node, "parameters") for each in subject.operations if each.node >= 0]
        holders.append(tree.at("/components/parameters"))
    return {node for holder in holders for _, node in tree.children(holder)}


def check_example_forms(subject: Subject) -> Iterator[Hit]:
    """A named example has its value, or the address of it, not both."""
    tree = subject.tree
    operations = tree.under(
        node for _, item in tree.children(tree.child(0, "paths")) for _, node in tree.children(item)
    )
    holders = [tree.at("/components/examples")]
    users = [kid for home in ("parameters", "headers") for _, kid in tree.children(tree.at(f"/components/{home}"))]
    users += [
        kid
        for node in operations
        for key in ("content", "parameters", "headers")
        for _, kid in tree.children(tree.child(node, key))
    ]
    holders += [tree.child(user, "examples") for user in users]
    for node in sorted({node for holder in holders for _, node in tree.children(holder)}):
        fields = tree.mapping(node)
        if isinstance(tree.values[node], dict) and ("value" in fields) == ("externalValue" in fields):
            both = "both `value` and `externalValue`" if "value" in fields else "neither `value` nor `externalValue`"
            if "value" in fields or not (subject.dialect == "3.2" and fields.keys() & {"dataValue", "serializedValue"}):
                yield Hit("oas3-examples-value-or-externalValue", tree.pointer(node), f"The example has {both}.")


def check_callbacks(subject: Subject) -> Iterator[Hit]:
    """No callback defines callbacks of its own."""
    tree = subject.tree
    for operation in subject.operations:
        for _, callback in tree.children(tree.child(operation.node, "callbacks") if operation.node >= 0 else -1):
            for _, item in tree.children(callback):
                for _, node in tree.children(item):
                    if look(tree.values[node], "callbacks") is not None:
                        pointer = tree.pointer(node, "callbacks")
                        yield Hit("oas3-callbacks-in-callbacks", pointer, "A callback defines callbacks of its own.")


def check_webhooks(subject: Subject) -> Iterator[Hit]:
    """What a webhook cannot have."""
    tree = subject.tree
    webhooks = tree.child(0, "webhooks")
    if webhooks >= 0 and "servers" in tree.mapping(webhooks):
        yield Hit("oas3_1-servers-in-webhook", tree.pointer(webhooks, "servers"), "A webhook has no server of ours.")
    for _, item in tree.children(webhooks):
        for _, node in tree.children(item):
            for key in ("servers", "callbacks"):
                if key in tree.mapping(node):
                    pointer = tree.pointer(node, key)
                    yield Hit(f"oas3_1-{key}-in-webhook", pointer, f"A webhook defines {key}.")
