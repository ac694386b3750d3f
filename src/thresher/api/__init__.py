"""Face 2, HTTP: the door before all that HTTP reaches, everything under `/v1`, `/healthz` and `/readyz`.

Invariant: nothing behind the door, MCP included, sees a request whose Host, Origin and key were not checked; every
refusal and every error is a problem document (RFC 9457), or has OpenAI's form on its paths, with a hint and a trace id,
and nothing internal.

Uses: agent, context, core, embedding, knowledge, llm, peers, services, store, verbs.
"""

from thresher.api.application import Bounded, http_api
from thresher.api.door import CALLER, KEY, OWNER, SESSION, WATCHED, Door, cookie_name
from thresher.api.errors import status_of
from thresher.api.origins import Origins
from thresher.api.routes import HTTP_VERBS

__all__ = [
    "CALLER",
    "HTTP_VERBS",
    "KEY",
    "OWNER",
    "SESSION",
    "WATCHED",
    "Bounded",
    "Door",
    "Origins",
    "cookie_name",
    "http_api",
    "status_of",
]
