"""Keeps the tools of packs in the catalogue, and runs them.

Invariant: a caller finds and calls the tools of exactly the packs that it sees, as their trusted content stands now;
a pack that cannot be loaded, or that does not come to an end, delays no request for longer than `PATIENCE`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from fastmcp import FastMCP
from mcp import MCPError

from thresher.calling import Client, Result
from thresher.context import Situation
from thresher.core import JSON, Caller, InvalidInput, ThresherError, UpstreamError
from thresher.gateway.calls import McpClient
from thresher.gateway.confirmation import client_confirm
from thresher.gateway.packs.loading import Code, load, place, report, said
from thresher.gateway.packs.running import is_cancelled, run_tool, unattended
from thresher.gateway.packs.threads import Threads
from thresher.gateway.sampling import client_chat
from thresher.knowledge.intents import Pack, PackProblem, Packs
from thresher.knowledge.tools import Resolved
from thresher.packs import Request, serving
from thresher.services import Services

logger = logging.getLogger("thresher.gateway")

R = TypeVar("R")
Place: TypeAlias = tuple[int, str | None, str, bool]

LOAD_SECONDS = 10.0
"""How long a `tools.py` may take to be imported."""
QUICK_SECONDS = 0.5
"""How long quick packs wait for slow ones, so that all are offered at once where none is slow."""
PATIENCE = 2.0
"""How long, after packs have changed, requests wait for their tools; then they go on with what is there."""
RETRY_SECONDS = 5.0
"""How long packs whose tools could not be stored are left alone."""


_INCOMPLETE = "the tools of packs are still being read; ask again in a moment"
_offering: ContextVar[bool] = ContextVar("thresher_offering", default=False)
"""Whether the work under way offers tools of packs, or is a pack's code that says whether they are of use: it must not
wait for itself."""


@dataclass(slots=True)
class _Taken:
    """What one caller has been offered in one project.

    Attributes:
        digest: The packs that this is about.
        coded: Those of them that have code.
        shown: Set when their tools can be called.
        until: When requests stop waiting for that, on the loop's clock.
        again: When to try once more after a failure, on the same clock; 0 while there was none.
        packs: Those whose code is loaded, by the names of their servers.
        loaded: The same, each once.
        unready: Names of those that were of no use, and not shown, when the caller was last offered any.
        offering: Keeps one offer from overtaking another.
    """

    digest: str
    coded: Sequence[Pack]
    shown: asyncio.Event
    until: float
    again: float = 0.0
    packs: Mapping[str, tuple[Pack, Code]] = field(default_factory=dict[str, tuple[Pack, Code]])
    loaded: Sequence[tuple[Pack, Code]] = ()
    unready: frozenset[str] = frozenset()
    offering: asyncio.Lock = field(default_factory=asyncio.Lock)
    work: asyncio.Task[None] | None = None
    aligning: asyncio.Task[None] | None = None

    @property
    def whole(self) -> bool:
        """Whether everything that is of use can be found."""
        begun = [task for task in (self.work, self.aligning) if task is not None]
        return not self.again and all(task.done() for task in begun)


class PackTools:
    """The tools of packs, for all callers; one per process.

    Args:
        services: The packs and the catalogue.
        server: What the functions see as their server.
    """

    def __init__(self, services: Services, server: FastMCP[Any]) -> None:
        self._services = services
        self._server = server
        self._taken: dict[Place, _Taken] = {}
        self._codes: dict[tuple[str, str], asyncio.Task[Code]] = {}
        self._unfollow = services.intents.follow(self.begin)
        self._unheed = services.context.readiness.follow(self._heed)
        self._untake = services.tools.take_local(self._local)
        self._unregister = services.calling.take_packs(self)

    async def ready(self, caller: Caller, *, wait: bool = True) -> Packs:
        """The caller's packs, with their tools in the catalogue.

        Args:
            caller: Who asks.
            wait: Whether to wait, for a bounded time, for tools that are not there yet.
        """
        packs = await self._services.intents.packs(caller)
        taken = self.begin(caller, packs)
        if wait and not taken.shown.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(taken.until):
                    await taken.shown.wait()
        await self._align(caller, taken)
        return packs

    async def _local(self, caller: Caller, searching: bool) -> str:
        """See `Source` of the tools kind."""
        if _offering.get():
            return ""
        if not searching:
            await self.ready(caller)
            return ""
        taken = self.begin(caller, await self._services.intents.packs(caller))
        if taken.work is not None and not taken.work.done():
            await asyncio.wait([taken.work], timeout=max(0.0, taken.until - asyncio.get_running_loop().time()))
        await self._align(caller, taken)
        if taken.aligning is not None and not taken.aligning.done():
            await asyncio.wait([taken.aligning], timeout=PATIENCE)
        return "" if taken.whole else _INCOMPLETE

    def in_use(self, caller: Caller, packs: Packs) -> Packs:
        """The packs without those that were of no use to the caller when it was last looked, or did not say yet."""
        taken = self._taken.get(caller.place)
        if taken is None or (not taken.unready and len(taken.loaded) == len(taken.coded)):
            return packs
        told = {pack.name for pack, _ in taken.loaded} - taken.unready
        return replace(packs, active=tuple(pack for pack in packs.active if pack.code is None or pack.name in told))

    def listed(self, caller: Caller) -> Mapping[str, frozenset[str]]:
        """The tools that packs in use want to see in `tools/list`: their own names, by server."""
        taken = self._taken.get(caller.place)
        known = taken.packs.items() if taken is not None else ()
        return {
            server: code.listed
            for server, (pack, code) in known
            if code.listed and taken is not None and pack.name not in taken.unready
        }

    def begin(self, caller: Caller, packs: Packs) -> _Taken:
        """Have the tools of these packs taken in, unless they are, or are about to be."""
        key = caller.place
        taken = self._taken.get(key)
        if taken is None or taken.digest != packs.digest or 0 < taken.again < asyncio.get_running_loop().time():
            return self._begin(key, caller, packs, taken)
        return taken

    async def run(self, client: Client, caller: Caller, resolved: Resolved, arguments: JSON) -> Result:
        """Run a tool of a pack.

        Raises:
            UpstreamError: Its code is not in use any more, or not yet, or it fails; see `run_tool`.
        """
        name, server = resolved.tool.name, resolved.tool.server
        taken = self._taken.get(caller.place)
        pack, code = (taken.packs.get(server) if taken is not None else None) or (None, None)
        packs = await self._services.intents.packs(caller)
        if pack is None or code is None or not any(one.digest == pack.digest for one in packs.active):
            raise UpstreamError(
                f"The code behind '{name}' is not in use: its pack has changed, or was taken away.",
                hint="Call find_tools again.",
            )
        if (tool := code.tools.get(name)) is None:
            raise UpstreamError(f"The pack '{pack.name}' has no tool '{name}' any more.", hint="Call find_tools again.")
        most = self._services.settings.upstream_call_seconds
        try:
            context = client.context if isinstance(client, McpClient) else unattended()
            request = Request(self._services, caller, client_chat(context), client.name, client_confirm(context))
            with serving(request):
                seconds = min(code.timeouts.get(name, most), most)
                return await run_tool(self._server, context, pack, tool, arguments, seconds)
        except MCPError as error:
            if isinstance(client, McpClient):
                raise
            raise UpstreamError(f"{name}: {error.message}") from error
        finally:
            if not resolved.read_only:
                self._services.context.readiness.look_again()

    async def close(self) -> None:
        """Stop loading, and forget what was loaded."""
        self._unfollow()
        self._unheed()
        self._untake()
        self._unregister()
        self._unfollow = self._unheed = self._untake = self._unregister = lambda: None
        begun = [task for one in self._taken.values() for task in (one.work, one.aligning)]
        work: list[asyncio.Task[Any]] = [*self._codes.values(), *(task for task in begun if task is not None)]
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        self._taken.clear()
        self._prune(())

    def _begin(self, key: Place, caller: Caller, packs: Packs, former: _Taken | None) -> _Taken:
        loop = asyncio.get_running_loop()
        coded = [pack for pack in packs.active if pack.code is not None]
        taken = self._taken[key] = _Taken(packs.digest, coded, asyncio.Event(), loop.time() + PATIENCE)
        if not coded and not self._services.tools.offered(caller) and (former is None or former.work is None):
            taken.shown.set()  # the usual case costs nothing
            return taken
        if former is not None:
            taken.packs = former.packs
        taken.work = _offering_task(self._take(caller, taken, former))
        return taken

    async def _take(self, caller: Caller, taken: _Taken, former: _Taken | None) -> None:
        if former is not None and former.work is not None:
            former.work.cancel()
            await asyncio.wait([former.work])
        try:
            loading = {asyncio.ensure_future(self._code(pack)): pack for pack in taken.coded}
            slow = (await asyncio.wait(loading, timeout=QUICK_SECONDS))[1] if loading else set[asyncio.Task[Code]]()
            await self._show(caller, taken, loading)
            while slow:  # the slowest one does not keep the others back
                slow = (await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED))[1]
                await self._show(caller, taken, loading)
        except Exception as error:
            taken.again = asyncio.get_running_loop().time() + RETRY_SECONDS
            unforeseen = None if isinstance(error, ThresherError) else error
            fields = {"tenant": caller.tenant.id, "reason": str(error)}
            logger.warning("pack_tools", exc_info=unforeseen, extra={"fields": fields})
        finally:
            taken.shown.set()
        self._prune(pack for one in self._taken.values() for pack in one.coded)

    async def _show(self, caller: Caller, taken: _Taken, loading: Mapping[asyncio.Task[Code], Pack]) -> None:
        """Put what is loaded by now in front of the caller."""
        taken.loaded = [(pack, task.result()) for task, pack in loading.items() if task.done()]
        await self._offer(caller, taken)
        taken.shown.set()
        await self._services.tools.index_offered(caller)

    async def _offer(self, caller: Caller, taken: _Taken) -> None:
        """Offer the tools of what is loaded and of use."""
        admin = self._services.settings.admin_tools
        async with taken.offering:
            servers = [
                (pack, code, server) for pack, code in taken.loaded for server in code.servers(pack, admin=admin)
            ]
            unready = await self._unready(caller, taken)
            taken.packs = {server.name: (pack, code) for pack, code, server in servers}
            await self._services.tools.offer(caller, [one for pack, _, one in servers if pack.name not in unready])
            taken.unready = unready

    async def _align(self, caller: Caller, taken: _Taken) -> None:
        """Offer again if other packs are of use than before; waits for that no longer than `PATIENCE`."""
        if not taken.shown.is_set() or await self._unready(caller, taken) == taken.unready:
            return
        await asyncio.wait([self._aligning(caller, taken)], timeout=PATIENCE)

    def _aligning(self, caller: Caller, taken: _Taken) -> asyncio.Task[None]:
        if taken.aligning is None or taken.aligning.done():
            taken.aligning = _offering_task(self._offer_again(caller, taken))
        return taken.aligning

    def _heed(self, caller: Caller) -> None:
        """Another pack is of use to a caller than before, whoever found that out: a prompt has no session to ask in."""
        taken = self._taken.get(caller.place)
        if taken is not None and taken.shown.is_set():
            self._aligning(caller, taken)

    async def _offer_again(self, caller: Caller, taken: _Taken) -> None:
        try:
            await self._offer(caller, taken)
            await self._services.tools.index_offered(caller)
        except ThresherError as error:
            logger.warning("pack_tools", extra={"fields": {"tenant": caller.tenant.id, "reason": str(error)}})

    async def _unready(self, caller: Caller, taken: _Taken) -> frozenset[str]:
        return await self._services.context.readiness.unready(caller, [pack for pack, _ in taken.loaded])

    async def _code(self, pack: Pack) -> Code:
        """A pack's code, loaded once for all callers."""
        key = (str(pack.path), pack.digest)
        if (task := self._codes.get(key)) is None:
            task = self._codes[key] = asyncio.create_task(_loaded(pack))
        code = await asyncio.shield(task)
        problems = [*code.problems, *self._register(pack, code)]
        self._services.intents.report(pack.digest, _problem(pack, problems))
        return code

    def _register(self, pack: Pack, code: Code) -> list[str]:
        """Let a pack's rules use the variables that its code gives values to, and its condition be asked.

        Returns:
            What is wrong.
        """
        context, problems = self._services.context, list[str]()
        if code.condition is not None:
            context.readiness.register(pack.digest, self._informed(code.condition))
        for name, provider in code.variables.items():
            try:
                context.variables.register(name, self._informed(provider), pack=pack.digest)
            except InvalidInput as error:
                problems.append(str(error))
        return problems

    def _informed(self, function: Callable[[Situation], Awaitable[R]]) -> Callable[[Situation], Awaitable[R]]:
        """A function of a pack that can reach the product while it is asked."""

        async def asked(situation: Situation) -> R:
            token = _offering.set(True)
            try:
                with serving(Request(self._services, situation.caller)):
                    return await function(situation)
            finally:
                _offering.reset(token)

        return asked

    def _prune(self, used: Iterable[Pack]) -> None:
        """Forget the code of packs that are not in use."""
        kept = {(str(pack.path), pack.digest) for pack in used}
        for key in [key for key, task in self._codes.items() if key not in kept and task.done()]:
            task = self._codes.pop(key)
            self._services.context.variables.forget(key[1])
            self._services.context.readiness.forget(key[1])
            if not task.cancelled():
                task.result().unload()


def _offering_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    context = contextvars.copy_context()
    context.run(_offering.set, True)
    return asyncio.create_task(work, context=context)


async def _loaded(pack: Pack) -> Code:
    """A pack's code; without tools, and with its problem, where it cannot be loaded."""
    threads = Threads(pack.name)
    try:
        async with asyncio.timeout(LOAD_SECONDS):
            code = await threads.run(lambda: load(pack, threads))
    except TimeoutError:
        code = Code(problems=(f"It was not imported within {LOAD_SECONDS:g} s.",))
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        logger.warning("pack_code", exc_info=error, extra={"fields": {"pack": pack.name, "path": str(pack.path)}})
        code = Code(problems=(f"It cannot be imported: {said(error)}{place(error, pack)}",))
    for problem in code.problems:
        report(pack, problem)
    return code


def _problem(pack: Pack, problems: Sequence[str]) -> PackProblem | None:
    """The problem that people see if some of a pack's code cannot be used; None if all can."""
    if not problems or pack.code is None:
        return None
    return PackProblem(pack.code, " ".join(problems), hint="The pack's rules are used all the same.")
