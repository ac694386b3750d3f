"""Documents: repositories, how fresh they are, and what they answer."""

from __future__ import annotations

import base64
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from thresher.console.declaration import Pages
from thresher.console.forms import arguments, check_confirmed
from thresher.console.rendering import page_of, render
from thresher.console.streams import live
from thresher.console.visit import Visit
from thresher.core import InvalidInput, ThresherError
from thresher.verbs import DOCUMENTS, JOBS

PAGES = Pages()
_BASE = "/knowledge/documents"


@PAGES.get(_BASE)
async def list_repositories(visit: Visit) -> Response:
    """All repositories; two forms that add one."""
    return visit.page("documents.html", **await _listed(visit))


@PAGES.get(f"{_BASE}/live")
async def follow_repositories(visit: Visit) -> Response:
    """The same table, as long as somebody looks at it."""

    async def show() -> str:
        return render("part_repositories.html", {"visit": visit, **await _listed(visit)})

    return live(visit, show)


async def _listed(visit: Visit) -> dict[str, Any]:
    repositories = await visit.run(DOCUMENTS["list_repositories"])
    jobs = await visit.run(JOBS["list_jobs"], limit=100) if any(one.state != "ready" for one in repositories) else ()
    return {"repositories": repositories, "jobs": {one.id: one for one in jobs}}


@PAGES.post(_BASE)
async def index_source(visit: Visit) -> Response:
    """Index a folder, a file or a git repository."""
    verb, form = DOCUMENTS["index_documents"], await visit.form()
    repository = await visit.run_checked(verb, arguments(verb, form))
    return visit.go(page_of(_BASE, repository.name), f"'{repository.name}' is being indexed.")


@PAGES.post(f"{_BASE}/upload")
async def upload(visit: Visit) -> Response:
    """Store files that a browser sends."""
    form = await visit.sent.form()
    name = str(form.get("repository", "")).strip()
    files = [one for one in form.getlist("files") if isinstance(one, UploadFile) and one.filename]
    if not files:
        raise InvalidInput("No file was chosen.", hint="Choose one or more files, or an archive (.zip, .tar, .tgz).")
    stored, folder = 0, str(form.get("folder", "")).strip().strip("/")
    for one in files:
        path = f"{folder}/{one.filename}" if folder else str(one.filename)
        content = base64.b64encode(await one.read()).decode()
        verb = DOCUMENTS["upload_document"]
        given = {"repository": name, "path": path, "content": content, "encoding": "base64"}
        stored += len((await visit.run_checked(verb, given)).stored)
    files = "1 file is" if stored == 1 else f"{stored} files are"
    return visit.go(page_of(_BASE, name), f"{files} stored, and being indexed.")


@PAGES.get(f"{_BASE}/{{name}}")
async def show_repository(visit: Visit) -> Response:
    """One repository: its state, a box to try a question on exactly this, its guide, and what was not read."""
    name, question = visit.sent.path_params["name"], visit.query("q").strip()
    repository = await visit.run(DOCUMENTS["show_repository"], repository=name)
    skipped = await visit.run(DOCUMENTS["skipped_files"], repository=name) if repository.skipped else ()
    answer, passages, error = None, None, None
    budget = visit.query("budget", "2000")
    if question:
        try:
            given = {"query": question, "repository": name}
            answer = await visit.run_checked(DOCUMENTS["retrieve_document"], {**given, "budget": int(budget or 0)})
            passages = await visit.run_checked(DOCUMENTS["search_documents"], given)
        except ValueError:
            raise InvalidInput("The budget is not a number.", hint="Give tokens, such as 2000.") from None
        except ThresherError as failure:
            error = failure
    return visit.page(
        "repository.html",
        repository=repository,
        skipped=skipped,
        question=question,
        budget=budget,
        answer=answer,
        passages=passages,
        error=error,
    )


@PAGES.get(f"{_BASE}/{{name}}/read")
async def read_document(visit: Visit) -> Response:
    """A document, or some lines of it, verbatim."""
    given = {one: visit.query(one) for one in ("path", "lines", "section", "cursor")}
    page = await visit.run_checked(DOCUMENTS["read_document"], {"repository": visit.sent.path_params["name"], **given})
    return visit.page("document.html", document=page, given=given, name=visit.sent.path_params["name"])


@PAGES.post(f"{_BASE}/{{name}}/{{change}}")
async def change_repository(visit: Visit) -> Response:
    """Refresh, schedule, write the guide of, or remove a repository."""
    name, change, form = visit.sent.path_params["name"], visit.sent.path_params["change"], await visit.form()
    given: dict[str, Any] = {"repository": name}
    match change:
        case "refresh":
            verb, said = DOCUMENTS["refresh_repository"], "The source is being read again."
        case "schedule":
            verb, said = DOCUMENTS["schedule_repository"], "The schedule is set."
            given |= arguments(verb, {"seconds": form.get("seconds", "")}) or {"seconds": None}
        case "guide":
            verb, said = DOCUMENTS["set_guide"], "The guide is saved."
            given["text"] = form.get("text") if form.get("by") == "person" else None
        case "webhook":
            webhook = await visit.run(DOCUMENTS["make_webhook"], repository=name)
            return visit.page("webhook.html", webhook=webhook, name=name, base=str(visit.sent.base_url).rstrip("/"))
        case "remove":
            check_confirmed(form, name)
            await visit.run(DOCUMENTS["remove_repository"], repository=name)
            return visit.go(_BASE, f"'{name}' is forgotten; its source is as it was.")
        case _:
            raise InvalidInput(f"A repository has no '{change}'.", hint="Use the buttons of its page.")
    await visit.run_checked(verb, given)
    return visit.go(page_of(_BASE, name), said)
