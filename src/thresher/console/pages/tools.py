"""Tools: what is there, may it be used, what do models and the search read of it, and what does it answer.

Invariant: a definition is approved by the digest that was shown. A tool is called through `calling` alone; one that may
change something only after the person has said so on the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, cast

from starlette.responses import Response

from thresher.calling import RULES_META, Call, Result
from thresher.console.declaration import Pages
from thresher.console.forms import schema_fields, values
from thresher.console.rendering import page_of
from thresher.console.visit import Visit, safe_return
from thresher.core import FINGERPRINT, InvalidInput, ThresherError, Tool, dumps, plain
from thresher.verbs import INSIGHT, TOOLS

PAGES = Pages()
_AT_ONCE: Final = 100
_CALLS: Final = 30
_DAYS: Final = 30.0
_STATES: Final = {
    "held": "held back",
    "enabled": "enabled",
    "disabled": "disabled",
    "core": "core",
    "warned": "with warnings",
}
_DEPTH: Final = 4
_MOST_PARAMETERS: Final = 500
_SHOWN_HELD: Final = 20


@PAGES.get("/tools")
async def list_tools(visit: Visit) -> Response:
    """The catalogue, some rows at a time; the address says which."""
    chosen = {name: visit.query(name) for name in ("q", "server", "category", "state")}
    after = visit.query("after")
    page = await visit.run_checked(
        TOOLS["browse_tools"],
        {
            "query": chosen["q"],
            "server": chosen["server"] or None,
            "category": chosen["category"] or None,
            "state": chosen["state"] or None,
            "limit": _AT_ONCE,
            "after": after or None,
        },
    )
    shown: dict[str, Any] = {"page": page, "chosen": chosen, "may_set": visit.may(TOOLS["set_tool"])}
    if visit.is_part and visit.query("rows"):
        return visit.page("tools_rows.html", **shown)
    held = await visit.run(TOOLS["browse_tools"], state="held", limit=_SHOWN_HELD) if not after else None
    return visit.page(
        "tools.html",
        **shown,
        after=after,
        held=held,
        states=_STATES,
        servers=await visit.run(TOOLS["list_servers"]),
        categories=await visit.run(TOOLS["list_tool_categories"]),
    )


@PAGES.post("/tools/switch")
async def switch_tool(visit: Visit) -> Response:
    """Switch one tool of the list."""
    form = await visit.form()
    change = form.get("switch", "")
    what, _, name = change.partition(":")
    if what not in _SWITCHES:
        raise InvalidInput("The form does not say what to switch.", hint="Load the page again.")
    switches, done = _SWITCHES[what]
    await visit.run(TOOLS["set_tool"], name=name, **switches)
    return visit.go(safe_return(form.get("next", "/tools")), done.format(name))


_SWITCHES: Final[Mapping[str, tuple[Mapping[str, bool], str]]] = {
    "enable": ({"enabled": True}, "'{}' can be found and called."),
    "disable": ({"enabled": False}, "'{}' is not found or called any more."),
    "core": ({"core": True}, "'{}' is part of every answer."),
    "no-core": ({"core": False}, "'{}' is part of an answer only when it fits."),
}


@PAGES.get("/tools/categories")
async def list_categories(visit: Visit) -> Response:
    """The categories, the largest first."""
    return visit.page("tool_categories.html", categories=await visit.run(TOOLS["list_tool_categories"]))


@PAGES.post("/tools/categories")
async def change_category(visit: Visit) -> Response:
    """Derive categories, rename one or remove one; its tools stay."""
    form = await visit.form()
    what, category = form.get("what", ""), form.get("category", "")
    match what:
        case "derive":
            await visit.run(TOOLS["derive_tool_categories"])
            done = "Tools without a category have one now."
        case "rename":
            given = {"category": category, "to": form.get("to", "")}
            await visit.run_checked(TOOLS["rename_tool_category"], given)
            done = "The category is renamed."
        case "remove":
            await visit.run_checked(TOOLS["remove_tool_category"], {"category": category})
            done = f"The category '{category}' is removed; its tools are still there."
        case _:
            raise InvalidInput("The form does not say what to change.", hint="Load the page again.")
    return visit.go("/tools/categories", done)


@PAGES.get("/tools/{name}")
async def show_tool(visit: Visit) -> Response:
    """One tool with all that is known of it."""
    return await _tool_page(visit)


@PAGES.get("/tools/{name}/rivals")
async def show_rivals(visit: Visit) -> Response:
    """What the queries of its own definition find."""
    name = visit.sent.path_params["name"]
    found = await visit.run(TOOLS["tool_rivals"], name=name)
    template = "tool_rivals.html" if visit.is_part else "tool_rivals_page.html"
    return visit.page(template, name=name, found=found)


@PAGES.post("/tools/{name}/decide")
async def decide(visit: Visit) -> Response:
    """Approve or reject exactly the definition that was shown."""
    name, form = visit.sent.path_params["name"], await visit.form()
    decision = form.get("decision", "")
    verbs = {"approve": ("approve_tools", "in use"), "reject": ("reject_tools", "rejected: it stays out of use")}
    if decision not in verbs:
        raise InvalidInput("The form does not say how it was decided.", hint="Load the page again.")
    verb, done = verbs[decision]
    await visit.run_checked(TOOLS[verb], {"definitions": {name: form.get("digest", "")}})
    return visit.go(page_of("/tools", name), f"The definition of '{name}' that was shown is {done}.")


@PAGES.post("/tools/{name}/texts")
async def change_texts(visit: Visit) -> Response:
    """Change what the search reads beside the definition: words, rewrite, questions, category."""
    name = visit.sent.path_params["name"]
    form = await visit.form()
    what, text = form.get("what", ""), form.get("text", "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    given: Mapping[str, tuple[str, dict[str, Any], str]] = {
        "add-words": ("add_tool_words", {"name": name, "words": lines}, "The search counts these words now."),
        "remove-words": ("remove_tool_words", {"name": name, "words": [text]}, "The words are removed."),
        "rewrite": (
            "apply_tool_rewrite",
            {"name": name, "description": text.strip() or None},
            "The search reads this description now; models read the server's own.",
        ),
        "remove-rewrite": ("remove_tool_rewrite", {"name": name}, "The search reads the server's description again."),
        "remove-question": ("remove_tool_questions", {"name": name, "questions": [text]}, "The question is removed."),
        "category": ("set_tool_category", {"category": text.strip(), "tools": [name]}, "The category is set."),
        "forget-consent": ("forget_consent", {"tool": name}, "You will be asked again before it is called in a chat."),
    }
    if what not in given:
        raise InvalidInput("The form does not say what to change.", hint="Load the page again.")
    verb, arguments, done = given[what]
    await visit.run_checked(TOOLS[verb], arguments)
    return visit.go(f"{page_of('/tools', name)}#search", done)


@PAGES.post("/tools/{name}/call")
async def call_tool(visit: Visit) -> Response:
    """Call the tool with what was filled in, and show its result below the form."""
    name = visit.sent.path_params["name"]
    form = await visit.form()
    report = await visit.run(TOOLS["show_tool"], name=name)
    try:
        arguments = _arguments(report.definition.tool, form)
        if not report.listed.reads and form.get("agreed") != "yes":
            raise InvalidInput(
                "It was not called: it may change something.", hint="Tick the box above the button if you want that."
            )
        # A session of its own, so that the rules of a pack are shown once to each person who tries a tool.
        caller = replace(visit.caller, client=FINGERPRINT + visit.csrf[:32])
        call = Call(name, arguments, shown=True)
        outcome = _Outcome.of(await visit.services.calling.call(caller, call), arguments)
    except ThresherError as error:
        return await _tool_page(visit, form=form, error=error, status=422)
    return await _tool_page(visit, form=form, outcome=outcome)


def _arguments(tool: Tool, form: Mapping[str, str]) -> dict[str, Any]:
    """What was filled in: the fields, or the whole as JSON in their place."""
    if form.get("json", "").strip():
        try:
            given = json.loads(form["json"])
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"The arguments are not JSON: {error}.", hint="Correct them.") from None
        if not isinstance(given, dict):
            raise InvalidInput("The arguments are not a JSON object.", hint='Write {"name": value}.')
        return cast("dict[str, Any]", given)
    return values(schema_fields(tool.input_schema), form)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a call came to, as the page shows it."""

    kind: str
    texts: Sequence[str]
    others: Sequence[str]
    structured: Any
    arguments: str

    @classmethod
    def of(cls, result: Result, arguments: Mapping[str, Any]) -> _Outcome:
        rules = bool(result.meta.get(RULES_META))
        kind = "rules" if rules else "asks" if result.asks else "error" if result.is_error else "ok"
        texts = [str(block.get("text", "")) for block in result.content if block.get("type") == "text"]
        others = [_described(block) for block in result.content if block.get("type") != "text"]
        structured = result.answer.get("structuredContent")
        if result.asks:
            structured = result.answer.get("inputRequests")
        return cls(kind, texts, others, structured, dumps(plain(arguments)))


def _described(block: Mapping[str, Any]) -> str:
    """What a block is that has no text: it is not loaded or shown."""
    kind, media = str(block.get("type", "block")), block.get("mimeType")
    data = block.get("data")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    named = block.get("uri") or cast("Mapping[str, Any]", block.get("resource") or {}).get("uri") or ""
    return f"{kind}{f' ({media}{size})' if media else size}{f' {named}' if named else ''}"


async def _tool_page(
    visit: Visit,
    *,
    form: Mapping[str, str] | None = None,
    outcome: _Outcome | None = None,
    error: ThresherError | None = None,
    status: int = 200,
) -> Response:
    name = visit.sent.path_params["name"]
    report = await visit.run(TOOLS["show_tool"], name=name)
    name = report.definition.name
    tool = report.definition.tool
    servers = {one.name: one for one in await visit.run(TOOLS["list_servers"])}
    calls = await visit.run(INSIGHT["list_calls"], tool=name, days=_DAYS, limit=_CALLS)
    consents = await visit.run(TOOLS["list_consents"])
    held = report.held
    findings = held.findings if held is not None else report.definition.findings
    shown = held.pending if held is not None else tool
    return visit.page(
        "tool.html",
        status,
        report=report,
        name=name,
        tool=shown,
        findings=findings,
        quoted=_quoted(findings),
        differences=() if held is None or held.approved is None else tuple(_differences(held.approved, held.pending)),
        parameters=tuple(_parameters(shown.input_schema)),
        fields=schema_fields(shown.input_schema),
        server=servers.get(tool.server),
        calls=calls.calls,
        days=int(_DAYS),
        durations=[call.duration_ms for call in reversed(calls.calls) if call.state in ("ok", "tool error")],
        consent=next((one for one in consents if one.tool == name), None),
        form=form or {},
        outcome=outcome,
        error=error,
        may_set=visit.may(TOOLS["set_tool"]) and report.may_change,
        may_decide=visit.may(TOOLS["approve_tools"]) and report.may_change,
    )


def _quoted(findings: Sequence[Any]) -> Mapping[str, Sequence[str]]:
    """What the scanner quotes, by the place in the definition; invisible characters are marked in any case."""
    found: dict[str, list[str]] = {}
    for finding in (one for one in findings if "<U+" not in one.excerpt):
        found.setdefault(finding.where, []).append(finding.excerpt)
    return found


def _differences(old: Tool, new: Tool) -> Iterator[tuple[str, str, str]]:
    """The parts of a definition that have changed, each with its old and its new text."""
    parts = (
        ("Title", old.title, new.title),
        ("Description", old.description, new.description),
        ("Parameters", _text(old.input_schema), _text(new.input_schema)),
        ("Result", _text(old.output_schema), _text(new.output_schema)),
        ("Annotations", _text(old.annotations), _text(new.annotations)),
    )
    return (part for part in parts if part[1] != part[2])


def _text(value: Any) -> str:
    return dumps(plain(value), indent=2, sort_keys=True) if value else ""


@dataclass(frozen=True, slots=True)
class _ParameterRow:
    """A parameter of a tool as a row of the table; `where` is its place in the definition, as findings name it."""

    name: str
    depth: int
    kind: str
    required: bool
    description: str
    values: Sequence[str]
    default: str
    where: str


def _parameters(schema: Mapping[str, Any]) -> Iterator[_ParameterRow]:
    """The parameters of a schema, nested ones below their parent, as far as the table goes."""

    def rows(detail: Mapping[str, Any], where: str, depth: int) -> Iterator[_ParameterRow]:
        properties, needed = detail.get("properties"), detail.get("required")
        if not isinstance(properties, Mapping) or depth >= _DEPTH:
            return
        required = cast("list[Any]", needed) if isinstance(needed, list) else []
        for name, value in cast("Mapping[str, Any]", properties).items():
            one: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
            here = f"{where}/properties/{name.replace('~', '~0').replace('/', '~1')}"
            yield _row(name, one, here, depth, required=name in required)
            items = one.get("items")
            if isinstance(items, Mapping):
                yield from rows(cast("Mapping[str, Any]", items), f"{here}/items", depth + 1)
            else:
                yield from rows(one, here, depth + 1)

    return islice(rows(schema, "/inputSchema", 0), _MOST_PARAMETERS)


def _row(name: str, detail: Mapping[str, Any], where: str, depth: int, *, required: bool) -> _ParameterRow:
    description, listed = detail.get("description"), detail.get("enum")
    return _ParameterRow(
        name,
        depth,
        _kind(detail),
        required,
        description if isinstance(description, str) else "",
        [one if isinstance(one, str) else dumps(plain(one)) for one in cast("list[Any]", listed)]
        if isinstance(listed, list)
        else (),
        dumps(plain(detail["default"])) if "default" in detail else "",
        where,
    )


def _kind(detail: Mapping[str, Any], depth: int = 0) -> str:
    """The type of a parameter in words; empty if any value is allowed, or it nests too deep to say."""
    if depth > _DEPTH:
        return ""
    kind, items = detail.get("type"), detail.get("items")
    named = " or ".join(map(str, cast("list[Any]", kind))) if isinstance(kind, list) else str(kind or "")
    if named == "array" and isinstance(items, Mapping):
        return f"array of {_kind(cast('Mapping[str, Any]', items), depth + 1) or 'anything'}"
    if not named:
        several = next((detail[word] for word in ("anyOf", "oneOf") if isinstance(detail.get(word), list)), ())
        kinds = (_kind(cast("Mapping[str, Any]", one), depth + 1) for one in several if isinstance(one, Mapping))
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    return named
