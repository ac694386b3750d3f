"""What makes a document say a record, whichever kind the record is."""

from __future__ import annotations

from collections.abc import Callable

from thresher.servoy.documents import Document, Path
from thresher.servoy.edits import Removed, with_changes
from thresher.servoy.layout import Value
from thresher.servoy.names import new_uuid
from thresher.servoy.records import Relation, ValueList
from thresher.servoy.relations import relation_changes
from thresher.servoy.value_lists import value_list_changes


def changes_of(
    document: Document, record: Relation | ValueList, uuid: Callable[[], str] = new_uuid
) -> dict[Path, Value | Removed]:
    """What must be set or removed so that a document says a record; what the record does not know of stays.

    Args:
        document: Of the record as it is.
        record: As it shall be.
        uuid: Makes the UUIDs of new items.

    Raises:
        BrokenFile: The document does not hold a record of this kind.
    """
    if isinstance(record, Relation):
        return relation_changes(document, record, uuid)
    return value_list_changes(document, record)


def changed(document: Document, record: Relation | ValueList, uuid: Callable[[], str] = new_uuid) -> bytes:
    """A document's bytes when it says a record: the same where nothing differs.

    Raises:
        BrokenFile: The document does not hold a record of this kind.
        InvalidInput: It cannot be written so that it reads as this record.
    """
    return with_changes(document, changes_of(document, record, uuid))
