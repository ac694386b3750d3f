"""Repositories of documents and answers out of them, for people.

Invariant: takes decoded JSON and returns something that Rich can print; text of documents is never markup.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.hints import for_command_line

Row = Mapping[str, Any]

_STYLES = {"ready": "green", "failed": "red", "indexing": "bold", "waiting": "bold"}
_SKIPPED_SHOWN = 20
_DESCRIPTION = 80


def repository_list(repositories: Sequence[Row]) -> RenderableType:
    """One line a repository."""
    if not repositories:
        return Text("No repositories yet. Index one: thresher index docs NAME SOURCE", "bold")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("repository", "state", "documents", "tokens", "model", "version", "indexed", "about"):
        table.add_column(heading, overflow="fold")
    for one in repositories:
        counts = f"{one['documents']:,}", f"{one['tokens']:,}"
        model = one["embedding_model"].partition("@")[0]
        when = _moment(one["indexed_at"]), Text(shorten(one["description"], _DESCRIPTION, placeholder="..."))
        facts = *counts, Text(model), one["version"][:12], *when
        table.add_row(Text(one["name"], "bold"), _state(one), *facts)
    return table


def repository_card(one: Row) -> RenderableType:
    """All of one repository."""
    parts = [*_summary(one), *_left_out(one)]
    by = {"person": "written by hand", "model": "written by a model"}.get(one["guide_by"], "made from its structure")
    guide = [Text(f"\nguide ({by})", "dim"), Text(one["guide"].strip())] if one["guide"].strip() else []
    return Group(*parts, *guide)


def indexed(one: Row) -> RenderableType:
    """How a repository stands after its job, or before."""
    parts = _summary(one)
    if one["state"] in ("waiting", "indexing"):
        parts.append(Text(f"Job {one['job']} goes on: thresher jobs show {one['job']} --wait", "dim"))
    return Group(*parts, *_left_out(one))


def removed(answer: Row) -> RenderableType:
    """What is gone."""
    return Text(f"Removed {answer['removed']}.")


def guide_text(answer: Row) -> RenderableType:
    """A guide as it stands."""
    return Text(answer["guide"].strip() or "It has no guide yet.")


def retrieved(answer: Row) -> RenderableType:
    """What a model would read, then what it cost."""
    parts = [Text(answer["content"])]
    if answer["hint"]:
        parts.insert(0, Text(for_command_line(answer["hint"]), "yellow"))
    of = f" of {answer['original_token_count']:,}" if answer["was_compressed"] else ""
    where = f" of {answer['document']}" if answer["document"] else ""
    told = f"({answer['token_count']:,}{of} tokens{where}; {answer['timings'].get('total', 0):,.0f} ms)"
    parts += [Text(f"({answer['degraded']})", "yellow")] if answer["degraded"] else []
    return Group(*parts, Text(told, "dim"))


def passages(answer: Row) -> RenderableType:
    """Passages, best first, each under its place."""
    parts: list[RenderableType] = []
    for one in answer["passages"]:
        part = one["part"]
        head = Text(f"{one['repository']}: {part['path']}, lines {part['first_line']}-{part['last_line']}", "bold")
        head.append("  " + " > ".join(part["heading_path"]), "dim")
        parts += [head, Text(one["text"].strip()), Text("")]
    if answer["hint"]:
        parts.append(Text(for_command_line(answer["hint"]), "yellow"))
    if answer["degraded"]:
        parts.append(Text(f"({answer['degraded']})", "yellow"))
    if answer["left_out_count"]:
        parts += _choice(answer)
    if answer["cursor"]:
        parts.append(Text(f"more: --cursor {answer['cursor']}", "dim"))
    return Group(*(parts or [Text("Nothing fits.")]))


def _choice(answer: Row) -> list[RenderableType]:
    """Which repositories were searched, and which were not."""
    taken, others = (
        "; ".join(f"{one['name']} ({one['why']})" for one in answer[key]) for key in ("repositories", "left_out")
    )
    more = answer["left_out_count"] - len(answer["left_out"])
    others += f"; and {more:,} more" if more else ""
    return [Text(f"searched: {taken or 'none'}", "dim"), Text(f"left out: {others}", "dim")]


def page_text(answer: Row) -> RenderableType:
    """Lines of a document, then where they lie."""
    part = answer["part"]
    told = f"({part['path']}, lines {part['first_line']}-{part['last_line']} of {answer['total_lines']:,})"
    more = [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer["cursor"] else []
    return Group(Text(answer["content"].rstrip("\n")), Text(told, "dim"), *more)


def _summary(one: Row) -> list[Text]:
    head = Text(one["name"], "bold")
    head.append("  ").append_text(_state(one)).append(f"  {_source(one)}", "dim")
    meaning = "" if one["embedded"] >= one["chunks"] else f", {one['embedded']:,} of them by meaning too"
    meaning += f" (embedding model {one['embedding_model'].partition('@')[0]})" if one["embedding_model"] else ""
    counts = f"{one['documents']:,} documents, {one['chunks']:,} passages{meaning}, {one['tokens']:,} tokens"
    when = f", version {one['version'][:12]} of {_moment(one['indexed_at'])}" if one["indexed_at"] else ""
    parts = [head, Text(counts + when)]
    return [*parts, Text(one["problem"], "red")] if one["problem"] else parts


def _left_out(one: Row) -> list[Text]:
    """What was not read: the counts, and of the files that are known the first."""
    if not one["skipped"]:
        return []
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(one["skipped"].items()))
    files = one.get("skipped_files", ())
    shown = [f"  {file['path']}: {file['detail'] or file['reason']}" for file in files[:_SKIPPED_SHOWN]]
    more = [f"  and {len(files) - _SKIPPED_SHOWN:,} more (--json has them)"] if len(files) > _SKIPPED_SHOWN else []
    return [Text("\n".join([f"not read: {counts}", *shown, *more]), "dim")]


def _state(one: Row) -> Text:
    return Text(one["state"], _STYLES.get(one["state"], ""))


def _source(one: Row) -> str:
    origin = one["origin"]
    return f"{origin['location']}@{origin['ref']}" if origin["ref"] else str(origin["location"])


def _moment(text: str | None) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}" if text else ""
