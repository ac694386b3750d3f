"""Runs tools: our own, those of upstream servers, and those of packs.

Invariant: no tool is run another way. A call that is refused, or answered with the rules of a pack, has not been run;
every call of a tool that is not our own is logged, however it ends. Nothing here grows with the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from cachetools import LRUCache

from thresher.audit import AuditLog
from thresher.calling.arguments import check, coerce, own_arguments
from thresher.calling.meta_tools import SCHEMAS, MetaTools, meta_tools, schema_of
from thresher.calling.programs import Programs, data_of
from thresher.calling.records import NO_CLIENT, Call, Client, PackTools, Result
from thresher.calling.rules_first import RulesFirst
from thresher.calling.statements import Statements
from thresher.context import ContextService
from thresher.core import (
    JSON,
    Caller,
    CallerText,
    Expose,
    HeldBack,
    InvalidInput,
    NotFound,
    Settings,
    UpstreamError,
    acting_for,
    current_trace,
    event,
)
from thresher.knowledge.intents import IntentService, Packs
from thresher.knowledge.tools import (
    RULES_FIRST,
    SCHEME,
    SIGNATURE_FIRST,
    Definition,
    Resolved,
    ToolService,
    line,
    thread_meta,
)
from thresher.programs import Sandbox
from thresher.results import Delivery, Results, checked_budget
from thresher.upstream import Peer, ServerConfig, Upstreams

logger = logging.getLogger("thresher.calling")

_NAMES = 50
"""Tools that are described at once."""
_WRITES = {
    False: "may change something",
    True: "may change something: its server claims otherwise, and nobody has marked it as trusted",
}
"""Why a tool is not for `call_tool`, by whether its server claims that it is."""


class Calling:
    """Runs tools. One per process.

    Args:
        settings: The settings.
        tools: Knows the tools.
        intents: Knows the packs.
        context: What our own tools answer from, and the rules of packs.
        upstreams: Sessions with servers.
        audit: Where decisions about statements are noted.
        results: Delivers results within their budgets.

    Attributes:
        own: The definitions of our own tools.
    """

    def __init__(
        self,
        settings: Settings,
        tools: ToolService,
        intents: IntentService,
        context: ContextService,
        upstreams: Upstreams,
        audit: AuditLog,
        results: Results,
    ) -> None:
        self.own = meta_tools(settings)
        self._settings = settings
        self._tools = tools
        self._intents = intents
        self._upstreams = upstreams
        self._audit = audit
        self._results = results
        self._meta_tools = MetaTools(tools, context, results)
        self._searches = Searches()
        self._rules = RulesFirst(intents, context, enabled=settings.rules_first == "on")
        self._programs = Programs(Sandbox(settings.code_seconds), tools, self._call_inside, results)
        self._packs: list[PackTools] = []

    def take_packs(self, packs: PackTools) -> Callable[[], None]:
        """Have the tools of packs run by this.

        Returns:
            Ends that.
        """
        self._packs.append(packs)
        return lambda: self._packs.remove(packs)

    async def close(self) -> None:
        """End what runs programs."""
        await self._programs.close()

    async def ready(self, caller: Caller) -> Packs:
        """The caller's packs, their tools in the catalogue; waits for these for a bounded time."""
        return await (self._packs[-1].ready(caller) if self._packs else self._intents.packs(caller))

    async def listed(self, caller: Caller, expose: Expose) -> tuple[Definition, ...]:
        """The tools that a caller is shown beside our own, by name.

        Args:
            caller: Who asks.
            expose: How much it is shown.
        """
        tools = self._tools
        if expose == "all" or self._settings.selection != "on":
            return await tools.all_tools(caller)
        packs = self._packs[-1].listed(caller) if self._packs else dict[str, frozenset[str]]()
        own = await tools.tools_of(caller, packs) if expose == "own" else ()
        named = {one.name: one for one in (*await tools.core_tools(caller), *own)}
        return tuple(named[name] for name in sorted(named))

    async def describe(self, caller: Caller, names: Sequence[str]) -> tuple[Definition, ...]:
        """The definitions of those tools that are there and may be used, in the order asked."""
        definitions: list[Definition] = []
        for first in range(0, len(names), _NAMES):
            with suppress(NotFound, HeldBack):  # none of them is there
                definitions += (await self._tools.describe_tools(caller, names[first : first + _NAMES])).tools
        return tuple(definitions)

    async def call(self, caller: Caller, call: Call, client: Client = NO_CLIENT) -> Result:
        """Run a tool.

        Args:
            caller: For whom.
            call: The tool and its arguments.
            client: Who can be asked during the call.

        Raises:
            NotFound: No enabled tool has this name.
            HeldBack: The tool waits for approval.
            InvalidInput: The arguments do not fit, or the tool is not for the meta-tool it was called through.
            StatementRefused: The arguments hold SQL that may not run.
            ThresherError: The tool cannot be run.
        """
        with acting_for(caller):
            if call.name not in SCHEMAS:
                return await self._run(caller, call, client, None)
            schema = schema_of(call.name, self._settings)
            given = own_arguments(
                call.name, call.arguments, schema, lambda: f"{call.name}({', '.join(schema['properties'])})"
            )
            match call.name:
                case "run_code" | "run_code_write":
                    return await self._run_code(caller, call, client, given)
                case "call_tool" | "call_tool_write":
                    budget = given.get("budget", call.budget)
                    focus = given.get("focus") or call.focus
                    inner = Call(given["name"], given.get("arguments") or {}, call.resumed, budget, focus)
                    return await self._run(caller, inner, client, call.name == "call_tool")
                case _:
                    if call.name == "read_result":
                        given.setdefault("budget", call.budget)
                    result = await self._meta_tools.run(caller, call.name, given, client.name)
                    self._searches.note(caller, given, result.structured)
                    return result

    async def _run_code(self, caller: Caller, call: Call, client: Client, given: dict[str, Any]) -> Result:
        """Run a program, or go on with one, and deliver what it comes to within the budget."""
        if self._settings.run_code == "off":
            raise NotFound(f"'{call.name}' is switched off.", hint="THRESHER_RUN_CODE=on offers it.")
        if call.budget is not None:
            checked_budget(call.budget)  # before anything is run
        programs = self._programs
        arguments: JSON = given.get("arguments") or {}

        async def work(client: Client) -> Result:
            if call.name == "run_code":
                return await programs.run(caller, client, given["code"])
            return await programs.go_on(caller, client, given["run"], given["name"], arguments)

        result = await client.attended(work)
        if result.asks:
            return result
        delivery = Delivery(call.name, budget=call.budget, focus=call.focus, client=client.name)
        answer = await self._results.deliver(caller, result.answer, delivery)
        return result if answer is result.answer else Result(answer)

    async def _call_inside(self, caller: Caller, call: Call, client: Client, reading: bool) -> Result:
        """Run a tool for a program, which gets the whole result."""
        return await (
            self.call(caller, call, client) if call.name in SCHEMAS else self._run(caller, call, client, reading)
        )

    async def _run(self, caller: Caller, call: Call, client: Client, reading: bool | None) -> Result:
        """Run a tool that is not our own; `reading` tells which of the two meta-tools it came by, None for neither."""
        started, state, tool_id = time.perf_counter(), "failed", None
        if call.budget is not None:
            checked_budget(call.budget)  # before anything is run
        try:
            packs = await self.ready(caller)
            resolved = await self._resolve(caller, call.name, reading)
            tool_id = resolved.id
            _check_access(call.name, resolved, reading)
            rules = None if call.resumed else await self._rules.look(caller, packs, call.name, resolved)
            if rules is not None:
                state = RULES_FIRST
                return rules
            asks = reading is False and not call.resumed and not call.shown
            by_name = asks and self._tools.calls.show_signature(caller, call.name, started)
            arguments = _fitted(call, resolved)
            if by_name:
                state = SIGNATURE_FIRST
                raise InvalidInput(
                    f"'{call.name}' may change something and was listed by name only; it was not run.",
                    hint=f"It is {line(call.name, resolved.tool).rstrip('.')}. Call it again to run it.",
                )
            if reading is None:
                client.admit(resolved.tool.input_schema)
            result = await self._answer(caller, client, resolved, arguments)
            # A question is not the end: the call that brings the answer is noted.
            state = "" if result.asks else "tool error" if result.is_error else "ok"
            if state == "ok" and self._settings.run_code == "on":
                self._tools.shapes.note(caller, resolved, data_of(result, resolved.tool.output_schema))
            return result if result.asks else await self._delivered(caller, call, client, resolved, result, reading)
        except asyncio.CancelledError:
            state = "cancelled"
            raise
        finally:
            if state:
                self._note(caller, call.name, tool_id, state, started)

    async def _resolve(self, caller: Caller, name: str, reading: bool | None) -> Resolved:
        try:
            return await self._tools.resolve(caller, name)
        except NotFound:
            if reading is None or name not in SCHEMAS:
                raise
            through = "call_tool" if reading else "call_tool_write"
            raise InvalidInput(
                f"'{name}' is called directly, not through {through}.", hint="Call it with the same arguments."
            ) from None

    async def _answer(self, caller: Caller, client: Client, resolved: Resolved, arguments: JSON) -> Result:
        """Have a tool run where it runs: on its server, or here."""
        config, tool = resolved.config, resolved.tool.name
        if config is None:
            if not self._packs:
                raise UpstreamError(f"'{tool}' belongs to a pack, whose tools are not run here.")
            return await self._packs[-1].run(client, caller, resolved, arguments)

        async def send(peer: Peer | None) -> Result:
            outcome = await self._upstreams.call_tool(config, tool, arguments, peer=peer, meta=thread_meta(config))
            raw = cast("JSON", outcome.raw)
            return Result(raw, asks=True) if outcome.asks else Result(_reachable(raw, config))

        if config.sql is None:
            return await client.relay(config, send)
        statements = Statements(self._audit, caller, client.name, config, tool)
        return await statements.run(config.sql, arguments, lambda: client.relay(config, send))

    async def _delivered(
        self, caller: Caller, call: Call, client: Client, resolved: Resolved, result: Result, reading: bool | None
    ) -> Result:
        """The result within its budget."""
        delivery = Delivery(
            tool=call.name,
            server=resolved.tool.server,
            budget=call.budget,
            focus=call.focus or self._searches.focus(caller, call.name),
            client=client.name,
            schema=resolved.tool.output_schema is not None,
            direct=reading is None,
        )
        answer = await self._results.deliver(caller, result.answer, delivery)
        return result if answer is result.answer else Result(answer)

    def _note(self, caller: Caller, name: str, tool_id: int | None, state: str, started: float) -> None:
        """Log a call and how it ended, without its arguments."""
        milliseconds = round((time.perf_counter() - started) * 1000, 2)
        self._tools.calls.add(
            caller, name=name, tool_id=tool_id, state=state, duration_ms=milliseconds, trace_id=current_trace()
        )
        # A name that no tool has is whatever the caller wrote.
        shown = CallerText(name) if tool_id is None else name
        event(logger, "call_tool", tenant=caller.tenant.id, tool=shown, state=state, ms=milliseconds)


def _check_access(name: str, resolved: Resolved, reading: bool | None) -> None:
    """Refuse a tool that was called through the meta-tool that is not for it."""
    if reading is not None and resolved.read_only != reading:
        does = "only reads" if resolved.read_only else _WRITES[resolved.claims]
        other = "call_tool" if resolved.read_only else "call_tool_write"
        raise InvalidInput(f"'{name}' {does}.", hint=f"Run it with {other}, same arguments.")


def _fitted(call: Call, resolved: Resolved) -> JSON:
    """The arguments as the tool's schema wants them."""
    schema = resolved.tool.input_schema

    def signature() -> str:
        return line(call.name, resolved.tool).partition(" - ")[0]

    if resolved.config is None:
        return own_arguments(call.name, call.arguments, schema, signature)
    fitted = coerce(call.arguments, schema)
    if logger.isEnabledFor(logging.DEBUG):
        event(logger, "call_arguments", level=logging.DEBUG, tool=call.name, arguments=CallerText(fitted))
    check(fitted, schema, signature)
    return fitted


def _reachable(answer: JSON, config: ServerConfig) -> JSON:
    """An answer whose addresses lead back to its server by way of ours."""
    blocks = cast("list[dict[str, Any]]", answer.get("content") or [])
    if not config.prefix or all(block.get("type") != "resource_link" for block in blocks):
        return answer
    prefix = f"{SCHEME}{config.name}/"
    return {
        **answer,
        "content": [
            {**block, "uri": f"{prefix}{block['uri']}"} if block.get("type") == "resource_link" else block
            for block in blocks
        ],
    }


_SESSIONS: Final = 1_024
_SEARCHES: Final = 8
_QUESTION_CHARACTERS: Final = 2_000


class Searches:
    """The last searches of each session: what a tool was found for is the question that its large result is read with.

    One per process; bounded, and nothing of it is written down or logged.
    """

    def __init__(self) -> None:
        self._known: LRUCache[tuple[Any, ...], deque[tuple[str, frozenset[str]]]] = LRUCache(_SESSIONS)

    def note(self, caller: Caller, given: Mapping[str, Any], answer: JSON) -> None:
        """Remember a search.

        Args:
            caller: Who searched.
            given: The arguments of the meta-tool.
            answer: Its structured content, which names the tools.
        """
        tools = cast("list[Mapping[str, Any]]", answer.get("tools") or [])
        if not tools:
            return
        queries: Any = given.get("queries") or ()
        asked = (
            given.get("prompt") or given.get("message") or " ".join([queries] if isinstance(queries, str) else queries)
        )
        names = frozenset(str(tool.get("name", "")) for tool in tools)
        self._known.setdefault(_session(caller), deque(maxlen=_SEARCHES)).append((asked[:_QUESTION_CHARACTERS], names))

    def focus(self, caller: Caller, tool: str) -> str:
        """The last words that found a tool in the caller's session; empty if none did."""
        searches = self._known.get(_session(caller), ())
        return next((asked for asked, names in reversed(searches) if tool in names), "")


def _session(caller: Caller) -> tuple[Any, ...]:
    return caller.tenant.id, caller.user, caller.key, caller.client
