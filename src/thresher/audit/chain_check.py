"""Verifies a chain link by link.

Invariant: pure; links come in the order of the chain. A deviation is fatal unless a link made with the key explains it:
pruning, or a restart after trouble, is reported and not fatal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from thresher.audit.anchors import Anchor
from thresher.audit.links import NOTHING, ChainHead, ChainLink, Signer, name_head
from thresher.audit.records import AuditProblem, Verification

_SHOWN: Final = 50
"""Problems of one kind that are listed individually."""


@dataclass(frozen=True, slots=True)
class ChainFrame:
    """What is known of a chain before its links are read.

    Attributes:
        tenant: The tenant of the chain.
        head: The stored head; None without one.
        last: The position of the last stored link; 0 without any.
        statements: Links about the log itself, in order.
        anchor: The note beside the database; None without one.
        expected: A head that a person has noted: position and hash; None if none was given.
    """

    tenant: int
    head: ChainHead | None
    last: int
    statements: tuple[ChainLink, ...] = ()
    anchor: Anchor | None = None
    expected: tuple[int, bytes] | None = None


class ChainCheck:
    """One pass over a chain, from the first link that was not pruned.

    Args:
        signer: Knows the key.
        frame: What is known before.

    Attributes:
        pruned: The last link that was pruned; 0 if none was.
    """

    def __init__(self, signer: Signer, frame: ChainFrame) -> None:
        self.pruned = 0
        self._signer = signer
        self._frame = frame
        self._restarted = 0
        self._links = self._decisions = 0
        self._hash = NOTHING
        self._open: dict[int, None] = {}
        self._ended: set[int] = set()
        self._problems: list[AuditProblem] = []
        self._counts: Counter[str] = Counter()
        for link in frame.statements:
            if signer.fits(link) and link.content.subject is not None:
                self._believe(link, link.content.subject)
        self._place = self.pruned
        self._noted = _noted(frame)

    def _believe(self, link: ChainLink, subject: int) -> None:
        """Take account of a link about the log itself."""
        if link.content.kind == "pruned":
            self.pruned, self._hash = subject, bytes.fromhex(link.content.note)
            self._resolve("pruned", link.id, f"The links up to {subject} were pruned, as this link says.", fatal=False)
        else:
            self._restarted = link.id
            text = "A new beginning was made here: what is wrong before it is known, and no longer fatal."
            self._resolve("restarted", link.id, text, fatal=False)

    def read(self, links: Iterable[ChainLink]) -> None:
        """Check the next links."""
        for link in links:
            self._follow(link)
            self._judge(link)
            self._pair(link)
            for kind, place, digest in self._noted:
                if place == link.id and digest != link.hash:
                    self._resolve(kind, place, "Another link was noted for this place.", fatal=True)
            self._place, self._hash = link.id, link.hash
            self._links += 1

    def end(self) -> Verification:
        """Compare the end with the head and with notes made elsewhere; returns the result."""
        self._end_head()
        self._end_noted()
        for place in self._open:
            text = "The statement has no outcome: it still runs, or its process ended under it."
            self._resolve("without outcome", place, text, fatal=False)
        for kind, count in self._counts.items():
            if count > _SHOWN:
                text = f"There are {count - _SHOWN:,} more of the kind '{kind}'."
                self._problems.append(
                    AuditProblem(kind, 0, text, any(p.fatal for p in self._problems if p.kind == kind))
                )
        anchor = self._frame.anchor
        return Verification(
            links=self._links,
            entries=self._decisions,
            head=name_head(self._place, self._hash) if self._links else "0:",
            anchored=0 if anchor is None else anchor.id,
            problems=tuple(sorted(self._problems, key=lambda problem: (not problem.fatal, problem.id))),
        )

    def _follow(self, link: ChainLink) -> None:
        """Return whether the link is in its position, behind the one that it was made for."""
        if link.id != self._place + 1:
            missing = f"links {self._place + 1} to {link.id - 1}"
            self._resolve("gap", link.id, f"What stood before link {link.id} is missing: {missing}.", fatal=True)
        elif link.previous != self._hash:
            self._resolve("order", link.id, "The link was not made for the one before it.", fatal=True)

    def _judge(self, link: ChainLink) -> None:
        """Return whether the link is unchanged."""
        if link.key != self._signer.key:
            self._resolve("foreign", link.id, "The link was made with another key.", fatal=True)
        elif not self._signer.fits(link):
            self._resolve("changed", link.id, "The link is not as it was written.", fatal=True)

    def _pair(self, link: ChainLink) -> None:
        """Match decisions and outcomes."""
        content = link.content
        if content.kind == "decision":
            self._decisions += 1
            if content.allowed:
                self._open[link.id] = None
        elif content.kind == "outcome" and content.subject is not None and content.subject > self.pruned:
            if content.subject in self._ended:
                self._resolve("outcome", link.id, f"Decision {content.subject} has a second outcome.", fatal=False)
            elif content.subject not in self._open:
                text = f"The outcome's decision {content.subject} is not there, or was a refusal."
                self._resolve("outcome", link.id, text, fatal=False)
            self._open.pop(content.subject, None)
            self._ended.add(content.subject)

    def _end_head(self) -> None:
        head = self._frame.head
        if head is None:
            if self._frame.last:
                self._resolve("head", 0, "The chain has lost its head, which says where it ends.", fatal=True)
            return
        if not self._signer.seals(self._frame.tenant, head):
            self._resolve("head", 0, "The head is not as it was written.", fatal=True)
        if self._place < head.id:
            text = f"The chain ends with link {self._place}; its head says {head.id}: the tail was cut."
            self._resolve("cut tail", 0, text, fatal=True)
        elif self._frame.last > head.id:
            text = f"The chain ends with link {self._frame.last}; its head says {head.id}: links were added, or the "
            self._resolve("added", 0, f"{text}head was taken back.", fatal=True)
        elif self._links and self._hash != head.hash:
            self._resolve("head", 0, "The head names another last link than the chain has.", fatal=True)

    def _end_noted(self) -> None:
        for kind, place, _ in self._noted:
            if place > self._place:
                text = f"ChainLink {place} was written and is gone: the chain was taken back to {self._place}."
                self._resolve(kind, place, text, fatal=True)
            elif 0 < place <= self.pruned:
                self._resolve(kind, place, "The noted link was pruned, so nothing can be said of it.", fatal=False)
        if (anchor := self._frame.anchor) is not None and anchor.tenant != self._frame.tenant:
            text = "The note beside the database is of an earlier tenant of this name, which was removed with its log."
            self._resolve("anchor", 0, text, fatal=True)

    def _resolve(self, kind: str, place: int, text: str, *, fatal: bool) -> None:
        self._counts[kind] += 1
        if self._counts[kind] <= _SHOWN:
            known = 0 < place <= self._restarted
            self._problems.append(AuditProblem(kind, place, text, fatal and not known))


def _noted(frame: ChainFrame) -> list[tuple[str, int, bytes]]:
    """Yield notes made outside of the chain: their origin, the position, the hash."""
    noted: list[tuple[str, int, bytes]] = []
    if frame.anchor is not None:
        noted.append(("anchor", frame.anchor.id, frame.anchor.hash))
    if frame.expected is not None:
        noted.append(("expected", *frame.expected))
    return noted
