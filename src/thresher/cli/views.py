"""Parts of the views of several commands: tables, times, percentages, lines that report a change.

Invariant: takes decoded JSON and returns what Rich can print; other people's text is never markup.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]
"""An object of an answer, as JSON decodes it."""


def plain_table(*headings: str, unwrapped: Collection[str] = ()) -> Table:
    """A table without borders, whose cells wrap.

    Args:
        headings: The columns.
        unwrapped: Columns whose cells stay on one line.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold", no_wrap=heading in unwrapped)
    return table


def figure_table(rows: Sequence[tuple[str, str]]) -> Table:
    """A name and a value in each row, without headings."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def moment(text: str | None, *, seconds: bool = False) -> str:
    """A time of ISO 8601 in the user's time zone; empty if there is none."""
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M{':%S' if seconds else ''}}" if text else ""


def percent(value: float | None, digits: int = 1) -> str:
    """A share, 0 to 1, as a percentage; `-` without data."""
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def milliseconds(value: float | None) -> str:
    """A time; `-` without data."""
    return "-" if value is None else f"{value:.1f} ms"


def next_page(answer: Row) -> list[Text]:
    """How to get the rest of an answer, if there is more."""
    return [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer.get("cursor") else []


def removed(answer: Row) -> RenderableType:
    """What was removed, in a line."""
    return Text(f"Removed {answer['removed']}.")


def changed(answer: Row) -> RenderableType:
    """What was changed, in a line."""
    changes = ", ".join(f"{name}: {value}" for name, value in answer.items() if name != "changed")
    return Text(f"{', '.join(answer['changed'])} - {changes}")


def how_often(seconds: int | None) -> str:
    """How often a source is checked for changes."""
    if seconds is None:
        return "as THRESHER_CHECK_SECONDS says"
    return f"every {seconds:,} seconds" if seconds else "never"


def tool_reasons(why: Row) -> str:
    """What speaks for a tool, in a line."""
    arms = [f"{arm} #{why[arm]['rank']}" for arm in ("dense", "lexical") if why[arm]["rank"] is not None]
    learned = [f"chosen {why['uses']} x"] if why.get("learned", 0) > 0 else []
    learned += [f"trained {why['trained']:+.1f}"] if why.get("trained") else []
    own = [f"your words: {' '.join(why['own_words'][:5])}"] if why["own_words"] else []
    likely = [f"probable words: {' '.join(why['minor_terms'][:5])}"] if why["minor_terms"] else []
    likely += [f"a model's questions: {' '.join(why['question_terms'][:5])}"] if why["question_terms"] else []
    terms = [" ".join(why["terms"][:5])] if why["terms"] else []
    return ", ".join([why["source"], *arms, *learned, *terms, *own, *likely])
