"""Builds the HTTP API: its routes, its errors, its description.

Invariant: it trusts the scope's caller, so it is served behind the door alone.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

from fastapi import FastAPI

from thresher import __version__
from thresher.agent import Assistant, Conversations, Threads
from thresher.api.assistant import assistant_router
from thresher.api.bodies import Bounded
from thresher.api.chat import chat_router, models_router
from thresher.api.context import context_router
from thresher.api.errors import explain_errors
from thresher.api.health import Watch, health_router
from thresher.api.models import ProblemDocument
from thresher.api.routes import ROUTES
from thresher.api.threads import threads_router
from thresher.api.tools import tools_router
from thresher.api.verbs import verbs_router
from thresher.services import Services


class _API(FastAPI):
    """FastAPI, but its description knows what problem documents look like."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        made = self.openapi_schema is not None
        document = super().openapi()
        if not made:
            problem = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas = document["components"]["schemas"]
            schemas |= {**problem.pop("$defs"), "ProblemDocument": problem}
            for schema in schemas.values():
                _describe_fields(schema)
        return document


def _describe_fields(schema: dict[str, Any]) -> None:
    """Give the fields of a record their descriptions: the section `Attributes` of its docstring."""
    description, _, attributes = schema.get("description", "").partition("Attributes:\n")
    if not attributes:
        return
    schema["description"] = description.strip()
    for line in cleandoc(attributes).replace("\n    ", " ").splitlines():
        name, _, text = line.partition(": ")
        if (field := schema.get("properties", {}).get(name)) is not None and "$ref" not in field:
            field.setdefault("description", text)


def http_api(services: Services, assistant: Assistant, threads: Threads, conversations: Conversations) -> FastAPI:
    """The application for every path but `/mcp`.

    Args:
        services: What it works with.
        assistant: Answers questions without a model.
        threads: What is kept of conversations.
        conversations: Conversations with a model.
    """
    application = _API(
        title="Thresher",
        version=__version__,
        summary="For each message, the few tools a model needs - and why.",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    application.add_middleware(Bounded)
    explain_errors(application)
    application.include_router(context_router(services.context))
    application.include_router(tools_router(services.tools))
    for kind, routes in ROUTES:
        application.include_router(verbs_router(services, kind, routes))
    application.include_router(assistant_router(assistant))
    application.include_router(threads_router(threads, services.chat_settings))
    application.include_router(chat_router(conversations, services.models))
    application.include_router(models_router(services.models))
    application.include_router(health_router(Watch(services.database, services.encoder)))
    return application
