"""Which of the packs that were found are used: trust, danger and name clashes.

Invariant: pure. A pack of a project does nothing until a person has approved exactly its content, and a pack that is
not used never hides one that is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from thresher.knowledge.intents.models import Found, Inert, Pack, PackProblem, Packs


def assemble(found: Found, approved: Mapping[str, str]) -> Packs:
    """Sort packs into those in use and those that are not.

    Args:
        found: What lies in the places, origins that win a name clash later.
        approved: The digest that a person has approved, by a pack's path.

    Returns:
        The packs in use by name, the others with the reason, and all problems.
    """
    winners: dict[str, Pack] = {}
    inert: list[Inert] = []
    problems = list(found.problems)
    for pack in found.packs:
        if (refused := _refused(pack, approved)) is not None:
            inert.append(refused)
            continue
        if (loser := winners.get(pack.name)) is not None:
            pack, loser = _ranked(pack, loser)
            inert.append(Inert(loser, "shadowed", f"Rename one of the two; '{pack.path}' is used."))
            if pack.digest != loser.digest:
                problems.append(_clash(pack, loser))
        winners[pack.name] = pack
    active = tuple(winners[name] for name in sorted(winners))
    return Packs(active, tuple(inert), tuple(problems), digest_of_packs(active))


def digest_of_packs(packs: Iterable[Pack]) -> str:
    """SHA-256 in hex over the names and digests of packs, in their order: names what a router was fitted on."""
    digest = hashlib.sha256()
    for pack in packs:
        digest.update(f"{pack.name} {pack.form} {pack.digest}\n".encode())
    return digest.hexdigest()


def is_dangerous(pack: Pack) -> bool:
    """Whether the scanner calls any text of it dangerous."""
    return any(finding.severity == "danger" for finding in pack.findings)


def _refused(pack: Pack, approved: Mapping[str, str]) -> Inert | None:
    """Why a pack is not used; None where it is."""
    known = approved.get(str(pack.path))
    if known == pack.digest:
        return None
    if is_dangerous(pack):
        why = next(finding.why for finding in pack.findings if finding.severity == "danger")
        return Inert(pack, "poisoned", f"{why} Read it; if it is harmless: thresher packs trust {pack.name}.")
    if pack.origin != "project":
        return None
    if known is not None:
        return Inert(pack, "changed", f"Look at what changed, then: thresher packs trust {pack.name}.")
    return Inert(pack, "untrusted", f"Read it, then: thresher packs trust {pack.name}.")


def _ranked(new: Pack, old: Pack) -> tuple[Pack, Pack]:
    """The winner and the loser: by origin the later one, inside one origin the earlier one."""
    return (new, old) if new.origin != old.origin else (old, new)


def _clash(winner: Pack, loser: Pack) -> PackProblem:
    if winner.origin == loser.origin:
        message = f"It has the name '{loser.name}' of another pack, '{winner.path}', and is not used."
    else:
        message = f"It is not used: '{loser.name}' of the {winner.origin}, '{winner.path}', takes its place."
    return PackProblem(loser.path, message, "Rename one of the two.", severity="warning")
