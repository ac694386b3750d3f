"""The verbs of the intents kind; every face calls these, with the same names and arguments.

Invariant: apart from the embedding an answer waits for nothing, neither a fit nor its log row; a pack that is not in
use decides nothing. Only the owner of this machine sees the packs in their folders and projects.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from thresher.core import (
    Caller,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Settings,
    StoreUnavailable,
    did_you_mean,
    nearest,
)
from thresher.embedding import Encoder
from thresher.knowledge.intents import queries
from thresher.knowledge.intents.decider import Decider, routing_request
from thresher.knowledge.intents.decision_log import (
    LIFE_SECONDS,
    DecisionLog,
    IntentStatistics,
    measure,
    purge,
    session_of,
)
from thresher.knowledge.intents.discovery import Sources
from thresher.knowledge.intents.models import Decision, IntentInfo, Pack, PackProblem, Packs, RouterState
from thresher.knowledge.intents.training import Fits, lines_of, negatives_of
from thresher.knowledge.intents.views import RELOAD_SECONDS, PackCache, Views
from thresher.store import Database, SecretBox, clean, run_retrying


class IntentService:
    """Packs, and the choice of the right rules for a message. One per process.

    Args:
        database: The database of fits, thresholds, approvals and the log.
        encoder: Embeds lines and messages.
        secrets: Its key makes the hashes of messages.
        settings: How long logs are kept, and whether they hold texts.
        sources: Where packs come from, apart from projects.
        owner: The caller that owns the packs of this machine's user and projects.
    """

    def __init__(
        self,
        database: Database,
        encoder: Encoder,
        secrets: SecretBox,
        settings: Settings,
        sources: Sources,
        owner: Caller,
    ) -> None:
        self._database = database
        self._settings = settings
        self._cache = PackCache(sources)
        self._views = Views(database, self._cache, owner)
        self._fits = Fits(database, encoder)
        self._log = DecisionLog(database, secrets, settings)
        self._decider = Decider(encoder, self._views, self._fits, self._log)
        self._reports: dict[str, PackProblem] = {}

    async def route(
        self,
        caller: Caller,
        message: str,
        *,
        history: Sequence[str] = (),
        queries: Sequence[str] | str = (),
        files: Sequence[str] = (),
    ) -> Decision:
        """Return which rules a message needs: the intents that matched, and the best others.

        Args:
            caller: The tenant and user whose packs are considered.
            message: The person's words; may be empty if there are queries.
            history: The person's turns before, oldest first: "now the same for products" inherits.
            queries: What the calling model wants to do, one task each.
            files: Paths that the message is about; some packs apply by file.

        Raises:
            InvalidInput: An argument is out of bounds.
            StoreUnavailable: The database does not answer, and the caller's packs are not known yet.
        """
        return await self._decider.decide(caller, routing_request(message, history, queries, files))

    async def explain(
        self,
        caller: Caller,
        message: str,
        *,
        history: Sequence[str] = (),
        queries: Sequence[str] | str = (),
        files: Sequence[str] = (),
        thresholds: Mapping[str, float] = MappingProxyType({}),
    ) -> Decision:
        """The same with the scores of all intents, each with its best line; nothing is recorded.

        Waits for the router if it is being fitted. Arguments and errors as for `route`; `thresholds` are tried in place
        of those in force, by intent, `*` for all others.

        Raises:
            InvalidInput: A threshold is not a probability.
            NotFound: There is no intent to a threshold.
        """
        for value in thresholds.values():
            _check_threshold(value)
        request = routing_request(message, history, queries, files)
        return await self._decider.decide(caller, request, explain=True, thresholds=thresholds)

    async def prepare(self, caller: Caller) -> None:
        """Load or fit the caller's router; a failure shows in decisions."""
        view = await self._views.current(caller)
        await self._fits.wait(caller.tenant, view.training_set)

    async def router(self, caller: Caller) -> RouterState:
        """Return the state of the caller's router, after waiting for a fit in progress."""
        view = await self._views.current(caller)
        trained = await self._fits.wait(caller.tenant, view.training_set)
        training = view.training_set.training
        return RouterState(
            intents=len(training.intents),
            lines=len(training.lines),
            negatives=len(training.negatives),
            basis=trained.fitted.basis if trained is not None else "words",
            stored=trained is not None and trained.stored,
            embedded=trained.embedded if trained is not None else 0,
            fit_ms=trained.fit_ms if trained is not None else 0.0,
            problem=self._fits.problem(view.training_set),
        )

    async def packs(self, caller: Caller) -> Packs:
        """Return the packs that the caller sees, used and not, with their problems."""
        packs = (await self._views.current(caller)).packs
        reported = tuple(problem for pack in packs.active if (problem := self._reports.get(pack.digest)) is not None)
        return replace(packs, problems=(*packs.problems, *reported)) if reported else packs

    async def pack(self, caller: Caller, name: str) -> Pack:
        """Return an active pack by name.

        Raises:
            NotFound: It does not exist; the hint offers near names, or says why one is not used.
        """
        view = await self._views.current(caller)
        if (found := view.by_name.get(name)) is not None:
            return found
        raise _unknown(view.packs, name)

    def follow(self, callback: Callable[[Caller, Packs], object]) -> Callable[[], None]:
        """Call a function, on the event loop, when a caller's packs are first seen and whenever they change.

        Returns:
            The function that ends this.
        """
        self._views.followers.append(callback)
        return lambda: self._views.followers.remove(callback)

    def report(self, digest: str, problem: PackProblem | None) -> None:
        """Note a problem of a pack that could be read, such as tools that cannot be loaded; None removes it."""
        if problem is None:
            self._reports.pop(digest, None)
        else:
            self._reports[digest] = problem

    async def intents(self, caller: Caller) -> tuple[IntentInfo, ...]:
        """Return every intent in use, by name, with its training lines and threshold."""
        view = await self._views.current(caller)
        trained = self._fits.get(caller.tenant, view.training_set)
        fitted = trained.fitted.thresholds if trained is not None else dict[str, float]()
        by_hand = view.standing.thresholds
        return tuple(
            IntentInfo(
                name=pack.name,
                description=pack.description,
                origin=pack.origin,
                lines=len(lines_of(pack)),
                negatives=len(negatives_of(pack)),
                fitted=fitted.get(pack.name),
                by_hand=by_hand.get(pack.name),
            )
            for pack in view.packs.active
        )

    async def thresholds(self, caller: Caller) -> dict[str, float]:
        """Return the thresholds set by hand that apply to the caller, by intent; also of intents that are gone."""
        return dict((await self._views.current(caller)).standing.thresholds)

    async def set_threshold(self, caller: Caller, name: str, value: float | None) -> None:
        """Set the least score of an intent that matches: for the tenant, or for the caller's user.

        Args:
            caller: The tenant, or the user in it, for whom it is set.
            name: The intent.
            value: 0 to 1; None restores the fitted one.

        Raises:
            InvalidInput: The value is not a probability.
            NotFound: There is no such intent, or, for None, no threshold of it.
        """
        view = await self._views.current(caller)
        if value is not None:
            _check_threshold(value)
            if name not in view.by_name:
                raise _unknown(view.packs, name)
            await run_retrying(
                self._database, caller.tenant, lambda run: queries.put_threshold(run, caller, name, value)
            )
        elif not await run_retrying(
            self._database, caller.tenant, lambda run: queries.delete_threshold(run, caller, name)
        ):
            raise NotFound(f"No threshold of '{name}' was set by hand.", hint="`thresher intents list` shows them.")
        self._views.changed(caller.tenant.id)

    async def trust(self, caller: Caller, pack: str | Path, digest: str) -> Pack:
        """Approve exactly the content that was seen of a pack that is not in use.

        Args:
            caller: The owner of this process.
            pack: Its name, or its folder or file.
            digest: `Pack.digest` of what was seen.

        Returns:
            The pack.

        Raises:
            NotAllowed: The caller does not own this process.
            NotFound: No pack that needs approval has this name or path.
            Conflict: The content has changed, or several packs have this name.
        """
        self._check_owner(caller)
        found = _held(await self._reloaded(caller), pack)
        if found.digest != digest:
            raise Conflict(
                f"The pack '{found.name}' has changed since it was looked at.",
                hint=f"Look at it again: thresher packs show {found.name}.",
            )
        path = str(found.path)
        await run_retrying(self._database, caller.tenant, lambda run: queries.put_trust(run, caller, path, digest))
        self._views.changed(caller.tenant.id)
        return found

    async def untrust(self, caller: Caller, pack: str | Path) -> None:
        """Withdraw the approval of a pack.

        Raises:
            NotAllowed: The caller does not own this process.
            NotFound: No approved pack has this name or path.
        """
        self._check_owner(caller)
        view = await self._views.current(caller)
        named = {str(found.path) for found in view.found.packs if found.name == str(pack)}
        paths = [path for path in view.standing.trusted if path == str(pack) or path in named]
        if not paths:
            raise NotFound(f"No approved pack is called '{pack}'.", hint="`thresher packs list` shows them all.")
        await run_retrying(self._database, caller.tenant, lambda run: queries.delete_trust(run, caller, paths))
        self._views.changed(caller.tenant.id)

    async def reload(self, caller: Caller) -> Packs:
        """Read the packs again, even if the file system shows no change."""
        if not self._views.is_reading(caller):
            self._cache.forget(caller.project if self._views.owns(caller) else None)
        self._views.forget(caller)
        await self._views.current(caller, patience=RELOAD_SECONDS)
        return await self.packs(caller)

    def is_reading(self, caller: Caller) -> bool:
        """Return whether the caller's packs are still being read, so that the known ones are older."""
        return self._views.is_reading(caller)

    def mark_given(self, caller: Caller, names: Iterable[str]) -> None:
        """Note that the caller's session was given the rules of some intents; never waits.

        Without a connection this counts for every session of the same user and project, for an hour.
        """
        self._log.given(caller, names)

    async def was_given(self, caller: Caller, name: str) -> bool:
        """Return whether the caller's session was given an intent's rules. Known ones are answered from memory."""
        if self._log.sessions.has(caller, name):
            return True
        session = session_of(caller)
        try:
            given = await queries.given_rules(self._database, caller, session[2], clean(caller.project), LIFE_SECONDS)
        except StoreUnavailable:  # rules given twice are better than a call that fails
            return False
        if given:
            self._log.sessions.give(session, given)
        return name in given

    def note_call(self, caller: Caller, packs: Sequence[str], tool: str = "") -> None:
        """Note that a tool of some packs was called; never waits.

        The first call after a decision is compared with it: a tool of none of its intents is a wrong-tool signal.
        """
        if packs:
            self._log.called(caller, packs, tool)

    def note_unread(self, caller: Caller, pack: str, tool: str) -> None:
        """Note that a call was answered with the pack's rules, which its session had not been given; never waits."""
        self._log.unread(caller, pack, tool)

    async def stats(self, caller: Caller, days: float = 30) -> IntentStatistics:
        """Return the log's statistics of the last days. See `IntentStatistics`.

        Raises:
            InvalidInput: The number of days is out of bounds.
        """
        active = [pack.name for pack in (await self._views.current(caller)).packs.active]
        return await measure(self._database, caller, active, days, self._log.lost)

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Remove old rows of the caller's log of decisions; returns their number.

        Args:
            caller: The tenant, or the user in it, whose rows are removed.
            older_than: Their age in days; by default that of the setting.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        return await purge(self._database, caller, self._settings.log_days if older_than is None else older_than)

    async def settle(self) -> None:
        """Wait until no router is being fitted and all log rows are written."""
        await asyncio.gather(self._fits.settle(), self._log.settle())

    async def close(self) -> None:
        """Stop the background work; before the database closes."""
        await self._fits.close()
        await self._log.settle()

    async def _reloaded(self, caller: Caller) -> Packs:
        """Return the packs as they are on disk now."""
        await self.reload(caller)
        return (await self._views.current(caller)).packs

    def _check_owner(self, caller: Caller) -> None:
        if not self._views.owns(caller):
            raise NotAllowed(
                "Packs are approved by the person who runs Thresher.",
                hint="Ask that person to run `thresher packs trust`.",
            )


def _check_threshold(value: float) -> None:
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise InvalidInput(f"{value} is not a valid threshold.", hint="Give a probability, 0 to 1.")


def _held(packs: Packs, name: str | Path) -> Pack:
    """Return the pack that waits for approval under a name or path."""
    waiting = [inert.pack for inert in packs.inert if inert.reason != "shadowed"]
    found = [pack for pack in waiting if str(pack.path) == str(name)] or [
        pack for pack in waiting if pack.name == str(name)
    ]
    if len(found) > 1:
        paths = ", ".join(str(pack.path) for pack in found)
        raise Conflict(f"'{name}' stands for {len(found)} packs.", hint=f"Name one by its path: {paths}.")
    if found:
        return found[0]
    if any(pack.name == str(name) or str(pack.path) == str(name) for pack in packs.active):
        raise NotFound(f"The pack '{name}' is in use already.")
    raise _unknown(packs, str(name))


def _unknown(packs: Packs, name: str) -> NotFound:
    waiting = next((inert for inert in packs.inert if inert.pack.name == name), None)
    if waiting is not None:
        return NotFound(f"The pack '{name}' is not in use: {waiting.reason}.", hint=waiting.hint)
    near = did_you_mean(nearest(name, [pack.name for pack in packs.active]))
    return NotFound(f"There is no pack '{name}'.", hint=near or "`thresher packs list` shows them all.")
