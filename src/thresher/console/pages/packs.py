"""Packs: which rules a message gets and why, what waits for trust, and what an edit would change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from thresher.api import status_of
from thresher.console.declaration import Pages
from thresher.console.rendering import link, page_of
from thresher.console.visit import Visit
from thresher.core import InvalidInput, ThresherError
from thresher.scanner import visible
from thresher.verbs import INTENTS, PACKS

PAGES = Pages()
_BASE = "/knowledge/packs"
_TEXTS: Final = ("rules", "examples", "not_examples")
_SHOWN: Final = ("/rules", "/description")
"""Texts that are on the page of a pack, and in which findings are marked."""


@PAGES.get(_BASE)
async def list_packs(visit: Visit) -> Response:
    """Packs in use, packs that wait, and a box to try a message on all; with a key, the intents alone."""
    message = visit.query("q").strip()
    decision, error = await _decision(visit, message)
    return visit.page(
        "packs.html",
        intents={one.name: one for one in await visit.run(INTENTS["list_intents"])},
        packs=await visit.run(PACKS["list_packs"]) if visit.is_owner else None,
        message=message,
        decision=decision,
        error=error,
    )


@PAGES.get(f"{_BASE}/{{name}}")
async def show_pack(visit: Visit) -> Response:
    """One pack: rules, lines, thresholds, files, findings, trust, and a box to try a message on exactly this."""
    pack = await visit.run(PACKS["show_pack"], name=_which(visit))
    intents = {one.name: one for one in await visit.run(INTENTS["list_intents"])}
    lint = await visit.run(PACKS["lint_pack"], name=pack["path"]) if visit.query("lint") else None
    if visit.is_part and lint is not None:
        return visit.page("part_lint.html", lint=lint)
    message = visit.query("q").strip()
    decision, error = await _decision(visit, message)
    texts = {"/rules": pack["rules"], "/description": pack["description"]}
    return visit.page(
        "pack.html",
        pack=pack,
        here=_address(pack),
        intent=intents.get(pack["name"]) if not pack["reason"] else None,
        lint=lint,
        message=message,
        decision=decision,
        error=error,
        marked={where: list(marked(texts[where], pack["findings"], where)) for where in _SHOWN},
        elsewhere=[one for one in pack["findings"] if one["where"] not in _SHOWN],
    )


@PAGES.get(f"{_BASE}/{{name}}/edit")
async def edit_pack(visit: Visit) -> Response:
    """The texts of a pack in a form; read-only, with the reason, where they are not the owner's."""
    texts = await visit.run(PACKS["pack_texts"], name=_which(visit))
    return _form(visit, texts, {name: texts[name] for name in _TEXTS})


@PAGES.post(f"{_BASE}/{{name}}/edit")
async def change_texts(visit: Visit) -> Response:
    """Say what an edit would change, or write it if the pack is still what was shown."""
    form = await visit.form()
    given = {name: form.get(name, "").replace("\r\n", "\n") for name in _TEXTS}
    named = {"name": form.get("path") or visit.sent.path_params["name"], **given}
    check = None
    try:
        if form.get("as") == "save":
            saved = await visit.run_checked(PACKS["save_pack_edit"], {**named, "digest": form.get("digest", "")})
            said = f"Saved: {', '.join(saved['files'])}." if saved["files"] else "Nothing was different."
            return visit.go(link(page_of(_BASE, visit.sent.path_params["name"]), path=saved["path"]), said)
        check = await visit.run_checked(PACKS["check_pack_edit"], named)
    except ThresherError as error:
        texts = {"name": visit.sent.path_params["name"], "path": named["name"], "digest": form.get("digest", "")}
        return _form(visit, {**texts, "locked": ""}, given, error=error)
    texts = await visit.run(PACKS["pack_texts"], name=named["name"])
    return _form(visit, {**texts, "digest": form.get("digest", "")}, given, check=check, stale=texts["digest"])


def _form(visit: Visit, texts: Mapping[str, Any], given: Mapping[str, str], **more: Any) -> Response:
    context: dict[str, Any] = {"check": None, "error": None, "stale": "", **more}
    status = status_of(context["error"]) if context["error"] else 200
    return visit.page("pack_edit.html", status, texts=texts, given=given, here=_address(texts), **context)


@PAGES.post(f"{_BASE}/{{name}}/{{change}}")
async def change_pack(visit: Visit) -> Response:
    """Trust exactly what was shown, end the trust, or set the threshold."""
    name, change, form = visit.sent.path_params["name"], visit.sent.path_params["change"], await visit.form()
    which = form.get("path") or name
    match change:
        case "trust":
            await visit.run_checked(PACKS["trust_pack"], {"name": which, "digest": form.get("digest", "")})
            return visit.go(page_of(_BASE, name), f"'{name}' is in use while it has exactly this content.")
        case "untrust":
            await visit.run(PACKS["untrust_pack"], name=which)
            return visit.go(_BASE, f"'{name}' is not used any longer.")
        case "threshold":
            await visit.run_checked(INTENTS["set_threshold"], {"name": name, "value": _threshold(form)})
            said = "The threshold is set." if form.get("as") == "set" else "The fitted threshold holds again."
            return visit.go(f"{page_of(_BASE, name)}#threshold", said)
        case _:
            raise InvalidInput(f"A pack has no '{change}'.", hint="Use the buttons of its page.")


def _threshold(form: Mapping[str, str]) -> float | None:
    if form.get("as") != "set":
        return None
    try:
        return float(form.get("value", ""))
    except ValueError:
        raise InvalidInput("The threshold is not a number.", hint="Give a probability, 0 to 1.") from None


def _which(visit: Visit) -> str:
    """The pack of an address: its path, where several have its name."""
    return visit.query("path") or visit.sent.path_params["name"]


def _address(pack: Mapping[str, Any]) -> str:
    return page_of(_BASE, pack["name"])


async def _decision(visit: Visit, message: str) -> tuple[Any, ThresherError | None]:
    if not message:
        return None, None
    try:
        return await visit.run_checked(INTENTS["explain_intents"], {"message": message}), None
    except ThresherError as error:
        return None, error


def marked(text: str, findings: Sequence[Mapping[str, Any]], where: str) -> Iterator[tuple[str, str]]:
    """Part a text into what is harmless and what the scanner found, each with why; empty for harmless text.

    Args:
        text: The text.
        findings: The scanner's, as data; their excerpts have hidden characters written out and white space joined.
        where: Which of them are in this text.
    """
    shown, spans = visible(text), list[tuple[int, int, str]]()
    for finding in (one for one in findings if one["where"] == where):
        words = re.escape(finding["excerpt"].strip("…")).split("\\ ")
        if found := re.search(r"\s+".join(words), shown):
            spans.append((*found.span(), f"{finding['severity']}: {finding['why']}"))
    at = 0
    for start, end, why in sorted(spans):
        if end > at:
            yield shown[at : max(start, at)], ""
            yield shown[max(start, at) : end], why
            at = end
    yield shown[at:], ""
