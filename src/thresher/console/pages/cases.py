"""Test cases: messages with what should come for them, run all at once, and what changed since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from thresher.console.declaration import Pages
from thresher.console.forms import whole
from thresher.console.rendering import link
from thresher.console.visit import Visit
from thresher.core import InvalidInput
from thresher.verbs import CASES

PAGES = Pages()
_BASE = "/try/cases"
_PAGE_OF: Final = 200
"""Cases that are listed; the export has all."""


@PAGES.get(_BASE)
async def list_cases(visit: Visit) -> Response:
    """All cases, the last run with what changed before it, and the runs before."""
    cases = await visit.run(CASES["list_cases"])
    run = await visit.run(CASES["last_case_run"])
    outcomes = {one.case: one for one in run.outcomes} if run else {}
    failed = {number for number, one in outcomes.items() if not one.passed}
    ordered = sorted(cases, key=lambda one: (one.id not in failed, -one.id))
    return visit.page(
        "cases.html",
        cases=ordered[:_PAGE_OF],
        total=len(cases),
        run=run,
        outcomes=outcomes,
        runs=await visit.run(CASES["list_case_runs"]),
        may=visit.may(CASES["add_case"]),
    )


@PAGES.post(_BASE)
async def add_case(visit: Visit) -> Response:
    """Save a message with the names that were ticked, and go back to where it was tried."""
    form = await visit.sent.form()
    message = str(form.get("message", ""))
    needs, excluded = (_by_kind([str(one) for one in form.getlist(name)]) for name in ("needs", "excluded"))
    if both := {(kind, name) for kind in needs for name in needs[kind]} & {
        (kind, name) for kind in excluded for name in excluded[kind]
    }:
        raise InvalidInput(f"'{min(both)[1]}' cannot both come and not come.", hint="Tick one of the two.")
    given = {"message": message, "needs": needs, "excluded": excluded, "verb": str(form.get("verb", "get_context"))}
    await visit.run_checked(CASES["add_case"], given)
    back = str(form.get("back", ""))
    return visit.go(back if back.startswith("/try?") else link("/try", message=message), "Saved as a test case.")


def _by_kind(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in names:
        kind, _, name = one.partition(":")
        if name.strip():
            found.setdefault(kind, []).append(name)
    return found


@PAGES.post(f"{_BASE}/run")
async def run_cases(visit: Visit) -> Response:
    """Ask all cases."""
    run = await visit.run(CASES["run_cases"])
    if not run.cases:
        return visit.go(_BASE, "There is no case to run.", is_error=True)
    return visit.go(_BASE, f"{run.passed:,} of {run.cases:,} cases pass.")


@PAGES.post(f"{_BASE}/remove")
async def remove_case(visit: Visit) -> Response:
    """Remove a case, with what it got in runs."""
    form = await visit.form()
    await visit.run_checked(CASES["remove_case"], {"case": _number(form.get("case", ""))})
    return visit.go(_BASE, "The case is removed.")


def _number(text: str) -> int:
    if (number := whole(text)) is None:
        raise InvalidInput("This is not the number of a case.", hint="Use the buttons of the page.")
    return number


@PAGES.post(f"{_BASE}/import")
async def import_cases(visit: Visit) -> Response:
    """Save cases from JSON lines: a file's, or what was pasted."""
    form = await visit.sent.form()
    file = form.get("file")
    read = await file.read() if isinstance(file, UploadFile) and file.filename else str(form.get("lines", "")).encode()
    done = await visit.run_checked(CASES["import_cases"], {"cases": _lines(read)})
    return visit.go(_BASE, f"{done.added:,} cases are new, {done.replaced:,} were there and have these names now.")


def _lines(content: bytes) -> list[Any]:
    """The JSON values of lines; empty lines are left out.

    Raises:
        InvalidInput: A line is not JSON, or there is none.
    """
    found: list[Any] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                hint = 'One case is {"message": "...", "needs": {"tools": ["server:name"]}}, on one line.'
                raise InvalidInput(f"Line {number} is not JSON.", hint=hint) from None
    if not found:
        raise InvalidInput("There is no case.", hint="Choose a file, or paste lines of JSON.")
    return found


@PAGES.get(f"{_BASE}/export")
async def export_cases(visit: Visit) -> Response:
    """All cases as JSON lines, as an import takes them."""
    cases = await visit.run(CASES["list_cases"])
    lines = ({"message": one.message, "needs": one.needs, "excluded": one.excluded, "verb": one.verb} for one in cases)
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    headers = {"content-disposition": 'attachment; filename="cases.jsonl"', "cache-control": "no-store"}
    return Response(text, media_type="application/x-ndjson; charset=utf-8", headers=headers)
