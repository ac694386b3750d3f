"""Signing in with a key, and out; the colours that a browser chose.

Invariant: the key is read once, and never comes back to the browser; its session is what the cookie holds. An identity
provider becomes another way to open a session, here.
"""

from __future__ import annotations

from starlette.responses import Response

from thresher.api import SESSION
from thresher.console.pages.declaration import Pages
from thresher.console.visit import THEME, THEMES, Visit, safe_return
from thresher.core import AccessDenied
from thresher.store import LONGEST_SESSION

PAGES = Pages()


@PAGES.get("/sign-in", is_open=True)
async def sign_in_form(visit: Visit) -> Response:
    """A field for a key."""
    return visit.page("sign_in.html", next=safe_return(visit.query("next", "/")), error="")


@PAGES.post("/sign-in", is_open=True)
async def sign_in(visit: Visit) -> Response:
    """Open a session."""
    form = await visit.sent.form()
    back = safe_return(str(form.get("next", "/")))
    try:
        token = await visit.services.sessions.open(str(form.get("key", "")).strip())
    except AccessDenied as error:
        return visit.page("sign_in.html", 403, next=back, error=error.message)
    if former := visit.cookie(SESSION):
        await visit.services.sessions.close(former)
    answer = visit.go(back)
    visit.set_cookie(answer, SESSION, token, int(LONGEST_SESSION.total_seconds()))
    return answer


@PAGES.post("/sign-out")
async def sign_out(visit: Visit) -> Response:
    """Close the session."""
    if token := visit.cookie(SESSION):
        await visit.services.sessions.close(token)
    answer = visit.go("/sign-in")
    visit.set_cookie(answer, SESSION, "")
    return answer


@PAGES.post("/theme", is_open=True)
async def choose_theme(visit: Visit) -> Response:
    """Remember whether pages are light or dark."""
    form = await visit.sent.form()
    chosen = str(form.get("theme", ""))
    answer = visit.go(safe_return(str(form.get("next", "/"))))
    visit.set_cookie(answer, THEME, chosen if chosen in THEMES else "", 365 * 24 * 3_600)
    return answer
