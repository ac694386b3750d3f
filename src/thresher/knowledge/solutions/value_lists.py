"""Shows, creates and changes value lists.

Invariant: as for relations; a list has only the properties of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from thresher.core import Conflict, InvalidInput, shortened
from thresher.knowledge.solutions.editor import EditOptions, EditResult, ObjectEditor
from thresher.knowledge.solutions.relations import location_note
from thresher.knowledge.solutions.requests import ValueListChanges, ValueListSpec, properties_of
from thresher.knowledge.solutions.value_list_draft import (
    ValueListDraft,
    names_of,
    summary,
    uuid_with_name,
    value_list_of,
)
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.servoy import ValueList

_LINES: Final = 10
"""Maximum custom values in an error."""
_SAID: Final = 300
"""Maximum characters of a value in an error."""


class ValueListService:
    """The operations on value lists; they block, so they are called in threads.

    Args:
        editor: Writes value lists.
    """

    def __init__(self, editor: ObjectEditor) -> None:
        self._editor = editor

    def find(self, context: WorkContext, spec: ValueListSpec) -> EditResult | None:
        """Return the value list that a specification means, if it exists."""
        name = spec.name.strip()
        if not name:
            raise InvalidInput("The value list has no name.", hint="Give its name.")
        properties = properties_of(spec)
        origins = [one for one in ("custom_values", "datasource", "relation", "global_method") if one in properties]
        stored = context.find_object("value list", name, spec.solution, near=bool(origins))
        if stored is None:
            return None
        value_list = value_list_of(stored)
        expected, notes = ValueListDraft(context, stored.project, value_list).with_changes(spec)
        if differing := differences(value_list, expected, names_of(context, (value_list, expected))):
            raise Conflict(
                f"There is a value list '{name}' in '{stored.project}', which differs: {'; '.join(differing)}.",
                hint="Change it with update_value_list, or use another name.",
            )
        return self._editor.shown(context, stored, *location_note(context, stored), *notes)

    def open(self, context: WorkContext, spec: ValueListSpec) -> EditResult:
        """Return a value list, and create it if it does not exist."""
        if (found := self.find(context, spec)) is not None:
            return found
        name = spec.name.strip()
        properties = properties_of(spec)
        if not any(one in properties for one in ("custom_values", "datasource", "relation", "global_method")):
            raise InvalidInput(
                f"There is no value list '{name}'; to create it, give the origin of its values.",
                hint=(
                    "Give custom_values, or datasource and display_column, or relation and display_column, or "
                    f"global_method. {context.near('value list', name)}"
                ),
            )
        project = context.target(spec.solution)
        name = self._editor.free_name(context, project, name)
        value_list, notes = ValueListDraft(context, project, ValueList(name, "custom"), new=True).with_changes(spec)
        context.check_confirmed_target(project, f"the value list '{name}'", confirm=spec.confirm)
        return self._editor.created(context, project, value_list, notes)

    def update(self, context: WorkContext, name: str, changes: ValueListChanges, options: EditOptions) -> EditResult:
        """Change properties of a value list."""
        if not properties_of(changes):
            raise InvalidInput("No property is given.", hint="Give a property, such as sort.")
        stored = context.get_object("value list", name, options.solution)
        value_list, notes = ValueListDraft(context, stored.project, value_list_of(stored)).with_changes(changes)
        context.check_confirmed("value list", [stored], "changed", options.solution, confirm=options.confirm)
        return self._editor.changed(context, stored, value_list, notes)


def differences(value_list: ValueList, expected: ValueList, names: Mapping[str, str]) -> list[str]:
    """Return the differences of two value lists in words; `names` as `names_of` returns them."""
    if _origin(value_list) != _origin(expected):
        return [f"it is {_origin_text(value_list, names)}, not {_origin_text(expected, names)}"]
    origin = {"name", "kind", "custom_values", "datasource", "relation", "method", "columns", "display", "returns"}
    return [
        f"{one.name} is {_quoted(before, names)}, not {_quoted(after, names)}"
        for one in fields(ValueList)
        if one.name not in origin
        and (before := getattr(value_list, one.name)) != (after := getattr(expected, one.name))
    ]


def _origin(one: ValueList) -> tuple[object, ...]:
    """Return the origin of the values, and which of them the list has."""
    shown = tuple(one.columns[place] for place in one.display)
    stored = tuple(one.columns[place] for place in one.returns)
    return one.kind, one.custom_values, one.datasource, one.relation, one.method, shown, stored


def _origin_text(one: ValueList, names: Mapping[str, str]) -> str:
    """Return the origin of the values in words; for custom values including what is stored."""
    if one.kind != "custom":
        return summary(one, names)
    lines = [value.display if value.real is None else f"{value.display}|{value.real}" for value in one.custom_values]
    more = f" and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
    return f"custom values ({shortened(', '.join(lines[:_LINES]), _SAID)}{more})"


def _quoted(value: object, names: Mapping[str, str]) -> str:
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else f"'{shortened(uuid_with_name(str(value), names), _SAID)}'"
