"""Face 2, HTTP: who may come in, `POST /v1/tools/find` and `/v1/tools/refresh`, `/healthz` and `/readyz`.

Invariant: nothing behind the door, MCP included, sees a request whose Host, Origin and key were not checked; every
refusal and every error is a problem document (RFC 9457) with a way out and a trace id, and nothing internal.

Uses: agent, audit, context, core, embedding, jobs, knowledge, openapi, packs, services, servoy, store.
"""

from thresher.api.application import http_api
from thresher.api.door import CALLER, KEY, Door
from thresher.api.origins import Origins, is_loopback

__all__ = ["CALLER", "KEY", "Door", "Origins", "http_api", "is_loopback"]
