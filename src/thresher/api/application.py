"""Builds the HTTP API: its routes, its errors, its description.

Invariant: it trusts the scope's caller, so it is served behind the door alone.
"""

from __future__ import annotations

from fastapi import FastAPI

from thresher import __version__
from thresher.api.errors import explain_errors
from thresher.api.health import Watch, health_router
from thresher.api.tools import tools_router
from thresher.services import Services

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of a body, as for MCP: a message with a pasted log fits, an upload does not."""


def http_api(services: Services) -> FastAPI:
    """The application for every path but `/mcp`.

    Args:
        services: What it works with.
    """
    application = FastAPI(
        title="Thresher",
        version=__version__,
        summary="For each message, the few tools a model needs - and why.",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        max_body_size=BODY_LIMIT,
    )
    explain_errors(application)
    application.include_router(tools_router(services.tools))
    application.include_router(health_router(Watch(services.database, services.encoder)))
    return application
