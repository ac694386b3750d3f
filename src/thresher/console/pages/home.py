"""Home: is it well, what waits for a person, what did it save."""

from __future__ import annotations

from starlette.responses import Response

from thresher.console.pages.declaration import Pages
from thresher.console.visit import Visit
from thresher.verbs import TOOLS

PAGES = Pages()


@PAGES.get("/")
async def home(visit: Visit) -> Response:
    """Servers and their states; an empty system explains itself."""
    servers = await visit.run(TOOLS["list_servers"])
    return visit.page("home.html", servers=servers, address=str(visit.sent.base_url))
