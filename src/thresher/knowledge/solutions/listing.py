"""Pages of relations and value lists.

Invariant: a cursor names the last object of a page and its list, so pages neither repeat nor lose objects while others
are created and deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, get_args

from thresher.core import CursorCodec, InvalidInput, check_limit
from thresher.knowledge.solutions.data_sources import is_column
from thresher.knowledge.solutions.models import ListedObject, ObjectKind, ObjectListing, Scope
from thresher.knowledge.solutions.relations import items_text
from thresher.knowledge.solutions.value_list_draft import names_of, summary, uuid_with_name
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.knowledge.solutions.workspace import StoredObject
from thresher.servoy import Relation, ValueList

MOST_LISTED: Final = 1_000
_BROKEN_SHOWN: Final = 20
_CURSOR: Final[CursorCodec[str, str]] = CursorCodec("solution objects", str, str)
"""Project and name of the last object."""


def listed(context: WorkContext, kind: ObjectKind, scope: Scope, *, cursor: str, limit: int) -> ObjectListing:
    """Return one page; see `SolutionService.list_relations`."""
    if scope not in get_args(Scope):
        raise InvalidInput(f"There is no scope '{scope[:40]}'.", hint="Use current, modules or all.")
    check_limit(limit, MOST_LISTED)
    question = (context.name, context.active or "", kind, scope)
    after = _CURSOR.decode(cursor, question) if cursor else ("", "")
    stored, broken = context.workspace.objects(kind, context.projects_in(scope))
    ordered = sorted(stored, key=_key)
    rest = [one for one in ordered if _key(one) > after]
    page = rest[:limit]
    names = names_of(context, (one.record for one in page if isinstance(one.record, ValueList)))
    more = _CURSOR.encode(*_key(page[-1]), question=question) if len(rest) > limit else ""
    return ObjectListing(
        kind,
        scope,
        context.name,
        context.active or "",
        tuple(_listed(one, names) for one in page),
        len(ordered),
        more,
        tuple(broken[:_BROKEN_SHOWN]),
    )


def relation_summary(one: Relation) -> str:
    """Return what a relation joins, in words."""
    sources = [text.removeprefix("db:/") for text in (one.primary_datasource, one.foreign_datasource)]
    joined = f": {items_text(one.items)}" if one.items else ", without columns"
    projects_in = one.items and not any(is_column(item.primary) for item in one.items) and sources[0] == sources[1]
    return f"{sources[0]} -> {sources[1]}{joined}; {one.join_type}" + ("; global" if projects_in else "")


def facts_of(record: Relation | ValueList) -> Mapping[str, Any]:
    """Return the non-empty properties of a record as data."""
    return {name: value for name, value in asdict(record).items() if value not in ("", None, ())}


def _listed(one: StoredObject, names: Mapping[str, str]) -> ListedObject:
    record, facts = one.record, dict(facts_of(one.record))
    if isinstance(record, Relation):
        words = relation_summary(record)
    else:
        held = {"method_name": record.method, "fallback_name": record.fallback}
        facts |= {field: names[uuid.upper()] for field, uuid in held.items() if uuid.upper() in names}
        words = summary(record, names)
        words += f"; fallback {uuid_with_name(record.fallback, names)}" if record.fallback else ""
    marked = f"{words}; deprecated: {record.deprecated}" if record.deprecated else words
    return ListedObject(record.name, one.project, one.path, marked, facts)


def _key(one: StoredObject) -> tuple[str, str]:
    return one.project, one.record.name
