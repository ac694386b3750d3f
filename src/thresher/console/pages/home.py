"""Home: is it well, what waits for a person, what did it save; and how to begin, where there is nothing yet."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from starlette.responses import Response

from thresher.console.declaration import Pages
from thresher.console.pages.insight import price_of
from thresher.console.pages.servers import state_of
from thresher.console.rendering import link, page_of, render
from thresher.console.streams import live
from thresher.console.visit import Visit
from thresher.console.waiting import noted
from thresher.core import default_data_dir
from thresher.gateway import MCP_PATH, clients, clients_over_http, own_command
from thresher.verbs import APIS, DATABASES, DOCUMENTS, INSIGHT, TOOLS

PAGES = Pages()
_SHOWN: Final = 12
"""Things that wait, and servers, that are shown before a link to all of them."""
_ORDER: Final = ("broken", "look", "healthy", "off")
_STRIP: Final = 60
_SETTLED: Final = {
    "tool": "/tools",
    "pack": "/knowledge/packs",
    "server": "/servers",
    "repository": "/knowledge/documents",
    "api": "/knowledge/apis",
    "connection": "/knowledge/databases",
}
"""Where things of a kind are settled, each on a page of its own name."""
_DAY: Final = 86_400.0
_LEAST: Final = 60.0
"""Seconds; a day that has just begun has no figures of its own yet."""


@PAGES.get("/")
async def home(visit: Visit) -> Response:
    """Figures of today, what waits, servers; an empty system explains itself."""
    servers = await _servers(visit)
    is_empty = not servers and await _knows_nothing(visit)
    now = dt.datetime.now(dt.UTC)
    seconds = (now - now.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    days = max(seconds, _LEAST) / _DAY
    found = await visit.run(INSIGHT["attention"])
    noted(visit.services, visit.caller, found)
    show_all = visit.query("all") == "yes"
    return visit.page(
        "home.html",
        is_empty=is_empty,
        usage=(await visit.run(INSIGHT["usage_summary"], days=days)).total,
        unanswered=await visit.run(INSIGHT["unanswered_messages"], days=days, limit=500),
        price=price_of(visit),
        attention=found,
        items=[(one, settled_at(one)) for one in (found.items if show_all else found.items[:_SHOWN])],
        **_strip(servers),
        **_setups(visit),
        may_add=visit.may(TOOLS["add_server"]),
        may_index=visit.may(DOCUMENTS["index_documents"]),
    )


@PAGES.get("/home/servers")
async def follow_servers(visit: Visit) -> Response:
    """The strip of servers, as long as somebody looks at it."""

    async def show() -> str:
        return render("part_strip.html", {"visit": visit, **_strip(await _servers(visit))})

    return live(visit, show)


async def _servers(visit: Visit) -> list[Any]:
    """The servers that somebody has added, those with problems first."""
    found = [one for one in await visit.run(TOOLS["list_servers"]) if one.transport != "local"]
    return sorted(found, key=lambda one: _ORDER.index(state_of(one)[0]))


def _strip(servers: list[Any]) -> dict[str, Any]:
    shown = [(one, state_of(one)) for one in servers[:_STRIP]]
    return {"servers": shown, "more": max(0, len(servers) - _STRIP)}


async def _knows_nothing(visit: Visit) -> bool:
    """Whether nothing else has been added either."""
    for verb in (DOCUMENTS["list_repositories"], APIS["list_api_providers"], DATABASES["sql_connection_list"]):
        if await visit.run(verb):
            return False
    return True


def settled_at(item: Any) -> str:
    """The address where a thing that waits is settled."""
    if item.kind == "job":
        return link("/settings/jobs", job=item.name)
    if item.kind == "server" and item.state == "sign-in":
        return page_of("/servers", item.name) + "#sign-in"
    return page_of(_SETTLED[item.kind], item.name)


def _setups(visit: Visit) -> dict[str, Any]:
    """How clients are connected: by a program of this machine for its owner, and over HTTP."""
    address = f"{str(visit.sent.base_url).rstrip('/')}{MCP_PATH}"
    over_http = clients_over_http(address, "" if visit.is_owner else "Bearer YOUR_KEY")
    if not visit.is_owner:
        return {"address": address, "started": (), "over_http": over_http}
    folder = visit.services.settings.data_dir.expanduser().absolute()
    variables = {} if folder == default_data_dir().absolute() else {"THRESHER_DATA_DIR": str(folder)}
    if visit.services.settings.allow_root:
        variables["THRESHER_ALLOW_ROOT"] = "1"
    return {"address": address, "started": clients(own_command(), variables, indent=2), "over_http": over_http}
