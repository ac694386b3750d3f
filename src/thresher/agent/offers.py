"""The tools that a model is offered in a turn, and the calls of them.

Invariant: every call goes through `calling`, which authorises, guards and logs it. A client's own tools are named to
the model and never called here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from thresher.agent.assistant.toolbox import run_tool
from thresher.agent.settings import ChatSettings
from thresher.calling import RULES_META, Calling, Result
from thresher.core import Caller, dumps
from thresher.knowledge.tools import Claim, Consents, Definition
from thresher.llm import Function

SEARCH: Final = "search_documents"
"""The tool whose results are given to the model and leave no trace in the history that it sees."""
READER: Final = "read_result"
"""The tool that reads on in a long result; the model is shown its pages only in the turn that read them."""
DOCUMENTS: Final = (SEARCH, "list_repositories")
DATABASES: Final = ("query_database_schema", "sql_query", "sql_connection_list")
"""Offered whenever there is a database and the settings allow it."""
OWN_PACKS: Final = ("documents", "databases", "tools")
"""Packs whose tools are these, or are not offered: the prompt covers their rules."""
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")
_DESCRIPTION: Final = 1_024
_PROBLEM: Final = 2_000

READ_RESULT: Final = Function(
    READER,
    "Read more of a long result of an earlier call, by the cursor that its answer names: what answers a focus, a JSON "
    "pointer, lines such as 120-180, or lines that match a pattern; with none of these, page by page.",
    {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("cursor", "focus", "pointer", "lines", "pattern")},
        "required": ["cursor"],
    },
)


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool as it is offered.

    Attributes:
        name: The exposed name.
        function: As the model sees it.
        pack: Whether it belongs to a pack.
        reads: Whether it only reads: a trusted server says so, or the caller has agreed to that claim.
        destroys: Whether it may destroy, according to a trusted server.
        claim: The claim of a server that is not trusted; None without one.
        allowed: Whether the settings let it be offered.
    """

    name: str
    function: Function
    pack: bool = False
    reads: bool = False
    destroys: bool = True
    claim: Claim | None = None
    allowed: bool = True


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How a call ended.

    Attributes:
        text: What the model reads.
        data: The structured content; may be empty.
        failed: Whether the tool reports a failure, or could not be called.
        rules: Whether these are rules to be read before the call is repeated.
        ms: Milliseconds.
    """

    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    failed: bool = False
    rules: bool = False
    ms: int = 0


class Offers:
    """The tools that a caller may use.

    Args:
        calling: Runs them.
        settings: What may be offered.
        consents: Claims of untrusted servers that the caller has agreed to.
        caller: The caller.
    """

    def __init__(self, calling: Calling, settings: ChatSettings, consents: Consents, caller: Caller) -> None:
        self._calling = calling
        self._settings = settings
        self._consents = consents
        self._caller = caller
        self._known: dict[str, ModelTool] = {}
        self._named: dict[str, str] = {}

    async def core(self) -> list[str]:
        """Return the names of tools offered for every message; the core tools of servers are found for each message."""
        await self._calling.ready(self._caller)
        listed = {one.name: one for one in await self._calling.listed(self._caller, "own")}
        allowed = [*(DOCUMENTS if self._settings.documents else ()), *(DATABASES if self._settings.sql else ())]
        names = [name for name in allowed if name in listed]
        for name in names:
            self._take(listed[name])
        return names

    async def describe(self, names: Iterable[str]) -> None:
        """Load the definitions of some tools; unknown names are left out."""
        if not (missing := [name for name in dict.fromkeys(names) if name not in self._known]):
            return
        described = await self._calling.describe(self._caller, missing)
        claims = await self._consents.claims(self._caller, [one.name for one in described])
        for one in described:
            self._take(one, claims.get(one.name))

    def _take(self, one: Definition, claim: Claim | None = None) -> None:
        tool, told = one.tool, one.tool.annotations
        function = Function(self._spoken(one.name), tool.description[:_DESCRIPTION], dict(tool.input_schema))
        reads = told.get("readOnlyHint") is True or (claim is not None and claim.agreed)
        destroys = not reads and told.get("destructiveHint") is not False
        pack, chosen = ":" in tool.server, self._settings
        allowed = chosen.packs if pack else chosen.servers
        if one.name in DOCUMENTS:
            allowed = chosen.documents
        elif one.name in DATABASES:
            allowed = chosen.sql
        self._known[one.name] = ModelTool(one.name, function, pack, reads, destroys, claim, allowed)

    async def agree(self, name: str, definition: str) -> None:
        """Remember the caller's approval of calls of a tool with this definition; see `Consents.remember`."""
        await self._consents.remember(self._caller, name, definition)
        self._known[name] = replace(self._known[name], reads=True, destroys=False, claim=Claim(definition, True))

    def _spoken(self, name: str) -> str:
        """Return a name that the wire format accepts: letters, digits, `_` and `-`, at most 64."""
        plain = _ODD.sub("_", name)[:64] or "tool"
        spoken, number = plain, 1
        while self._named.get(spoken, name) != name:
            number += 1
            spoken = f"{plain[:60]}_{number}"
        self._named[spoken] = name
        return spoken

    def get(self, spoken: str) -> ModelTool | None:
        """Return the tool behind a name that a model uses."""
        return self._known.get(self._named.get(spoken, spoken))

    def known(self, names: Iterable[str]) -> list[ModelTool]:
        """Return those of some tools that exist and that the settings allow."""
        return [tool for name in names if (tool := self._known.get(name)) is not None and tool.allowed]

    async def call(self, name: str, arguments: Mapping[str, Any], seconds: float) -> ToolOutcome:
        """Call a tool; whatever happens, the result is an outcome."""
        started = time.perf_counter()
        outcome = _outcome(await run_tool(self._calling, self._caller, name, arguments, seconds))
        return replace(outcome, ms=round((time.perf_counter() - started) * 1000))


def _outcome(result: Result | str) -> ToolOutcome:
    if isinstance(result, str):
        return ToolOutcome(result[:_PROBLEM], failed=True)
    shown = (
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type')}: not shown to models]"
        for block in result.content
    )
    text = "\n".join(shown) or (dumps(result.structured) if result.structured else "")
    if RULES_META in result.meta:
        return ToolOutcome(text, rules=True)
    if result.is_error:
        return ToolOutcome(text[:_PROBLEM] or "The tool failed and does not say why.", result.structured, failed=True)
    return ToolOutcome(text or "(done, nothing to tell)", result.structured)


def joined(former: Sequence[str], core: Sequence[str], found: Sequence[str], most: int) -> list[str]:
    """Return the names of the offered tools, in an order that stays from turn to turn.

    Args:
        former: Offered in the turn before.
        core: Offered for every message now.
        found: Found for this message, best first.
        most: Most found tools, of this and former messages; former ones are dropped first.
    """
    stays = [name for name in former if name in core or name not in (*DOCUMENTS, *DATABASES)]
    whole = list(dict.fromkeys([*stays, *core, *found]))
    extra = [name for name in whole if name not in core]
    for name in [name for name in extra if name not in found][: max(0, len(extra) - most)]:
        whole.remove(name)
    return whole
