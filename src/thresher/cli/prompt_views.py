"""The agent's prompts, for people.

Invariant: takes decoded JSON and returns something that Rich can print; a prompt's text is never markup, and what a
terminal would hide or obey is written out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def prompt_list(prompts: Sequence[Row]) -> RenderableType:
    """One line a prompt."""
    table = Table("prompt", "words", "variables", "used", box=None, pad_edge=False, header_style="dim")
    for one in prompts:
        words = Text("shipped" if one["shipped"] else f"your own, version {one['version']}", _style(one))
        table.add_row(Text(one["name"], "bold"), words, " ".join(one["variables"]), Text(one["description"]))
    return table


def prompt_card(one: Row) -> RenderableType:
    """A prompt: what it is for, whose words these are, the words."""
    head = Text(one["name"], "bold")
    head.append(f"  {_words(one)}", _style(one))
    return Group(head, Text(one["description"], "dim"), Text(one["text"]))


def prompt_kept(one: Row) -> RenderableType:
    """What is in force after a change."""
    return Text(f"{one['name']}: {_words(one)} is in force.")


def prompt_versions(versions: Sequence[Row]) -> RenderableType:
    """One line a version, newest first."""
    table = Table("version", "words", "by", "since", "begins", box=None, pad_edge=False, header_style="dim")
    for one in versions:
        first = Text(one["text"].partition("\n")[0], overflow="ellipsis", no_wrap=True)
        words = Text("shipped" if one["shipped"] else "your own", _style(one))
        table.add_row(str(one["version"]), words, one["author"], _moment(one["created_at"]), first)
    return table


def prompt_diff(answer: Row) -> RenderableType:
    """A unified diff."""
    lines = answer["diff"].rstrip("\n").split("\n")
    shown = [Text(line, _DIFF.get(line[:1], "")) for line in lines]
    return Group(*shown) if answer["diff"] else Text("Nothing differs.", "dim")


def _words(one: Row) -> str:
    if one["version"] == 0:
        return "version 0 (shipped)"
    return f"version {one['version']} ({'shipped words again' if one['shipped'] else 'your own words'})"


def _style(one: Row) -> str:
    return "" if one["shipped"] else "green"


def _moment(text: str | None) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}" if text else ""
