"""Chat models and settings of conversations, for people.

Invariant: takes decoded JSON and returns something that Rich can print; what a model says is never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]


def model_list(models: Sequence[Row]) -> RenderableType:
    """One line a model."""
    if not models:
        return Text("There is no model. Register one: thresher models add NAME --url URL --model MODEL")
    table = Table("name", "model", "service", "key", "whose", "", box=None, pad_edge=False, header_style="dim")
    for one in models:
        whose = "THRESHER_LLM_URL" if one["configured"] else one["owner"] or "the tenant's"
        state = "disabled" if not one["enabled"] else "answers where none is named" if one["chosen"] else ""
        name = Text(one["name"], "bold" if one["enabled"] else "dim")
        table.add_row(name, Text(one["model"]), Text(one["url"]), "yes" if one["keyed"] else "", whose, Text(state))
    return table


def model_kept(kept: Row) -> RenderableType:
    """A registered model, and what came of asking it."""
    return Group(model_list([kept["model"]]), checked(kept["check"]) if kept["check"] else Text("Not asked.", "yellow"))


def checked(tried: Row) -> RenderableType:
    """What came of asking a model."""
    if not tried["ok"]:
        return Text(f"{tried['name']} does not answer: {tried['problem']}", "red")
    model = f" ({tried['model']})" if tried["model"] else ""
    return Text(f"{tried['name']}{model} answered in {tried['ms']} ms: {tried['says']}")


def removed(answer: Row) -> RenderableType:
    """What is gone."""
    return Text(f"Removed {answer['removed']}.")


def settings_table(view: Row) -> RenderableType:
    """One line a setting."""
    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="dim")
    for name, value in view["settings"].items():
        source = view["sources"][name]
        style = "dim" if source == "default" else "bold"
        table.add_row(Text(name, style), Text(_value(value)), _FROM[source])
    return table


_FROM = {
    "default": "default",
    "owner": "your choice",
    "thread": "the thread's",
    "floor": "the floor that the owner of this installation has set",
}


def floor_line(answer: Row) -> RenderableType:
    """The floor of a tenant."""
    return Text(f"Conversations of tenant {answer['tenant']}: approval is at least '{answer['floor']}'.")


def _value(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
