"""Tools: what is there, and may it be used."""

from __future__ import annotations

from starlette.responses import Response

from thresher.console.pages.declaration import Pages
from thresher.console.visit import Visit
from thresher.verbs import TOOLS

PAGES = Pages()
_AT_ONCE = 100


@PAGES.get("/tools")
async def list_tools(visit: Visit) -> Response:
    """The catalogue, some rows at a time."""
    found = await visit.run(TOOLS["list_tools"], server=visit.query("server") or None)
    return visit.page("tools.html", tools=found[:_AT_ONCE], total=len(found))
