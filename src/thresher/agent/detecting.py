"""Says what a message needs: which intents, which tools, whose rules.

Invariant: what cannot be found out is left out and noted; a turn never fails for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thresher.agent.desk import Desk
from thresher.agent.offers import DOCUMENTS, OWN_PACKS, joined
from thresher.embedding import count_tokens

SECONDS: Final = 15.0
RULES_TOKENS: Final = 4_000
"""Of rules that go with one message, at most."""
AROUND_TOKENS: Final = 400
"""Of what the prompt says that there is to ask."""
_MESSAGE: Final = 4_000
"""Characters of a message that are looked at for what it needs."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a message needs.

    Attributes:
        intents: Names of packs, best first.
        offered: Names of tools, in the order in which the model has them.
        rules: Of those packs, as the model reads them.
        around: What there is to ask.
    """

    intents: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    rules: str = ""
    around: str = ""


async def detect(desk: Desk, message: str, former: Sequence[str], offered: Sequence[str]) -> Needs:
    """What a message needs.

    Args:
        desk: The turn.
        message: The person's words; after a failure with the error behind them.
        former: What was said before, oldest first.
        offered: Names of tools that the conversation has by now.
    """
    settings, text = desk.settings, message[:_MESSAGE]
    core = await desk.offers.core()
    asked = {"prompt": text, **({"history": list(former[-4:])} if former else {})}
    prompt, found, around = await asyncio.gather(
        _told(desk, settings.packs, "process_prompt", asked),
        _told(
            desk, settings.servers or settings.packs, "find_tools", {"message": text, "limit": min(10, settings.tools)}
        ),
        _around(desk, core),
    )
    intents = tuple(one["name"] for one in prompt.get("intents", ()))
    names = [one["name"] for one in (*prompt.get("tools", ()), *found.get("tools", ()))]
    await desk.offers.describe([*offered, *names])
    wanted = [tool.name for tool in desk.offers.known(dict.fromkeys(names)) if not _ours(tool.name)]
    whole = joined(offered, core, wanted[: settings.tools], 2 * settings.tools)
    there = tuple(tool.name for tool in desk.offers.known(whole))
    return Needs(intents, there, _rules(desk, prompt.get("rules", ())), around)


def _ours(name: str) -> bool:
    """Whether a tool reads documents in a way that would leave their text in the history."""
    return name in ("retrieve_document", "read_document") or name in DOCUMENTS


async def _told(desk: Desk, wanted: bool, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    if not wanted:
        return {}
    outcome = await desk.offers.call(tool, arguments, SECONDS)
    if outcome.failed:
        desk.account.note(f"{tool} failed, so the tools may not fit: {outcome.text[:200]}")
        return {}
    return outcome.data


def _rules(desk: Desk, rules: Sequence[Mapping[str, Any]]) -> str:
    """Rules of packs that do not speak of the tools that every conversation has, as far as they fit."""
    parts, room = list[str](), RULES_TOKENS
    for rule in rules:
        if rule["pack"] in OWN_PACKS:
            continue
        text = f"# Rules of {rule['pack']} for this message\n\n{rule['text']}"
        if (cost := count_tokens(text)) > room:
            desk.account.note(f"The rules of {rule['pack']} have {cost:,} tokens and were left out.")
            continue
        parts.append(text)
        room -= cost
    return "\n\n".join(parts)


async def _around(desk: Desk, core: Sequence[str]) -> str:
    """The repositories and databases that there are, a line each."""
    calls = {"list_repositories": "repositories", "sql_connection_list": "connections"}
    wanted = {tool: key for tool, key in calls.items() if tool in core}
    answers = await asyncio.gather(*(_told(desk, True, tool, {}) for tool in wanted))
    titles = {"repositories": "Documents that can be searched:", "connections": "Databases that can be asked:"}
    parts = list[str]()
    for key, answer in zip(wanted.values(), answers, strict=True):
        if lines := [_line(one) for one in answer.get(key, ())]:
            parts.append("\n".join([titles[key], *_within(lines)]))
    listed = dict(zip(wanted.values(), answers, strict=True)).get("connections", {"connections": ()})
    return "\n\n".join(filter(None, (*parts, _meant(desk, listed))))


def _meant(desk: Desk, listed: Mapping[str, Any]) -> str:
    """Which database is meant where none is named; one that was chosen and is gone is noted.

    Args:
        desk: The turn.
        listed: What `sql_connection_list` has answered; empty where it failed.
    """
    chosen = desk.settings.connection
    if not chosen or not desk.settings.sql or "connections" not in listed:
        return ""
    if chosen in (one["name"] for one in listed["connections"]):
        return f"Where no database is named, {chosen} is meant."
    desk.account.note(
        f"The setting connection names '{chosen}', but no database has this name; the setting is ignored."
    )
    return ""


def _line(one: Mapping[str, Any]) -> str:
    about = " ".join(str(one.get("description") or "").split())[:120]
    dialect = f" ({one['dialect']})" if one.get("dialect") else ""
    return f"- {one['name']}{dialect}{f': {about}' if about else ''}"


def _within(lines: Sequence[str]) -> list[str]:
    taken, room = list[str](), AROUND_TOKENS
    for line in lines:
        if (cost := count_tokens(line)) > room:
            return [*taken, f"- and {len(lines) - len(taken)} more"]
        taken.append(line)
        room -= cost
    return taken
