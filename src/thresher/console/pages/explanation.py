"""Try a message: what a model would get for it, what not, and why; two settings side by side.

Invariant: the whole state is in the address, so a link shows the same. Nothing of a try is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.responses import Response

from thresher.console.declaration import Pages
from thresher.console.forms import arguments
from thresher.console.lanes import Difference, Lane, differences, lanes_of, parts_of
from thresher.console.rendering import link
from thresher.console.visit import Visit
from thresher.context import ContextExplanation
from thresher.core import InvalidInput, ThresherError, did_you_mean, nearest, shortened
from thresher.verbs import APIS, CASES, CONTEXT, DATABASES, DOCUMENTS, TOOLS

PAGES = Pages()
KINDS: Final = ("rules", "tools", "passages", "endpoints", "schemas")
TEXTS: Final = ("process_prompt", "find_tools", "get_context")
_MATCHES: Final = 12
_EXPECTED: Final = 20
"""Tools that can be marked at once."""
_NAMED: Final = 8
"""Things of each lane that are offered for a case."""
_NEAR: Final = 0.05
"""The least probability of those that did not get in."""
_EXAMPLES: Final = 6
_LONGEST: Final = 90
_TITLE: Final = re.compile(r"^- [^:\n]*: ([^;\n]+)", re.MULTILINE)
"""The first title in a repository's guide."""
_SENTENCE: Final = re.compile(r".+?(?:[.!?](?= |$)|$)")
_WORD: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Tried:
    """What an address asks: a message, the settings that are tried, and what is shown.

    Attributes:
        message: The message; as the three after it, see `explain_context`.
        queries: One a line.
        history: One turn a line.
        files: One a line.
        threshold: The least probability that a tool fits.
        rules: The least score of every intent.
        budget: Tokens of the context.
        find_budget: Tokens of the answer of find_tools.
        servers: Only tools of these.
        kinds: Only these kinds in the context.
        expected: Tools that should have come.
        compare: Settings to compare with, as the query of an address, or `defaults`; empty for none.
        text: The answer whose text is shown.
        tool: Words of the names of tools that are looked for.
    """

    message: str = ""
    queries: str = ""
    history: str = ""
    files: str = ""
    threshold: str = ""
    rules: str = ""
    budget: str = ""
    find_budget: str = ""
    servers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    compare: str = ""
    text: str = ""
    tool: str = ""

    @property
    def state(self) -> dict[str, Any]:
        """Its parameters that have a value."""
        return {name: value for name, value in asdict(self).items() if value}

    @property
    def settings(self) -> dict[str, Any]:
        """Those of them that are settings."""
        return {name: value for name, value in self.state.items() if name in _SETTINGS}

    @property
    def held(self) -> str:
        """Its settings as a value of `compare`."""
        return link("", **self.settings).removeprefix("?") or "defaults"

    @property
    def in_words(self) -> str:
        """Its settings as a person reads them."""
        said = (
            f"{_SETTINGS[name]} {value if isinstance(value, str) else ', '.join(value)}"
            for name, value in self.settings.items()
        )
        return ", ".join(said) or "what holds"

    def address(self, **changes: Any) -> str:
        """The address with other values."""
        return link("/try", **(self.state | changes))

    def without(self, tool: str) -> str:
        """The address without one of the tools that should have come."""
        return self.address(expected=[name for name in self.expected if name != tool])

    @property
    def other(self) -> Tried:
        """The same message under the settings that it is compared with."""
        with_settings = _tried(QueryParams("" if self.compare == "defaults" else self.compare)).settings
        return replace(self, **(dict.fromkeys(_TEXTS, "") | dict.fromkeys(("servers", "kinds"), ()) | with_settings))

    def arguments(self) -> dict[str, Any]:
        """The arguments of `explain_context`.

        Raises:
            InvalidInput: A number cannot be read, or too many tools are marked.
        """
        if len(self.expected) > _EXPECTED:
            raise InvalidInput(f"More than {_EXPECTED} tools are marked.", hint="Take some out of the address.")
        texts = {name: value for name, value in self.state.items() if isinstance(value, str) and name != "text"}
        given = arguments(CONTEXT["explain_context"], texts)
        lists = {"servers": self.servers, "kinds": self.kinds, "expected": self.expected}
        given |= {name: list(value) for name, value in lists.items() if value}
        if self.rules:
            given["thresholds"] = {"*": _fraction(self.rules)}
        return given


_SETTINGS: Final = {
    "threshold": "tools from",
    "rules": "rules from",
    "budget": "context of",
    "find_budget": "find_tools of",
    "servers": "servers",
    "kinds": "kinds",
}
_TEXTS: Final = ("threshold", "rules", "budget", "find_budget")


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput("The least score of rules is not a number.", hint="Give one from 0 to 1.") from None


def _tried(query: QueryParams) -> Tried:
    """Read an address."""
    given: dict[str, Any] = {}
    for one in fields(Tried):
        values = [value.strip() for value in query.getlist(one.name) if value.strip()]
        if values:
            given[one.name] = values[-1] if one.default == "" else tuple(dict.fromkeys(values))
    if set(KINDS) <= set(given.get("kinds", ())):
        del given["kinds"]
    return Tried(**given)


@PAGES.get("/try")
async def try_message(visit: Visit) -> Response:
    """The message with everything that can be tried, and the whole decision about it."""
    tried = _tried(visit.sent.query_params)
    shown: dict[str, Any] = {"answer": None, "error": None}
    if tried.message:
        shown = await _result(visit, tried)
    elif not visit.is_part:
        shown["examples"] = await _examples(visit)
    status = 422 if shown["error"] and not visit.is_part else 200
    if visit.is_part:
        part = visit.page("part_try.html", tried=tried, texts=TEXTS, **shown)
        if visit.sent.headers.get("hx-trigger") == "try":
            part.headers["hx-replace-url"] = tried.address()
        return part
    servers = [one for one in await visit.run(TOOLS["list_servers"]) if one.tools]
    return visit.page("try.html", status, tried=tried, texts=TEXTS, servers=servers, kinds=KINDS, **shown)


@PAGES.get("/try/tools")
async def find_by_name(visit: Visit) -> Response:
    """Tools whose names have some words, to say that one should have come."""
    tried = _tried(visit.sent.query_params)
    if not visit.is_part:
        return visit.go(tried.address())
    return visit.page("part_matches.html", tried=tried, **await _matches(visit, tried))


async def _result(visit: Visit, tried: Tried) -> dict[str, Any]:
    """The decision, and the one under the settings that it is compared with."""
    try:
        answer = await _explained(visit, tried)
        held, rows = None, ()
        if tried.compare:
            held = await _explained(visit, tried.other)
            rows = differences(lanes_of(held), lanes_of(answer))
    except ThresherError as error:
        return {"answer": None, "error": error, "examples": ()}
    lanes = lanes_of(answer)
    return {
        "error": None,
        "answer": answer,
        "lanes": lanes,
        "parts": {name: parts_of(getattr(answer, name).parts) for name in TEXTS},
        "text": tried.text if tried.text in TEXTS else _first_text(answer),
        "held": held,
        "differences": rows,
        "said": _summary(answer, rows),
        "cases": _nameable(lanes),
        "expected": [one for lane in lanes for one in lane.items if one.is_expected],
        **(await _matches(visit, tried) if tried.tool else {"matches": (), "matched": 0, "hint": ""}),
        "may_save": visit.may(CASES["add_case"]),
    }


async def _explained(visit: Visit, tried: Tried) -> ContextExplanation:
    return await visit.run_checked(CONTEXT["explain_context"], tried.arguments())


def _first_text(answer: ContextExplanation) -> str:
    return "find_tools" if not answer.tools.abstained else "get_context"


def _summary(answer: ContextExplanation, rows: Sequence[Difference]) -> str:
    """What a screen reader says of a new result."""
    tools = sum(one.fate == "given" for one in answer.tools.ranked)
    said = f"{tools} tools, {answer.find_tools.tokens:,} tokens; the context has {answer.get_context.tokens:,} tokens."
    if rows:
        came, fell = (sum(row.change == change for row in rows) for change in ("in", "out"))
        said += f" {came} came in and {fell} fell out."
    return said


def _nameable(lanes: Sequence[Lane]) -> list[tuple[str, bool, bool]]:
    """What a case can name, as `kind:name`: whether it comes, and whether it should have; the latter first."""
    found: dict[str, tuple[str, bool, bool]] = {}
    for lane in lanes:
        near = [one for one in lane.others if (one.share or 0) >= _NEAR][:2]
        for item in (*lane.given[:_NAMED], *near, *(one for one in lane.others if one.is_expected)):
            _, given, expected = found.get(item.case, ("", False, False))
            if item.case:
                found[item.case] = (item.case, given or item.given, expected or item.is_expected)
    return sorted(found.values(), key=lambda one: not one[2])


async def _matches(visit: Visit, tried: Tried) -> dict[str, Any]:
    """The tools whose names have all words, shortest names first; where none has, the nearest name."""
    words = tried.tool.lower().replace("/", " ").replace(":", " ").split()
    if not words:
        return {"matches": (), "matched": 0, "hint": ""}
    names = [one.name for one in await visit.run(TOOLS["list_tools"])]
    found = sorted(
        (name for name in names if all(word in name.lower() for word in words)), key=lambda one: (len(one), one)
    )
    hint = "" if found else did_you_mean(nearest(tried.tool, names))
    return {"matches": found[:_MATCHES], "matched": len(found), "hint": hint}


async def _examples(visit: Visit) -> list[tuple[str, str]]:
    """Messages that fit what is connected, each with what it is about."""
    found: list[tuple[str, str]] = []
    for one in (await visit.run(DOCUMENTS["list_repositories"]))[:1]:
        title = _TITLE.search(one.guide)
        about = f"say about {shortened(title[1], _LONGEST)}" if title else "say"
        found.append((f"what does {one.name} {about}?", "documents"))
    for one in (await visit.run(DATABASES["sql_connection_list"]))[:1]:
        tables = await visit.run(DATABASES["sql_list_tables"], connection=one.name, limit=1) if one.tables else None
        if tables and tables.tables:
            found.append((f"how many rows does {tables.tables[0].name} have in {one.name}?", "databases"))
    found += [
        (f"which operations does the API {one.display_name or one.name} have?", "APIs")
        for one in (await visit.run(APIS["list_api_providers"]))[:1]
    ]
    own: dict[str, str] = {}
    for tool in await visit.run(TOOLS["list_tools"]):
        if tool.enabled and not tool.warnings and ":" not in tool.tool.server:
            own.setdefault(tool.tool.server, tool.name)
    names = list(own.values())[: max(_EXAMPLES - len(found), 3)]
    if names:
        described = (await visit.run(TOOLS["describe_tools"], names=names)).tools
        found += [(_task_of(one), "tools") for one in described]
    return found


def _task_of(tool: Any) -> str:
    """A tool's first sentence as a person might write it; its name where it has none."""
    sentence = _SENTENCE.match(" ".join(tool.tool.description.split()))
    text = sentence[0].rstrip(".") if sentence else _WORD.sub(" ", tool.name).strip()
    return shortened(text[:1].lower() + text[1:], _LONGEST)
