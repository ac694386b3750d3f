"""One request of a browser: who sends it, what they may do, and how they are answered.

Invariant: a change carries a token that only a page of this console could know. It is bound to the browser's visit and
to its caller, by a key that all replicas have. A change that HTTP does not serve is the owner's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.background import BackgroundTask
from starlette.requests import Request as Sent
from starlette.responses import HTMLResponse, RedirectResponse, Response

from thresher.agent import Conversations
from thresher.api import HTTP_VERBS, SESSION, cookie_name
from thresher.console.rendering import render
from thresher.console.waiting import is_stale, look, waiting
from thresher.core import AccessDenied, Caller, NotAllowed
from thresher.services import Services
from thresher.verbs import Request, Verb, checked

_VISIT: Final = "thresher_visit"
_NOTICE: Final = "thresher_notice"
_LONGEST_NOTICE: Final = 2_500
"""Bytes; browsers keep no cookie of more than 4,096, and proxies refuse an answer with long headers."""
THEME: Final = "thresher_theme"
THEMES: Final = ("light", "dark")


@dataclass(frozen=True)
class Visit:
    """A request of a browser.

    Attributes:
        sent: The request.
        services: The running product.
        conversations: Conversations with a model.
        who: Who sends it; None if nobody has signed in.
        is_owner: Whether it is the owner of this process.
    """

    sent: Sent
    services: Services
    conversations: Conversations
    who: Caller | None
    is_owner: bool

    @property
    def caller(self) -> Caller:
        """Who sends it.

        Raises:
            AccessDenied: Nobody has signed in.
        """
        if self.who is None:
            raise AccessDenied("Sign in first.", hint="Use a key: thresher keys add NAME")
        return self.who

    @property
    def request(self) -> Request:
        """What a verb works with."""
        agent = self.sent.headers.get("user-agent", "")
        return Request(self.services, self.caller, client=agent, reader="person", is_owner=self.is_owner)

    async def run(self, verb: Verb, /, **arguments: Any) -> Any:
        """Run a verb with arguments that this program makes.

        Raises:
            NotAllowed: It is for the owner.
            ThresherError: As the verb declares.
        """
        return await self.run_checked(verb, arguments)

    async def run_checked(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:
        """Run a verb with arguments that a person has written; errors as `run`.

        Raises:
            InvalidInput: An argument is not valid.
        """
        if not self.may(verb):
            raise NotAllowed("Only the owner may do this here.", hint="Ask whoever runs this Thresher.")
        return await verb.run(self.request, checked(verb, arguments))

    def may(self, verb: Verb) -> bool:
        """Whether the caller may use a verb here at all; services decide about whose rows it sees or changes."""
        return self.is_owner or verb.access == "read" or verb in HTTP_VERBS

    def query(self, name: str, default: str = "") -> str:
        """A parameter of the address."""
        return self.sent.query_params.get(name, default)

    async def form(self) -> dict[str, str]:
        """The texts of the form that was sent, without its files."""
        return {name: value for name, value in (await self.sent.form()).items() if isinstance(value, str)}

    @property
    def waiting(self) -> int:
        """How many things wait for the caller, as far as is known."""
        return 0 if self.who is None else waiting(self.services, self.who)

    @property
    def address(self) -> str:
        """The path and query of the page, to come back to."""
        url = self.sent.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def has_session(self) -> bool:
        """Whether somebody has signed in here."""
        return self.who is not None and not self.is_owner

    async def has_ended(self) -> bool:
        """Whether the session that it came with is over since; asking is no use of the session."""
        token = self.cookie(SESSION)
        if not self.has_session or not token:
            return False
        return await self.services.sessions.find(token, is_use=False) is None

    @property
    def theme(self) -> str:
        """The chosen colours: `light` or `dark`; empty for those of the system."""
        chosen = self.cookie(THEME)
        return chosen if chosen in THEMES else ""

    @property
    def is_part(self) -> bool:
        """Whether htmx asks for a part of a page."""
        return "hx-request" in self.sent.headers

    @property
    def csrf(self) -> str:
        """The token that changes carry."""
        return _sign(self.services, self._nonce, self._identity)

    def check_csrf(self, token: str) -> None:
        """Refuse a change that no page of this console has sent.

        Raises:
            NotAllowed: The token is missing, or was made for another visit or caller.
        """
        if self.cookie(_VISIT) == "" or not hmac.compare_digest(token.encode(), self.csrf.encode()):
            raise NotAllowed("This form is too old, or is not of this page.", hint="Load the page again, then repeat.")

    def page(self, template: str, status: int = 200, **context: Any) -> Response:
        """A page.

        Args:
            template: Its file.
            status: The status of the answer.
            context: What it shows.
        """
        notice = self._notice()
        shared = {"visit": self, "path": self.sent.url.path, "notice": notice}
        answer = HTMLResponse(render(template, shared | context), status)
        answer.headers["cache-control"] = "no-store"
        answer.headers["vary"] = "cookie, hx-request"
        if self.cookie(_VISIT) != self._nonce:
            self.set_cookie(answer, _VISIT, self._nonce)
        if notice:
            self.set_cookie(answer, _NOTICE, "")
        if self.who is not None and not self.is_part and is_stale(self.services, self.who):
            answer.background = BackgroundTask(look, self.request)
        return answer

    def go(self, address: str, notice: str = "", *, is_error: bool = False) -> Response:
        """Send the browser to a page after a change, with a sentence to show there."""
        answer = RedirectResponse(address, 303)
        if notice:
            said = f"{int(is_error)}{notice}".encode("utf-8", "replace")[:_LONGEST_NOTICE]
            signed = base64.urlsafe_b64encode(said).decode()
            self.set_cookie(answer, _NOTICE, f"{signed}.{_sign(self.services, self._nonce, signed)}")
        return answer

    def cookie(self, name: str) -> str:
        """The value of a cookie of this port; empty if there is none."""
        return self.sent.cookies.get(cookie_name(name, self.sent.headers.get("host", "")), "")

    def set_cookie(self, answer: Response, name: str, value: str, seconds: int | None = None) -> None:
        """Set a cookie that no script can read and no other site can send; an empty value removes it."""
        secure = "https" in (self.sent.url.scheme, self.sent.headers.get("x-forwarded-proto", ""))
        answer.set_cookie(
            cookie_name(name, self.sent.headers.get("host", "")),
            value,
            max_age=seconds if value else 0,  # none: until the browser is closed
            httponly=True,
            samesite="strict",
            secure=secure,
        )

    @property
    def _nonce(self) -> str:
        return self.cookie(_VISIT) or _new_nonce(self.sent)

    @property
    def _identity(self) -> str:
        session = self.cookie(SESSION)
        owner = "owner" if self.is_owner else "nobody" if self.who is None else f"{self.who.tenant.id} {self.who.key}"
        return f"{owner} {hashlib.sha256(session.encode()).hexdigest()}"

    def _notice(self) -> tuple[str, bool] | None:
        text, _, signature = self.cookie(_NOTICE).partition(".")
        if not text or not hmac.compare_digest(signature.encode(), _sign(self.services, self._nonce, text).encode()):
            return None
        said = base64.urlsafe_b64decode(text).decode("utf-8", "ignore")
        return said[1:], said[0] == "1"


def _new_nonce(sent: Sent) -> str:
    """One for a browser that has none yet; the same for the whole request."""
    if not hasattr(sent.state, "nonce"):
        sent.state.nonce = secrets.token_urlsafe(16)
    return sent.state.nonce


def _sign(services: Services, *parts: str) -> str:
    key = services.secrets.signing_key("console")
    return hmac.new(key, "\0".join(parts).encode(), "sha256").hexdigest()


def safe_return(address: str) -> str:
    """The page to go to after a sign-in: one of this console, whatever the address says."""
    is_local = address.startswith("/") and not address.startswith("//")
    return address if is_local and "\\" not in address and address.isprintable() else "/"
