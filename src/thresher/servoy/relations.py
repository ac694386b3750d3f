"""Relations: reading them, writing new ones, and changing a document to match one.

Invariant: only what differs from Servoy's defaults is written, and a change touches no property that stays the same.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.servoy.documents import Document, Path
from thresher.servoy.edits import REMOVED, RemovedMark
from thresher.servoy.layout import Value
from thresher.servoy.names import new_uuid
from thresher.servoy.properties import ENCAPSULATIONS, JOIN_TYPES, Properties, object_of, operator_number, operator_of
from thresher.servoy.records import RELATION_ITEM_TYPE, RELATION_TYPE, Relation, RelationItem


def relation_of(document: Document) -> Relation:
    """Return the relation in a `.rel` file.

    Raises:
        BrokenFile: There is none, or a property of it is malformed.
    """
    properties = object_of(document, RELATION_TYPE, "relation")
    return Relation(
        name=properties.text("name", needed=True),
        primary_datasource=properties.text("primaryDataSource"),
        foreign_datasource=properties.text("foreignDataSource"),
        items=tuple(_item(one) for one in properties.objects("items")),
        join_type=properties.word("joinType", JOIN_TYPES),
        allow_creation=properties.truth("allowCreationRelatedRecords"),
        allow_parent_delete=properties.truth("allowParentDeleteWhenHavingRelatedRecords", default=True),
        delete_related=properties.truth("deleteRelatedRecords"),
        duplicate_related=properties.truth("duplicateRelatedRecords"),
        initial_sort=properties.text("initialSort"),
        encapsulation=properties.word("encapsulation", ENCAPSULATIONS),
        deprecated=properties.text("deprecated"),
        comment=properties.text("comment"),
        uuid=properties.text("uuid"),
    )


def _item(properties: Properties) -> RelationItem:
    number = properties.number("operator")
    operator = operator_of(number)
    if operator is None:
        raise properties.broken(f"operator is {number}, which is not a valid operator.", "operator")
    return RelationItem(
        properties.text("primaryDataProviderID"),
        properties.text("foreignColumnName"),
        *operator,
        uuid=properties.text("uuid"),
    )


def relation_value(relation: Relation, uuid: Callable[[], str] = new_uuid) -> dict[str, Value]:
    """Return the value of a new `.rel` file.

    Args:
        relation: The record.
        uuid: Generates missing UUIDs.
    """
    value = _properties(relation)
    value["uuid"] = relation.uuid or uuid()
    if relation.items:
        items: list[Value] = [_item_value(item, item.uuid or uuid()) for item in relation.items]
        value["items"] = sorted(items, key=_by_uuid)
    return value


def _properties(relation: Relation) -> dict[str, Value]:
    """Return all properties except items and UUID."""
    return {
        name: one
        for name, one, default in (
            ("allowCreationRelatedRecords", relation.allow_creation, False),
            ("allowParentDeleteWhenHavingRelatedRecords", relation.allow_parent_delete, True),
            ("comment", relation.comment, ""),
            ("deleteRelatedRecords", relation.delete_related, False),
            ("deprecated", relation.deprecated, ""),
            ("duplicateRelatedRecords", relation.duplicate_related, False),
            ("encapsulation", ENCAPSULATIONS.index(relation.encapsulation), 0),
            ("foreignDataSource", relation.foreign_datasource, ""),
            ("initialSort", relation.initial_sort, ""),
            ("joinType", JOIN_TYPES.index(relation.join_type), 0),
            ("name", relation.name, ""),
            ("primaryDataSource", relation.primary_datasource, ""),
            ("typeid", RELATION_TYPE, 0),
        )
        if one != default
    }


def _item_value(item: RelationItem, uuid: str) -> dict[str, Value]:
    value: dict[str, Value] = {
        "foreignColumnName": item.foreign,
        "primaryDataProviderID": item.primary,
        "typeid": RELATION_ITEM_TYPE,
        "uuid": uuid,
    }
    if number := operator_number(item):
        value["operator"] = number
    return value


def _by_uuid(item: Value) -> str:
    return str(item.get("uuid", "")) if isinstance(item, dict) else ""


def relation_changes(
    document: Document, relation: Relation, uuid: Callable[[], str] = new_uuid
) -> dict[Path, Value | RemovedMark]:
    """Return the changes after which a document matches a relation.

    Items are matched to their former selves by UUID, else by columns; they keep the UUID and all other properties.

    Args:
        document: The current relation.
        relation: The new relation; without a UUID it keeps the current one.
        uuid: Generates the UUIDs of new items.

    Raises:
        BrokenFile: The document contains no relation.
    """
    old = relation_of(document)
    changes = differences(_properties(old), _properties(relation))
    if relation.uuid and relation.uuid != old.uuid:
        changes["uuid",] = relation.uuid
    items = _items(document, old, relation, uuid)
    if items != document.get("items", default=[]):
        changes["items",] = items or REMOVED
    return changes


def differences(old: dict[str, Value], new: dict[str, Value]) -> dict[Path, Value | RemovedMark]:
    """Return the properties to set or remove at the outermost level."""
    changes: dict[Path, Value | RemovedMark] = {(name,): one for name, one in new.items() if old.get(name) != one}
    return changes | {(name,): REMOVED for name in old if name not in new}


def _items(document: Document, old: Relation, relation: Relation, uuid: Callable[[], str]) -> list[Value]:
    """Return the new list of items: in the given order if none is new, else sorted by UUID."""
    held = document.get("items")
    kept: dict[int, Value] = {}
    new: list[Value] = []
    for item, place in _paired(dict(enumerate(old.items)), relation.items):
        if place is None or not isinstance(held, list):
            new.append(_item_value(item, item.uuid or uuid()))
        else:
            kept[place] = _changed_item(held[place], old.items[place], item)
    items = [kept[place] for place in sorted(kept)]
    return sorted([*items, *new], key=_by_uuid) if new else items


def _changed_item(held: Value, old: RelationItem, item: RelationItem) -> Value:
    value = dict(held) if isinstance(held, dict) else {}
    before, after = _item_value(old, old.uuid), _item_value(item, item.uuid or old.uuid)
    for name in before.keys() - after.keys():
        value.pop(name, None)
    return value | {name: one for name, one in after.items() if before.get(name) != one}


def _paired(left: dict[int, RelationItem], items: tuple[RelationItem, ...]) -> list[tuple[RelationItem, int | None]]:
    """Return each item with the index of its former self: by UUID, by both columns, or by one of them."""
    found: dict[int, int] = {}
    for like in (_same_uuid, _same_columns, _same_foreign, _same_primary):
        for at, item in enumerate(items):
            if at in found:
                continue
            place = next((place for place, old in left.items() if like(item, old)), None)
            if place is not None:
                found[at] = place
                del left[place]
    return [(item, found.get(at)) for at, item in enumerate(items)]


def _same_uuid(item: RelationItem, old: RelationItem) -> bool:
    return bool(item.uuid) and item.uuid == old.uuid


def _same_columns(item: RelationItem, old: RelationItem) -> bool:
    return not item.uuid and (item.primary, item.foreign) == (old.primary, old.foreign)


def _same_foreign(item: RelationItem, old: RelationItem) -> bool:
    return not item.uuid and item.foreign == old.foreign


def _same_primary(item: RelationItem, old: RelationItem) -> bool:
    return not item.uuid and item.primary == old.primary
