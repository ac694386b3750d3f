"""Insight: where it fails people, what it cost and saved, and the log of calls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from starlette.responses import Response

from thresher.console.charts import Plot, columns_of, lines_of
from thresher.console.declaration import Pages
from thresher.console.downloads import csv_file, json_file
from thresher.console.forms import whole
from thresher.console.visit import Visit, safe_return
from thresher.core import InvalidInput, NotFound, plain
from thresher.verbs import CASES, INSIGHT

PAGES = Pages()
RANGES: Final = (1, 7, 30, 90)
_DEFAULT: Final = 7
_SHOWN: Final = 20
_MOST: Final = 500
_TOOLS_SHOWN: Final = 15
_PRICE: Final = "thresher_price"
_DEAREST: Final = 1e6
_INTENTS_DRAWN: Final = 4
_OUTCOMES: Final = {"failed": True, "ok": False}


@PAGES.get("/insight")
async def show_insight(visit: Visit) -> Response:
    """What got nothing, first; then figures over time, by server and by tool."""
    days, everything = days_of(visit), visit.query("all") == "yes"
    passed = visit.query("passed") == "yes"
    unanswered = await visit.run(
        INSIGHT["unanswered_messages"], days=days, limit=_MOST if everything else _SHOWN, passed=passed
    )
    usage = await visit.run(INSIGHT["usage_summary"], days=days)
    intents = await visit.run(INSIGHT["intent_history"], days=days)
    return visit.page(
        "insight.html",
        days=days,
        ranges=RANGES,
        unanswered=unanswered,
        most=max((one.count for one in unanswered.messages), default=0),
        passed=passed,
        everything=everything,
        usage=usage,
        plots_drawn=_plots(usage, intents),
        tools=usage.tools if everything else usage.tools[:_TOOLS_SHOWN],
        price=price_of(visit),
        run=await visit.run(CASES["last_case_run"]),
    )


def days_of(visit: Visit) -> int:
    """The length of the period in the address.

    Raises:
        InvalidInput: It is none of `RANGES`.
    """
    given = visit.query("days")
    if given and given not in map(str, RANGES):
        raise InvalidInput(f"There is no period of '{given[:20]}' days here.", hint="Choose 1, 7, 30 or 90 days.")
    return int(given) if given else _DEFAULT


def price_of(visit: Visit) -> float:
    """What a million tokens cost, as this browser was told; 0 if it was not."""
    return _price(visit.cookie(_PRICE)) or 0.0


def _price(text: str) -> float | None:
    """A price; None if the text is not one."""
    try:
        price = float(text.strip().replace(",", ".") or 0)
    except ValueError:
        return None
    return price if math.isfinite(price) and 0 <= price <= _DEAREST else None


@PAGES.post("/insight/price")
async def set_price(visit: Visit) -> Response:
    """Keep what a million tokens cost, in a cookie."""
    form = await visit.form()
    price = _price(form.get("price", ""))
    if price is None:
        raise InvalidInput("The price is not a number.", hint="Write what a million tokens cost, such as 2.50.")
    answer = visit.go(safe_return(form.get("next", "/insight")))
    visit.set_cookie(answer, _PRICE, f"{price:g}" if price else "", 365 * 24 * 3_600)
    return answer


def _plots(usage: Any, intents: Any) -> list[tuple[str, str, Plot]]:
    """Title, what it means, and the plot."""
    days = usage.days
    steps = [f"{one.day:%d %b}" for one in days]

    def each(value: Callable[[Any], float | None]) -> list[float | None]:
        return [value(one.usage) for one in days]

    calls = columns_of(
        steps,
        [
            ("worked", "part-1", each(lambda one: one.calls - one.failed)),
            ("failed", "bad", each(lambda one: one.failed)),
        ],
    )
    messages = columns_of(
        steps,
        [
            ("with context", "part-1", each(lambda one: one.messages - one.passed)),
            ("nothing came", "bad", each(lambda one: one.passed)),
        ],
    )
    searches = columns_of(
        steps,
        [
            ("with tools", "part-1", each(lambda one: one.searches - one.empty)),
            ("no tool", "bad", each(lambda one: one.empty)),
        ],
    )
    latency = lines_of(
        steps,
        [
            ("95 in 100", "line-2", each(lambda one: one.message_p95_ms if one.messages else one.search_p95_ms)),
            ("half", "line-1", each(lambda one: one.message_p50_ms if one.messages else one.search_p50_ms)),
        ],
        "ms",
    )
    durations = lines_of(
        steps,
        [
            ("95 in 100", "line-2", each(lambda one: one.call_p95_ms)),
            ("half", "line-1", each(lambda one: one.call_p50_ms)),
        ],
        "ms",
    )
    saved = columns_of(
        steps,
        [
            ("handed out", "part-3", each(lambda one: one.tokens_sent)),
            ("saved", "part-1", each(lambda one: one.tokens_saved)),
        ],
        "tokens",
    )
    return [
        ("Calls", "of tools that are not Thresher's own", calls),
        ("Messages", "by whether anything was delivered", messages),
        ("Searches for tools", "those inside an answer to a message included", searches),
        ("Intents", "how often each matched a message", _intents_plot(intents)),
        ("Time of an answer", "inside Thresher, in milliseconds", latency),
        ("Time of a call", "from the arguments to the result, in milliseconds", durations),
        ("Tokens", "against all definitions in every request", saved),
    ]


def _intents_plot(history: Any) -> Plot:
    """The most frequent intents, and the others together."""
    totals: Counter[str] = Counter()
    for one in history.days:
        totals.update(one.intents)
    first = [name for name, _ in totals.most_common(_INTENTS_DRAWN)]
    series = [
        (name, f"part-{number}", [one.intents.get(name, 0) for one in history.days])
        for number, name in enumerate(first, 1)
    ]
    if len(totals) > len(first):
        others = [sum(count for name, count in one.intents.items() if name not in first) for one in history.days]
        series.append((f"{len(totals) - len(first)} others", "part-5", others))
    return columns_of([f"{one.day:%d %b}" for one in history.days], series)


@PAGES.get("/insight/calls")
async def list_calls(visit: Visit) -> Response:
    """The log of calls, with filters; a page at a time."""
    days, given = days_of(visit), _filters(visit)
    before = visit.query("before")
    if before:
        given["before"] = _number(before)
    page = await visit.run_checked(INSIGHT["list_calls"], {"days": days, "limit": 50, **given})
    usage = await visit.run(INSIGHT["usage_summary"], days=days)
    return visit.page(
        "insight_calls.html",
        days=days,
        ranges=RANGES,
        page=page,
        is_first=not before,
        server=visit.query("server"),
        tool=visit.query("tool"),
        outcome=visit.query("outcome") if visit.query("outcome") in _OUTCOMES else "",
        servers=[one.server for one in usage.servers if one.server],
    )


def _filters(visit: Visit) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: visit.query(name).strip() for name in ("server", "tool") if visit.query(name).strip()
    }
    if visit.query("outcome") in _OUTCOMES:
        given["failed"] = _OUTCOMES[visit.query("outcome")]
    return given


def _number(text: str) -> int:
    if (number := whole(text)) is None:
        raise InvalidInput("The address does not say which page of the log it means.", hint="Begin with the first.")
    return number


@PAGES.get("/insight/export/{what}.{format}")
async def export(visit: Visit) -> Response:
    """Figures, messages without an answer, intents, or calls as a file."""
    what, form = visit.sent.path_params["what"], visit.sent.path_params["format"]
    if what not in _EXPORTS or form not in ("csv", "json"):
        raise NotFound("There is no such export.", hint="Use the links on Insight.")
    days = days_of(visit)
    verb, given, rows = _EXPORTS[what]
    asked = given | (_filters(visit) if what == "calls" else {})
    found = await visit.run_checked(INSIGHT[verb], {"days": days, **asked})
    name = f"thresher-{what}-{days}-days"
    if form == "json":
        return json_file(name, found)
    columns, lines = rows(plain(found))
    return csv_file(name, columns, lines)


_Table = tuple[Sequence[str], list[list[Any]]]


def _usage_rows(found: Any) -> _Table:
    columns = ["day", *found["total"]]
    return columns, [[one["day"], *one["usage"].values()] for one in found["days"]]


def _intent_rows(found: Any) -> _Table:
    names = sorted({name for one in found["days"] for name in one["intents"]})
    return ["day", "messages", "passed", *names], [
        [one["day"], one["messages"], one["passed"], *(one["intents"].get(name, 0) for name in names)]
        for one in found["days"]
    ]


def _records(name: str, columns: Sequence[str]) -> Callable[[Any], _Table]:
    return lambda found: (columns, [[one[column] for column in columns] for one in found[name]])


_UNANSWERED: Final = ("verb", "message", "message_hash", "count", "first", "last", "trace_id")
_CALLS: Final = ("id", "at", "server", "tool", "state", "failed", "duration_ms", "rank", "user", "client", "trace_id")
_TOOLS: Final = ("server", "tool", "calls", "failed", "p50_ms", "p95_ms", "last")
_EXPORTS: Final[dict[str, tuple[str, dict[str, Any], Callable[[Any], _Table]]]] = {
    "usage": ("usage_summary", {}, _usage_rows),
    "tools": ("usage_summary", {}, _records("tools", _TOOLS)),
    "unanswered": ("unanswered_messages", {"limit": _MOST}, _records("messages", _UNANSWERED)),
    "intents": ("intent_history", {}, _intent_rows),
    "calls": ("list_calls", {"limit": _MOST}, _records("calls", _CALLS)),
}
