"""Test cases: messages with what should come for them; run, compared, imported and exported."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from thresher.console.downloads import json_file
from thresher.console.pages.declaration import Pages
from thresher.console.visit import Visit
from thresher.core import InvalidInput, ThresherError, plain
from thresher.verbs import CASES

PAGES = Pages()
_BASE: Final = "/insight/cases"
KINDS: Final = ("tools", "intents", "documents", "endpoints", "tables")
_RUNS: Final = 10


@PAGES.get(_BASE)
async def list_cases(visit: Visit) -> Response:
    """The cases with what each got last, what changed, and how to add more."""
    return await _shown(visit)


async def _shown(
    visit: Visit, error: ThresherError | None = None, pasted: str = "", removed: dict[str, Any] | None = None
) -> Response:
    cases = await visit.run(CASES["list_cases"])
    last = await visit.run(CASES["last_case_run"])
    return visit.page(
        "insight_cases.html",
        200 if error is None else 422,
        cases=cases,
        last=last,
        outcomes={one.case: one for one in last.outcomes} if last else {},
        runs=await visit.run(CASES["list_case_runs"], limit=_RUNS),
        error=error,
        pasted=pasted,
        removed=removed,
    )


@PAGES.get(f"{_BASE}/add")
async def case_form(visit: Visit) -> Response:
    """A form for one case; the address fills in its message and names."""
    return visit.page("insight_case.html", kinds=KINDS, form=dict(visit.sent.query_params), error=None)


@PAGES.post(f"{_BASE}/add")
async def add_case(visit: Visit) -> Response:
    """Save a case, or give one of the same message these names."""
    form = await visit.form()
    names = {
        part: {kind: _lines(form.get(f"{part}.{kind}", "")) for kind in KINDS if form.get(f"{part}.{kind}", "").strip()}
        for part in ("needs", "excluded")
    }
    given = {"message": form.get("message", ""), **names, "verb": form.get("verb") or "get_context"}
    try:
        case = await visit.run_checked(CASES["add_case"], given)
    except ThresherError as error:
        return visit.page("insight_case.html", 422, kinds=KINDS, form=form, error=error)
    return visit.go(_BASE, f"Case {case.id} is saved.")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@PAGES.post(f"{_BASE}/run")
async def run_cases(visit: Visit) -> Response:
    """Ask every case as a client would."""
    form = await visit.form()
    budget = form.get("budget", "").strip()
    if budget and not budget.isdecimal():
        return await _shown(visit, InvalidInput("The budget is not a number.", hint="Give tokens, such as 4000."))
    try:
        run = await visit.run_checked(CASES["run_cases"], {"budget": int(budget)} if budget else {})
    except ThresherError as error:
        return await _shown(visit, error)
    said = f"{run.passed:,} of {run.cases:,} cases passed, in {run.duration_ms / 1_000:,.1f} s."
    return visit.go(f"{_BASE}#last", said, is_error=run.passed < run.cases)


@PAGES.post(f"{_BASE}/import")
async def import_cases(visit: Visit) -> Response:
    """Save the cases of a file, or of what was pasted: a JSON array, or an object a line."""
    form = await visit.sent.form()
    pasted, file = str(form.get("cases", "")), form.get("file")
    try:
        if isinstance(file, UploadFile) and file.filename:
            pasted = (await file.read()).decode("utf-8-sig", "replace")
        done = await visit.run_checked(CASES["import_cases"], {"cases": _read(pasted)})
    except ThresherError as error:
        return await _shown(visit, error, pasted)
    return visit.go(_BASE, f"{done.added:,} cases are new, {done.replaced:,} have other names now.")


def _read(text: str) -> list[Any]:
    """The cases of a text.

    Raises:
        InvalidInput: It is neither a JSON array nor one JSON object a line.
    """
    try:
        whole = json.loads(text)
        cases = whole if isinstance(whole, list) else [whole]
    except ValueError:
        try:
            cases = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            hint = 'Give [{"message": "...", "needs": {"tools": ["server:name"]}}], or one object a line.'
            raise InvalidInput(f"The cases cannot be read: {error}.", hint=hint) from None
    if not all(isinstance(one, dict) for one in cases):
        raise InvalidInput("A case is not an object.", hint='Give {"message": "...", "needs": {...}} for each.')
    return cases


@PAGES.get(f"{_BASE}/export.json")
async def export_cases(visit: Visit) -> Response:
    """All cases, as `import` and `thresher eval context` read them."""
    return json_file("thresher-cases", [_portable(one) for one in await visit.run(CASES["list_cases"])])


def _portable(case: Any) -> dict[str, Any]:
    whole = plain(case)
    return {name: whole[name] for name in ("message", "needs", "excluded", "verb")}


@PAGES.post(f"{_BASE}/{{case:int}}/remove")
async def remove_case(visit: Visit) -> Response:
    """Remove a case; the page then has a button that puts it back."""
    number = visit.sent.path_params["case"]
    case = next((one for one in await visit.run(CASES["list_cases"]) if one.id == number), None)
    await visit.run_checked(CASES["remove_case"], {"case": number})
    return await _shown(visit, removed=_portable(case))
