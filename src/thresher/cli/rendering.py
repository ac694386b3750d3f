"""Turns results into tables and lines for people.

Invariant: takes decoded JSON and returns something that Rich can print; text from servers is never markup.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.output import shortened

Row = Mapping[str, Any]


def plain_text(answer: Row) -> RenderableType:
    """What a model would read, as it stands."""
    return Text(answer["text"])


def found(answer: Row) -> RenderableType:
    """The answer to `find_tools`: tools with probability and reasons, those that fit best first; then what it cost."""
    lines: list[RenderableType] = []
    if answer["abstained"]:
        lines.append(Text(f"No tool fits (probability {answer['probability']:.2f}).", style="bold"))
    if answer["tools"]:
        lines.append(_found_table(answer["tools"]))
    if answer["fallback"]:
        lines.append(Text("fallback: the search could not run; these are the first enabled tools.", style="yellow"))
    if answer["degraded"]:
        lines.append(Text(f"degraded: {answer['degraded']}", style="yellow"))
    if answer.get("held_back"):
        waiting = ", ".join(answer["held_back"])
        lines.append(Text(f"held back until approved (thresher tools held): {waiting}", style="yellow"))
    if failed := answer.get("failed_servers"):
        lines.append(Text(f"failed: {', '.join(failed)} - no tools are known of them.", style="red"))
        lines.append(Text("  See why: thresher servers list. Try again: thresher servers refresh NAME.", style="red"))
    if len(answer["clauses"]) > 1:
        lines.append(Text("searched as: " + " | ".join(answer["clauses"]), style="dim"))
    saved = f"{answer['tokens_sent']} tokens in place of {answer['tokens_all']}"
    spent = f"{len(answer['tools'])} of {answer['total_searched']} tools, {saved}, {answer['duration_ms']:.1f} ms"
    return Group(*lines, Text(spent, style="dim"))


def _found_table(tools: Sequence[Row]) -> Table:
    table = _table("", "tool", "fits", "why")
    for place, tool in enumerate(sorted(tools, key=lambda tool: -tool["score"]), 1):
        name = Text(tool["name"], style="bold")
        name.append(f"\n{_short(tool['line'])}", style="dim")
        table.add_row(str(place), name, f"{tool['score']:.2f}", Text(_reasons(tool["why"])))
    return table


def _reasons(why: Row) -> str:
    arms = [f"{arm} #{why[arm]['rank']}" for arm in ("dense", "lexical") if why[arm]["rank"] is not None]
    return ", ".join([why["source"], *arms, *([" ".join(why["terms"][:5])] if why["terms"] else [])])


def tool_list(answer: Sequence[Row]) -> RenderableType:
    """Every tool: name, server, marks, and what its definition costs a model."""
    if not answer:
        return Text("No tools yet. Add a server: thresher servers add --help")
    table = _table("tool", "server", "marks", "tokens")
    for tool in answer:
        marks = [word for word, on in (("core", tool["core"]), ("disabled", not tool["enabled"])) if on]
        marks += [_warnings(tool["warnings"])] if tool.get("warnings") else []
        server = Text(str(tool["tool"]["server"]))
        table.add_row(Text(tool["name"], style="bold"), server, ", ".join(marks), str(tool["tokens"]))
    return table


def definitions(answer: Row) -> RenderableType:
    """Tools in full, then the names that are unknown with what was perhaps meant."""
    parts: list[RenderableType] = []
    for entry in answer["tools"]:
        tool = entry["tool"]
        parts += [Text(entry["name"], style="bold"), Text(str(tool["description"]).strip())]
        parts.append(Text(json.dumps(tool["input_schema"], indent=2, ensure_ascii=False), style="dim"))
        if tool["annotations"]:
            parts.append(Text(f"annotations: {json.dumps(tool['annotations'], ensure_ascii=False)}", style="dim"))
        for said in entry.get("findings", ()):
            told = f"{said['severity']} at {said['where']}: {said['why']} ({said['excerpt']})"
            parts.append(Text(told, style="yellow"))
    for name, near in answer["unknown"].items():
        meant = f"; perhaps {', '.join(near)}" if near else ""
        parts.append(Text(f"There is no tool {name!r}{meant}.", style="yellow"))
    return Group(*parts)


def server_list(answer: Sequence[Row]) -> RenderableType:
    """Every server: how it is reached, how it is, how many tools it has."""
    if not answer:
        return Text("No servers yet. Add one: thresher servers add --help")
    table = _table("server", "state", "tools", "reached by", "last error")
    for server in answer:
        state = server["state"] if server["enabled"] else "disabled"
        style = {"ready": "green", "failed": "red", "stale": "yellow"}.get(state, "")
        state += {"done": ", signed in", "needed": ", sign-in needed"}.get(str(server.get("sign_in", "")), "")
        state += ", SQL guarded" if server.get("sql") else ""
        target = Text(f"{server['transport']}: {_short(server['target'], 60)}")
        name = Text(server["name"], style="bold")
        table.add_row(name, Text(state, style=style), _tool_count(server), target, Text(_short(server["error"])))
    return table


def _tool_count(server: Row) -> str:
    held = [f"{server['held']} held"] if server.get("held") else []
    warned = [f"{server['warned']} with warnings"] if server.get("warned") else []
    return f"{server['tools']} ({', '.join(held + warned)})" if held or warned else str(server["tools"])


def _warnings(count: int) -> str:
    return "1 warning" if count == 1 else f"{count} warnings"


def signed_in(answer: Row) -> RenderableType:
    """Where somebody is signed in now, with what rights and for how long."""
    rights = f" for {answer['scope']}" if answer["scope"] else ""
    lines = [Text(f"Signed in at '{answer['name']}'{rights}.", style="green")]
    if not answer["renewable"] and answer["expires_at"] is not None:
        until = dt.datetime.fromtimestamp(answer["expires_at"], dt.UTC).astimezone()
        lines.append(Text(f"The server gave no means to renew it: it ends at {until:%Y-%m-%d %H:%M}.", style="yellow"))
    failures = [Text(f"{name}: {error}", style="red") for name, error in answer["failures"].items()]
    return Group(*lines, *failures)


def signed_out(answer: Row) -> RenderableType:
    """Who is signed out, and whether the server has been told."""
    told = "" if answer["revoked"] else " Its server was not told, or does not end sign-ins."
    return Text(f"Signed out of '{answer['name']}'.{told}")


def refreshed(answer: Row) -> RenderableType:
    """What a refresh embedded, kept and removed, and which servers failed, and what waits for approval."""
    counts = ", ".join(f"{answer[name]} {name}" for name in ("embedded", "kept", "removed"))
    failures = [Text(f"{name}: {error}", style="red") for name, error in answer["failures"].items()]
    held = answer["held"]
    waiting = f"{len(held)} held back until you approve: {', '.join(held)}. Look at them: thresher tools held."
    return Group(Text(f"Tools: {counts}."), *failures, *([Text(waiting, style="yellow")] if held else []))


def imported(answer: Row) -> RenderableType:
    """Which servers of a file were added, and what is wrong with the others."""
    added = ", ".join(answer["added"]) or "none"
    return Group(
        Text(f"Servers added: {added}."),
        *(Text(line, style="yellow") for line in answer["problems"]),
        refreshed(answer),
    )


def changed(answer: Row) -> RenderableType:
    """What was changed, in a line."""
    changes = ", ".join(f"{name}: {value}" for name, value in answer.items() if name != "changed")
    return Text(f"{', '.join(answer['changed'])} - {changes}")


def key_made(answer: Row) -> RenderableType:
    """A key, this once, and who can reach what from now on."""
    tenant, user = repr(answer["tenant"]), answer["user"]
    whom = f"the user {user!r} of the tenant" if user else "the tenant"
    own = f", and what the user {user!r} adds" if user else ""
    told = (
        f"It speaks for {whom} {tenant}. Keep it now: nobody can read it again.",
        f"With this key: the servers, tools, documents, databases and APIs of the tenant {tenant}{own}.",
        "Without a key: you, as before, by the commands and `thresher stdio` in this data folder.",
        answer["access"],
    )
    made = (
        [Text(f"The tenant {answer['tenant']!r} is new with this key.", style="yellow")] if answer["new_tenant"] else []
    )
    return Group(Text(answer["key"], style="bold"), *(Text(line) for line in told), *made)


def key_list(answer: Sequence[Row]) -> RenderableType:
    """Every key of a tenant: whom it stands for, when it was used."""
    if not answer:
        return Text("No keys yet. Make one: thresher keys add NAME")
    table = _table("key", "user", "begins with", "made", "last used", "state")
    for key in answer:
        state = "revoked" if key["revoked_at"] else "good"
        made, used = (str(key[name] or "never")[:16].replace("T", " ") for name in ("created_at", "used_at"))
        row = (Text(key["name"], style="bold"), Text(key["user"] or "-"), key["hint"], made, used)
        table.add_row(*row, Text(state, style="green" if state == "good" else "red"))
    return table


def figures(answer: Row) -> RenderableType:
    """The figures of an evaluation."""
    table = _table("figure", "value")
    for name, value in answer.items():
        table.add_row(name, "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value))
    return table


def checks(answer: Sequence[Row]) -> RenderableType:
    """The checks of `doctor`: what is well, what is not, and what to do."""
    table = _table("", "check", "found")
    marks = {"ok": ("ok", "green"), "warning": ("note", "yellow"), "failed": ("FAIL", "red")}
    for check in answer:
        word, style = marks[check["state"]]
        detail = Text(check["detail"])
        if check["fix"]:
            detail.append(f"\n-> {check['fix']}", style="bold")
        table.add_row(Text(word, style=style), check["name"], detail)
    return table


def status(answer: Row) -> RenderableType:
    """How the daemon is."""
    if not answer["running"]:
        return Text(f"No daemon runs for {answer['data_dir']}.")
    table = _table("daemon", "")
    for name, value in answer.items():
        if name not in ("running", "servers"):
            table.add_row(name, Text(_plain(value)))
    return table


def _plain(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {item}" for name, item in cast("dict[str, Any]", value).items())


def _short(text: str, limit: int = 100) -> str:
    return shortened(text, limit)


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in ("fits", "tokens", "state"))
    return table
