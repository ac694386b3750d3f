"""The verbs of the intents kind; every face calls these, with the same names and arguments.

Invariant: besides the embedding an answer waits for nothing, neither for a fit nor for its log row; a pack that is not
in use decides nothing. What the owner of this machine and its projects have in their folders, nobody else sees.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

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
from thresher.knowledge.intents.decider import Decider
from thresher.knowledge.intents.fitting_store import Fits
from thresher.knowledge.intents.journal import DecisionLog
from thresher.knowledge.intents.models import Decision, IntentInfo, Pack, PackProblem, Packs, RouterState
from thresher.knowledge.intents.question import ask
from thresher.knowledge.intents.sessions import LIFE_SECONDS, session_of
from thresher.knowledge.intents.shelf import Shelf
from thresher.knowledge.intents.sources import Sources
from thresher.knowledge.intents.statistics import IntentStatistics, measure, purge
from thresher.knowledge.intents.training import lines_of, negatives_of
from thresher.knowledge.intents.views import RELOAD_SECONDS, Views
from thresher.store import Database, SecretBox, clean, run_retrying


class IntentService:
    """Packs, and the choice of the right rules for a message. One per process.

    Args:
        database: Where fits, thresholds, approvals and the log are.
        encoder: Embeds lines and messages.
        secrets: Its key makes the hashes of messages.
        settings: How long logs are kept, and whether they hold texts.
        sources: Where packs come from, apart from projects.
        owner: Whose the packs of this machine's user and projects are.
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
        self._shelf = Shelf(sources)
        self._views = Views(database, self._shelf, owner)
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
        """Say which rules a message needs: the intents that matched, and the best others.

        Args:
            caller: Who asks.
            message: The person's words; may be empty where there are queries.
            history: The person's turns before, oldest first: "now the same for products" inherits.
            queries: What the calling model wants to do, one task each.
            files: Paths that the message is about; some packs apply by file.

        Raises:
            InvalidInput: An argument is out of bounds.
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        return await self._decider.decide(caller, ask(message, history, queries, files))

    async def explain(
        self,
        caller: Caller,
        message: str,
        *,
        history: Sequence[str] = (),
        queries: Sequence[str] | str = (),
        files: Sequence[str] = (),
    ) -> Decision:
        """The same with the scores of all intents, each with its best line; nothing is recorded.

        Waits for the router where it is being fitted. Arguments and errors as for `route`.
        """
        return await self._decider.decide(caller, ask(message, history, queries, files), explain=True)

    async def prepare(self, caller: Caller) -> None:
        """See to it that the caller's router is at hand: read it, or fit it; its failure shows in decisions."""
        view = await self._views.current(caller)
        await self._fits.wait(caller.tenant, view.lesson)

    async def router(self, caller: Caller) -> RouterState:
        """What the router that decides for the caller rests on, once the fit that may be under way is done."""
        view = await self._views.current(caller)
        trained = await self._fits.wait(caller.tenant, view.lesson)
        training = view.lesson.training
        return RouterState(
            intents=len(training.intents),
            lines=len(training.lines),
            negatives=len(training.negatives),
            basis=trained.fitted.basis if trained is not None else "words",
            stored=trained is not None and trained.stored,
            embedded=trained.embedded if trained is not None else 0,
            fit_ms=trained.fit_ms if trained is not None else 0.0,
            problem=self._fits.problem(view.lesson),
        )

    async def packs(self, caller: Caller) -> Packs:
        """The packs that the caller sees, used and not, with what is wrong."""
        packs = (await self._views.current(caller)).packs
        reported = tuple(problem for pack in packs.active if (problem := self._reports.get(pack.digest)) is not None)
        return replace(packs, problems=(*packs.problems, *reported)) if reported else packs

    async def pack(self, caller: Caller, name: str) -> Pack:
        """An active pack by name.

        Raises:
            NotFound: There is none; the hint offers near names, or says why one is not used.
        """
        view = await self._views.current(caller)
        if (found := view.by_name.get(name)) is not None:
            return found
        raise _unknown(view.packs, name)

    def follow(self, told: Callable[[Caller, Packs], object]) -> Callable[[], None]:
        """Have it told, on the event loop, when a caller's packs are first seen and whenever they are others.

        Returns:
            What ends that.
        """
        self._views.followers.append(told)
        return lambda: self._views.followers.remove(told)

    def report(self, digest: str, problem: PackProblem | None) -> None:
        """Note what is wrong with a pack that was read well, such as tools that cannot be loaded; None: nothing is."""
        if problem is None:
            self._reports.pop(digest, None)
        else:
            self._reports[digest] = problem

    async def intents(self, caller: Caller) -> tuple[IntentInfo, ...]:
        """Every intent in use, by name: how it is taught, and from which score on it matches."""
        view = await self._views.current(caller)
        trained = self._fits.get(caller.tenant, view.lesson)
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
        """The thresholds set by hand that hold for the caller, by intent; of intents that are gone too."""
        return dict((await self._views.current(caller)).standing.thresholds)

    async def set_threshold(self, caller: Caller, name: str, value: float | None) -> None:
        """Say from which score on an intent matches: for the tenant, or for the one user that the caller stands for.

        Args:
            caller: Who says so.
            name: The intent.
            value: 0 to 1; None lets the fitted one hold again.

        Raises:
            InvalidInput: The value is no probability.
            NotFound: There is no such intent, or, for None, no threshold of it.
        """
        if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
            raise InvalidInput(f"{value} is no threshold.", hint="Give a probability, 0 to 1.")
        view = await self._views.current(caller)
        if value is not None:
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
            Conflict: The content is another one by now, or the name stands for several packs.
        """
        self._check_owner(caller)
        found = _held(await self._looked(caller), pack)
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
        """Take the approval of a pack back.

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
        """Read the packs again, whatever the file system says of them."""
        if not self._views.is_reading(caller):
            self._shelf.forget(caller.project if self._views.owns(caller) else None)
        self._views.forget(caller)
        await self._views.current(caller, patience=RELOAD_SECONDS)
        return await self.packs(caller)

    def is_reading(self, caller: Caller) -> bool:
        """Whether the files of the caller's packs are still being read, so that what is known of them is older."""
        return self._views.is_reading(caller)

    def mark_given(self, caller: Caller, names: Iterable[str]) -> None:
        """Note that the caller's session has been given the rules of some intents; never waits.

        Without a connection this counts for every session of the same user and project, for an hour.
        """
        self._log.given(caller, names)

    async def was_given(self, caller: Caller, name: str) -> bool:
        """Whether the caller's session has been given an intent's rules. Known ones are answered from memory."""
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
        """What the log says of the last days. See `IntentStatistics`.

        Raises:
            InvalidInput: The number of days is out of bounds.
        """
        active = [pack.name for pack in (await self._views.current(caller)).packs.active]
        return await measure(self._database, caller, active, days, self._log.lost)

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Remove old rows of the caller's log of decisions; returns how many.

        Args:
            caller: Whose rows.
            older_than: Their age in days; that of the setting unless told.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        return await purge(self._database, caller, self._settings.log_days if older_than is None else older_than)

    async def settle(self) -> None:
        """Wait until no router is being fitted and all log rows are written."""
        await asyncio.gather(self._fits.settle(), self._log.settle())

    async def close(self) -> None:
        """End what runs behind the answers; before the database closes."""
        await self._fits.close()
        await self._log.settle()

    async def _looked(self, caller: Caller) -> Packs:
        """The packs as they lie on the disk this very moment."""
        await self.reload(caller)
        return (await self._views.current(caller)).packs

    def _check_owner(self, caller: Caller) -> None:
        if not self._views.owns(caller):
            raise NotAllowed(
                "Packs are approved by the person who runs Thresher.",
                hint="Ask that person to run `thresher packs trust`.",
            )


def _held(packs: Packs, name: str | Path) -> Pack:
    """The pack that waits for approval under a name or path."""
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
