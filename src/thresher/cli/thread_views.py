"""Conversations for people.

Invariant: takes decoded JSON and returns something that Rich can print; what was said is never markup, and what a
terminal would hide or obey is written out.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_SPEAKERS = {"user": ("you", "bold"), "assistant": ("assistant", "bold green"), "tool": ("tool", "dim")}
_TITLE = 60
_WORDS = 40
_UNCONFIGURED = "No model is configured"
_CONFIGURE = (
    "Name one: set THRESHER_LLM_URL and THRESHER_LLM_MODEL and run `thresher stop`, or run: "
    "thresher models add NAME --url URL --model MODEL"
)


def thread_list(page: Row) -> RenderableType:
    """One line a thread: id, when it went on last, title."""
    if not page["threads"]:
        return Text("No conversation yet. Begin one: thresher chat")
    table = Table("thread", "went on", "title", box=None, pad_edge=False, header_style="dim")
    for thread in page["threads"]:
        table.add_row(str(thread["id"]), _moment(thread["updated_at"]), Text(thread["title"][:_TITLE]))
    return table


def thread_card(thread: Row) -> RenderableType:
    """A thread without what was said in it."""
    lines = [Text(f"thread {thread['id']}  {thread['title']}", "bold")]
    lines.append(Text(f"begun {_moment(thread['created_at'])}, went on {_moment(thread['updated_at'])}", "dim"))
    if thread["forked_from"]:
        lines.append(Text(f"forked from {thread['forked_from']} at {thread['forked_at']}", "dim"))
    if thread["settings"]:
        lines.append(Text(f"settings: {json.dumps(thread['settings'], ensure_ascii=False)}", "dim"))
    return Group(*lines)


def thread_page(thread: Row) -> RenderableType:
    """A thread with its messages, what waits, and its states."""
    said = [_entry(entry) for entry in thread["messages"]]
    if thread.get("instruction"):
        said.insert(0, Text(f"instruction: {thread['instruction']}", "dim"))
    states = [_state(state, thread["messages"]) for state in thread["states"]]
    return Group(thread_card(thread), *said, *(waiting(one) for one in thread["approvals"]), *states)


def _state(state: Row, messages: Sequence[Row]) -> Text:
    """A state, and the last message of the person that is in it: at an `input`, the newest one is not yet."""
    reached = dt.datetime.fromisoformat(state["at"])
    said = [one for one in messages if one["kind"] == "user" and one["at"]]
    before = [one["text"] for one in said if dt.datetime.fromisoformat(one["at"]) <= reached]
    within = before[:-1] if state["source"] == "input" else before
    follows = f"  after: {_first_words(within[-1])}" if within else ""
    return Text(f"state {state['id']}  {_moment(state['at'])}  {state['source']} {state['step']}{follows}", "dim")


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 3]}..."


def _entry(entry: Row) -> RenderableType:
    speaker, style = _SPEAKERS[entry["kind"]]
    tool = f" {entry['tool']}" if entry["tool"] else ""
    when = f"  {_moment(entry['at'])}" if entry["at"] else ""
    cut = "  (cut off)" if entry.get("cut") else ""
    head = Text.assemble("\n", (f"{speaker}{tool}", style), (when + cut, "dim"))
    lines = [head] + ([Text(entry["text"])] if entry["text"] else [])
    lines += [Text(f"-> {call['name']}({call['arguments']})", "dim") for call in entry["calls"]]
    lines += [Text(_place(passage), "dim") for passage in entry["passages"]]
    return Group(*lines)


def citations(report: Row) -> Sequence[Text]:
    """The passages that an answer names."""
    return [Text(_place(one), "dim") for one in report["citations"]]


def noted(note: str) -> str:
    """A note of an answer, and what a person can do about it here."""
    return f"{note} {_CONFIGURE}" if note.startswith(_UNCONFIGURED) else note


def waiting(approval: Row) -> RenderableType:
    """A call that waits for a person."""
    arguments = json.dumps(approval["arguments"], ensure_ascii=False, indent=2)
    head = Text.assemble("\n", ("waits for you: ", "bold yellow"), (approval["tool"], "bold"))
    return Group(head, Text(f"{approval['why']}  {approval['id']}", "dim"), Text(arguments))


def deleted(answer: Row) -> RenderableType:
    """What is gone."""
    return Text(f"Deleted thread {answer['deleted']}.")


def _place(passage: Row) -> str:
    first, last = passage["lines"]
    heading = " > ".join(passage["heading"])
    number = passage["number"] if passage.get("used", True) else "not used"
    return f"[{number}] {passage['repository']} {passage['path']}:{first}-{last} {heading}".rstrip()


def _moment(text: str) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
