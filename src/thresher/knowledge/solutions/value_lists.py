"""Value lists: shown, made, changed.

Invariant: as of relations; a list has the properties of its kind, and none of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from thresher.core import Conflict, InvalidInput, shortened
from thresher.knowledge.solutions.desk import Desk
from thresher.knowledge.solutions.editing import Asked, Edited, Editing
from thresher.knowledge.solutions.relations import standing
from thresher.knowledge.solutions.value_list_draft import ValueListDraft, names_of, summary, titled, value_list_of
from thresher.knowledge.solutions.wishes import ValueListChanges, ValueListWish, said
from thresher.servoy import ValueList

_LINES: Final = 10
"""Custom values that an error names."""
_SAID: Final = 300
"""Characters of a value that an error says."""


class ValueLists:
    """The verbs of value lists; they block, so they are called in threads.

    Args:
        editing: Writes value lists.
    """

    def __init__(self, editing: Editing) -> None:
        self._editing = editing

    def find(self, desk: Desk, wish: ValueListWish) -> Edited | None:
        """The value list that a wish means, where there is one."""
        name = wish.name.strip()
        if not name:
            raise InvalidInput("The name of the value list is not said.", hint="Say its name.")
        told = said(wish)
        origins = [one for one in ("custom_values", "datasource", "relation", "global_method") if one in told]
        stored = desk.located("value list", name, wish.solution, near=bool(origins))
        if stored is None:
            return None
        value_list = value_list_of(stored)
        expected, notes = ValueListDraft(desk, stored.project, value_list).with_changes(wish)
        if differing := differences(value_list, expected, names_of(desk, (value_list, expected))):
            raise Conflict(
                f"There is a value list '{name}' in '{stored.project}', and it differs: {'; '.join(differing)}.",
                hint="update_value_list changes it; another name makes another value list.",
            )
        return self._editing.shown(desk, stored, *standing(desk, stored), *notes)

    def open(self, desk: Desk, wish: ValueListWish) -> Edited:
        """Show a value list if it exists, make it otherwise."""
        if (found := self.find(desk, wish)) is not None:
            return found
        name = wish.name.strip()
        told = said(wish)
        if not any(one in told for one in ("custom_values", "datasource", "relation", "global_method")):
            raise InvalidInput(
                f"There is no value list '{name}'; to make it, say what its values come from.",
                hint=(
                    "Say custom_values, or datasource and display_column, or relation and display_column, or "
                    f"global_method. {desk.near('value list', name)}"
                ),
            )
        project = desk.target(wish.solution)
        name = self._editing.free_name(desk, project, name)
        value_list, notes = ValueListDraft(desk, project, ValueList(name, "custom"), new=True).with_changes(wish)
        desk.agreed_there(project, f"the value list '{name}'", confirm=wish.confirm)
        return self._editing.created(desk, project, value_list, notes)

    def update(self, desk: Desk, name: str, changes: ValueListChanges, asked: Asked) -> Edited:
        """Change properties of a value list."""
        if not said(changes):
            raise InvalidInput("Nothing is said that shall be changed.", hint="Say a property, such as sort.")
        stored = desk.found("value list", name, asked.solution)
        value_list, notes = ValueListDraft(desk, stored.project, value_list_of(stored)).with_changes(changes)
        desk.agreed("value list", [stored], "changed", asked.solution, confirm=asked.confirm)
        return self._editing.changed(desk, stored, value_list, notes)


def differences(value_list: ValueList, expected: ValueList, names: Mapping[str, str]) -> list[str]:
    """What is different in two value lists, in words; `names` as of `names_of`."""
    if _origin(value_list) != _origin(expected):
        return [f"it is {_from(value_list, names)}, not {_from(expected, names)}"]
    origin = {"name", "kind", "custom_values", "datasource", "relation", "method", "columns", "display", "returns"}
    return [
        f"{one.name} is {_said(before, names)}, not {_said(after, names)}"
        for one in fields(ValueList)
        if one.name not in origin
        and (before := getattr(value_list, one.name)) != (after := getattr(expected, one.name))
    ]


def _origin(one: ValueList) -> tuple[object, ...]:
    """What the values come from, and which of them."""
    shown = tuple(one.columns[place] for place in one.display)
    stored = tuple(one.columns[place] for place in one.returns)
    return one.kind, one.custom_values, one.datasource, one.relation, one.method, shown, stored


def _from(one: ValueList, names: Mapping[str, str]) -> str:
    """In words, what the values come from; of custom ones what is stored, too."""
    if one.kind != "custom":
        return summary(one, names)
    lines = [value.display if value.real is None else f"{value.display}|{value.real}" for value in one.custom_values]
    more = f" and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
    return f"custom values ({shortened(', '.join(lines[:_LINES]), _SAID)}{more})"


def _said(value: object, names: Mapping[str, str]) -> str:
    if value is None:
        return "not said"
    return str(value).lower() if isinstance(value, bool) else f"'{shortened(titled(str(value), names), _SAID)}'"
