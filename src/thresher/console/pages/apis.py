"""APIs: descriptions, how good they are, and which operation a question means."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from thresher.console.declaration import Pages
from thresher.console.forms import arguments, check_confirmed
from thresher.console.rendering import page_of
from thresher.console.visit import Visit
from thresher.core import InvalidInput, NotFound, ThresherError
from thresher.verbs import APIS

PAGES = Pages()
_BASE = "/knowledge/apis"
_FOUND = 10


@PAGES.get("/knowledge")
async def knowledge(_: Visit) -> Response:
    """The first kind of knowledge."""
    return RedirectResponse("/knowledge/documents", 303)


@PAGES.get(_BASE)
async def list_apis(visit: Visit) -> Response:
    """All APIs, a box to try a question on all of them, and a form that adds one."""
    providers = await visit.run(APIS["list_api_providers"])
    question = visit.query("q").strip()
    found = await visit.run(APIS["search_api_docs"], query=question, limit=_FOUND) if question else None
    return visit.page("apis.html", providers=providers, question=question, found=found)


@PAGES.post(_BASE)
async def add_api(visit: Visit) -> Response:
    """Read a description."""
    verb = APIS["add_api"]
    provider = await visit.run_checked(verb, arguments(verb, await visit.form()))
    return visit.go(page_of(_BASE, provider.name), f"'{provider.name}' is being read.")


@PAGES.get(f"{_BASE}/endpoint/{{endpoint}}")
async def show_endpoint(visit: Visit) -> Response:
    """One operation in full, as a model reads it."""
    answer = await visit.run(APIS["get_api_endpoint"], endpoint_id=visit.sent.path_params["endpoint"])
    return visit.page("endpoint.html", answer=answer)


@PAGES.get(f"{_BASE}/{{name}}")
async def show_api(visit: Visit) -> Response:
    """One API: versions, findings with score and patch, hosts and credentials for calls, and a box to try."""
    name, question = visit.sent.path_params["name"], visit.query("q").strip()
    providers = await visit.run(APIS["list_api_providers"])
    provider = next((one for one in providers if one.name == name), None)
    if provider is None:
        raise NotFound(f"There is no API '{name}'.", hint="See the list of APIs.")
    found = await visit.run(APIS["search_api_docs"], query=question, providers=[name]) if question else None
    advice: Any = None
    if any(version.synced_at is not None for version in provider.versions):
        try:
            advice = await visit.run(APIS["suggest_api_improvements"], provider=name, patch=_patch(visit))
        except ThresherError as error:
            advice = error
    return visit.page(
        "api.html",
        provider=provider,
        question=question,
        found=found,
        advice=None if isinstance(advice, ThresherError) else advice,
        problem=advice if isinstance(advice, ThresherError) else None,
        hosts=await visit.run(APIS["list_api_hosts"], provider=name),
        credentials=await visit.run(APIS["list_api_credentials"], provider=name),
    )


def _patch(visit: Visit) -> str:
    form = visit.query("patch", "none")
    return form if form in ("overlay", "diff") else "none"


@PAGES.post(f"{_BASE}/{{name}}/{{change}}")
async def change_api(visit: Visit) -> Response:
    """Read an API again, switch it, let calls reach a host, or remove it."""
    name, change, form = visit.sent.path_params["name"], visit.sent.path_params["change"], await visit.form()
    given: dict[str, Any] = {"provider": name}
    match change:
        case "sync":
            verb, said = APIS["sync_api"], "The description is being read again."
        case "active":
            verb, said = APIS["set_api_active"], "The switch is set."
            given["active"] = form.get("active") == "yes"
        case "host":
            verb, said = APIS["allow_api_host"], "Calls may reach the host."
            given |= {"host": form.get("host", ""), "private": form.get("private") == "yes"}
        case "disallow":
            verb, said = APIS["disallow_api_host"], "Calls may not reach the host any longer."
            given["host"] = form.get("host", "")
        case "credential":
            verb, said = APIS["set_api_credential"], "The credential is sealed and stored."
            given |= arguments(verb, form)
        case "forget":
            verb, said = APIS["remove_api_credential"], "The credential is forgotten."
            given["scheme"] = form.get("scheme", "")
        case "remove":
            check_confirmed(form, name)
            await visit.run(APIS["remove_api"], provider=name)
            return visit.go(_BASE, f"'{name}' is forgotten.")
        case _:
            raise InvalidInput(f"An API has no '{change}'.", hint="Use the buttons of its page.")
    await visit.run_checked(verb, {"provider": name} | given)
    return visit.go(page_of(_BASE, name), said)
