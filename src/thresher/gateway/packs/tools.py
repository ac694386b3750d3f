"""Keeps the tools of packs in the catalogue, and runs them.

Invariant: a caller finds and calls the tools of exactly the packs that it sees, with their current trusted content; a
pack that cannot be loaded, or does not end, delays no request for longer than `PATIENCE`.
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
from thresher.gateway.packs.code import Code, error_location, error_text, load, report
from thresher.gateway.packs.execution import is_cancelled, run_tool, unattended
from thresher.gateway.packs.threads import Threads
from thresher.gateway.sampling import client_chat
from thresher.knowledge.intents import Pack, PackProblem, Packs
from thresher.knowledge.tools import Resolved
from thresher.packs import Request, serving
from thresher.services import Services

logger = logging.getLogger("thresher.gateway")

R = TypeVar("R")
OfferKey: TypeAlias = tuple[int, str | None, str, bool]

LOAD_SECONDS = 10.0
"""The time limit for the import of a `tools.py`."""
QUICK_SECONDS = 0.5
"""How long fast packs wait for slow ones, so that all are offered together if none is slow."""
PATIENCE = 2.0
"""How long requests wait for the tools of packs that have changed; then they use what is loaded."""
RETRY_SECONDS = 5.0
"""How long to wait before the tools of packs that could not be stored are tried again."""


_INCOMPLETE = "the tools of packs are still being read; ask again in a moment"
_offering: ContextVar[bool] = ContextVar("thresher_offering", default=False)
"""Whether the current work offers tools of packs, or is a pack's code that decides whether they are available: it must
not wait for itself."""


@dataclass(slots=True)
class _Offered:
    """The tools of packs that one caller is offered in one project.

    Attributes:
        digest: The digest of the packs.
        coded: The packs that have code.
        shown: Set when their tools can be called.
        until: When requests stop waiting for that, on the loop's clock.
        again: When to retry after a failure, on the same clock; 0 if there was none.
        packs: Packs whose code is loaded, by the names of their servers.
        loaded: The same packs, each once.
        unready: Names of packs that were not available, and not shown, at the last offer.
        offering: Serializes offers.
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


class PackTools:
    """The tools of packs, for all callers; one per process.

    Args:
        services: The packs and the catalogue.
        server: The server that the functions see.
    """

    def __init__(self, services: Services, server: FastMCP[Any]) -> None:
        self._services = services
        self._server = server
        self._offered: dict[OfferKey, _Offered] = {}
        self._codes: dict[tuple[str, str], asyncio.Task[Code]] = {}
        self._unfollow = services.intents.follow(self.begin)
        self._unfollow_readiness = services.context.readiness.follow(self._availability_changed)
        self._remove_source = services.tools.take_local(self._local)
        self._unregister = services.calling.take_packs(self)

    async def ready(self, caller: Caller, *, wait: bool = True) -> Packs:
        """Return the caller's packs, with their tools in the catalogue.

        Args:
            caller: The tenant, user and project.
            wait: Whether to wait, for a bounded time, for tools that are not loaded yet.
        """
        packs = await self._services.intents.packs(caller)
        offer = self.begin(caller, packs)
        if wait and not offer.shown.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(offer.until):
                    await offer.shown.wait()
        await self._align(caller, offer)
        return packs

    async def _local(self, caller: Caller, searching: bool) -> str:
        """See `Source` of the tools kind."""
        if _offering.get():
            return ""
        if not searching:
            await self.ready(caller)
            return _INCOMPLETE if self._lacks(caller) else ""
        offer = self.begin(caller, await self._services.intents.packs(caller))
        if offer.work is not None and not offer.work.done():
            await asyncio.wait([offer.work], timeout=max(0.0, offer.until - asyncio.get_running_loop().time()))
        await self._align(caller, offer)
        if offer.aligning is not None and not offer.aligning.done():
            await asyncio.wait([offer.aligning], timeout=PATIENCE)
        begun = [task for task in (offer.work, offer.aligning) if task is not None]
        return "" if not offer.again and all(task.done() for task in begun) else _INCOMPLETE

    def _lacks(self, caller: Caller) -> bool:
        """Return whether a pack is not loaded yet, or has not yet said whether it is available."""
        offer = self._offered.get(caller.place)
        if offer is None or len(offer.loaded) < len(offer.coded):
            return True
        return self._services.context.readiness.unsure(caller, [pack for pack, _ in offer.loaded])

    def in_use(self, caller: Caller, packs: Packs) -> Packs:
        """Return the packs that were available to the caller at the last check."""
        offer = self._offered.get(caller.place)
        if offer is None or (not offer.unready and len(offer.loaded) == len(offer.coded)):
            return packs
        available = {pack.name for pack, _ in offer.loaded} - offer.unready
        return replace(
            packs, active=tuple(pack for pack in packs.active if pack.code is None or pack.name in available)
        )

    def listed(self, caller: Caller) -> Mapping[str, frozenset[str]]:
        """Return the tools that available packs put in `tools/list`: their own names, by server."""
        offer = self._offered.get(caller.place)
        known = offer.packs.items() if offer is not None else ()
        return {
            server: code.listed
            for server, (pack, code) in known
            if code.listed and offer is not None and pack.name not in offer.unready
        }

    def begin(self, caller: Caller, packs: Packs) -> _Offered:
        """Load and offer the tools of these packs, unless they are, or are being, offered."""
        key = caller.place
        offer = self._offered.get(key)
        if offer is None or offer.digest != packs.digest or 0 < offer.again < asyncio.get_running_loop().time():
            return self._begin(key, caller, packs, offer)
        return offer

    async def run(self, client: Client, caller: Caller, resolved: Resolved, arguments: JSON) -> Result:
        """Run a tool of a pack.

        Raises:
            UpstreamError: Its code is no longer in use, or not yet, or it fails; see `run_tool`.
        """
        name, server = resolved.tool.name, resolved.tool.server
        offer = self._offered.get(caller.place)
        pack, code = (offer.packs.get(server) if offer is not None else None) or (None, None)
        packs = await self._services.intents.packs(caller)
        if pack is None or code is None or not any(one.digest == pack.digest for one in packs.active):
            raise UpstreamError(
                f"The code behind '{name}' is not in use: its pack was changed or removed.",
                hint="Call find_tools again.",
            )
        if (tool := code.tools.get(name)) is None:
            raise UpstreamError(f"The pack '{pack.name}' no longer has a tool '{name}'.", hint="Call find_tools again.")
        most = self._services.settings.upstream_call_seconds
        try:
            context, peer = (client.context, client.peer) if isinstance(client, McpClient) else (unattended(), None)
            confirm = client_confirm(context, peer)
            request = Request(self._services, caller, client_chat(context), client.name, confirm)
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
        """Stop loading, and unload everything."""
        self._unfollow()
        self._unfollow_readiness()
        self._remove_source()
        self._unregister()
        self._unfollow = self._unfollow_readiness = self._remove_source = self._unregister = lambda: None
        begun = [task for one in self._offered.values() for task in (one.work, one.aligning)]
        work: list[asyncio.Task[Any]] = [*self._codes.values(), *(task for task in begun if task is not None)]
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        self._offered.clear()
        self._prune(())

    def _begin(self, key: OfferKey, caller: Caller, packs: Packs, former: _Offered | None) -> _Offered:
        loop = asyncio.get_running_loop()
        coded = [pack for pack in packs.active if pack.code is not None]
        offer = self._offered[key] = _Offered(packs.digest, coded, asyncio.Event(), loop.time() + PATIENCE)
        if not coded and not self._services.tools.offered(caller) and (former is None or former.work is None):
            offer.shown.set()  # the usual case
            return offer
        if former is not None:
            offer.packs = former.packs
        offer.work = _offering_task(self._take(caller, offer, former))
        return offer

    async def _take(self, caller: Caller, offer: _Offered, former: _Offered | None) -> None:
        if former is not None and former.work is not None:
            former.work.cancel()
            await asyncio.wait([former.work])
        try:
            loading = {asyncio.ensure_future(self._code(pack)): pack for pack in offer.coded}
            slow = (await asyncio.wait(loading, timeout=QUICK_SECONDS))[1] if loading else set[asyncio.Task[Code]]()
            await self._show(caller, offer, loading)
            while slow:  # the slowest one does not delay the others
                slow = (await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED))[1]
                await self._show(caller, offer, loading)
        except Exception as error:
            offer.again = asyncio.get_running_loop().time() + RETRY_SECONDS
            unforeseen = None if isinstance(error, ThresherError) else error
            fields = {"tenant": caller.tenant.id, "reason": str(error)}
            logger.warning("pack_tools", exc_info=unforeseen, extra={"fields": fields})
        finally:
            offer.shown.set()
        self._prune(pack for one in self._offered.values() for pack in one.coded)

    async def _show(self, caller: Caller, offer: _Offered, loading: Mapping[asyncio.Task[Code], Pack]) -> None:
        """Show the caller what is loaded so far."""
        offer.loaded = [(pack, task.result()) for task, pack in loading.items() if task.done()]
        await self._offer(caller, offer)
        offer.shown.set()
        await self._services.tools.index_offered(caller)

    async def _offer(self, caller: Caller, offer: _Offered) -> None:
        """Offer the tools of packs that are loaded and available."""
        admin = self._services.settings.admin_tools
        async with offer.offering:
            servers = [
                (pack, code, server) for pack, code in offer.loaded for server in code.servers(pack, admin=admin)
            ]
            unready = await self._services.context.readiness.unready(caller, [pack for pack, _ in offer.loaded])
            offer.packs = {server.name: (pack, code) for pack, code, server in servers}
            await self._services.tools.offer(caller, [one for pack, _, one in servers if pack.name not in unready])
            offer.unready = unready

    async def _align(self, caller: Caller, offer: _Offered) -> None:
        """Offer again if other packs are available than before; wait for that no longer than `PATIENCE`."""
        if not offer.shown.is_set():
            return
        loaded = [pack for pack, _ in offer.loaded]
        if await self._services.context.readiness.unready(caller, loaded) == offer.unready:
            return
        await asyncio.wait([self._aligning(caller, offer)], timeout=PATIENCE)

    def _aligning(self, caller: Caller, offer: _Offered) -> asyncio.Task[None]:
        if offer.aligning is None or offer.aligning.done():
            offer.aligning = _offering_task(self._offer_again(caller, offer))
        return offer.aligning

    def _availability_changed(self, caller: Caller) -> None:
        """Offer again: other packs are available to a caller than before, as a command without a session may find."""
        offer = self._offered.get(caller.place)
        if offer is not None and offer.shown.is_set():
            self._aligning(caller, offer)

    async def _offer_again(self, caller: Caller, offer: _Offered) -> None:
        try:
            await self._offer(caller, offer)
            await self._services.tools.index_offered(caller)
        except ThresherError as error:
            logger.warning("pack_tools", extra={"fields": {"tenant": caller.tenant.id, "reason": str(error)}})

    async def _code(self, pack: Pack) -> Code:
        """Return a pack's code, loaded once for all callers."""
        key = (str(pack.path), pack.digest)
        if (task := self._codes.get(key)) is None:
            task = self._codes[key] = asyncio.create_task(_loaded(pack))
        code = await asyncio.shield(task)
        problems = [*code.problems, *self._register(pack, code)]
        self._services.intents.report(pack.digest, _problem(pack, problems))
        return code

    def _register(self, pack: Pack, code: Code) -> list[str]:
        """Register the variables and the condition of a pack's code.

        Returns:
            The problems.
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
        """Return a function of a pack that can reach the product while it runs."""

        async def called(situation: Situation) -> R:
            token = _offering.set(True)
            try:
                with serving(Request(self._services, situation.caller)):
                    return await function(situation)
            finally:
                _offering.reset(token)

        return called

    def _prune(self, used: Iterable[Pack]) -> None:
        """Unload the code of packs that are not in use."""
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
    """Return a pack's code; without tools, and with its problem, if it cannot be loaded."""
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
        code = Code(problems=(f"It cannot be imported: {error_text(error)}{error_location(error, pack)}",))
    for problem in code.problems:
        report(pack, problem)
    return code


def _problem(pack: Pack, problems: Sequence[str]) -> PackProblem | None:
    """Return the problem that users see if some of a pack's code cannot be used; None if all can."""
    if not problems or pack.code is None:
        return None
    return PackProblem(pack.code, " ".join(problems), hint="The pack's rules are used anyway.")
