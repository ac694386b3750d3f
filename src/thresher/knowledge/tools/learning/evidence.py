"""What earlier use says about a message: for each tool, what is added to its score in the ranking.

A use counts for messages whose vectors are like its own, the more the nearer; below `LIKE` it says nothing, so a
message that is like none gains and loses nothing. Uses of one voter are added up and squashed: a hundred calls say
hardly more than one. The squash does not raise what counts less: however often a tool was passed over, it loses at
most `PASSED` of what failed calls take from it. A voter's own history counts in full. Of other voters the second
strongest say counts, which is what two of them agree on. One key can therefore lend weight to what another has done,
and no more.

Invariant: pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.tools.models import Use
from thresher.search import Bools, Floats, Ids, LearnedScores

LIKE: Final = 0.78
"""The cosine from which a message is like another: of pairs of messages for different tools about one in a thousand is
as near. Where four in a thousand were, messages for tools that were never used lost a little."""
HALF: Final = 0.3
"""Uses, after likeness and age, at which a voter's say is tanh(1), 76 %, of its most; one same message says all."""
OWN: Final = 6.0
"""The most that a voter's own uses add to a score; a step of 1 is a cosine of 0.036."""
OTHERS: Final = 4.0
"""The most that other voters' uses add; what they passed over or saw fail takes nothing away."""
PASSED: Final = 0.3
"""How much being passed over counts against a tool, and takes from it at most; a successful use counts 1."""
FAILED: Final = 1.0
"""How much a failed call counts against a tool, if another tool was then used."""
SEARCHED_AGAIN: Final = 0.5
"""How much a use counts for a like message before, if the client searched again, and adds for it at most."""
_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Uses as columns.

    A use has several votes: one for the tool that was called, and some against others.

    Attributes:
        vectors: float32 (uses, dimension).
        at: float64 (uses,), in seconds since 1970, ascending.
        vote_use: int64 (votes,), ascending, the use of each vote.
        vote_tool: int64 (votes,), the tool.
        vote_voter: int64 (votes,), the place of its voter.
        vote_weight: float32 (votes,), negative if it is against the tool.
        voters: The places of the voters by name.
    """

    vectors: Floats
    at: NDArray[np.float64]
    vote_use: Ids
    vote_tool: Ids
    vote_voter: Ids
    vote_weight: Floats
    voters: Mapping[str, int]

    def __len__(self) -> int:
        """The number of uses."""
        return len(self.at)

    def first(self, count: int) -> Evidence:
        """Return the oldest uses alone."""
        end = int(np.searchsorted(self.vote_use, count))
        return Evidence(
            self.vectors[:count],
            self.at[:count],
            self.vote_use[:end],
            self.vote_tool[:end],
            self.vote_voter[:end],
            self.vote_weight[:end],
            self.voters,
        )


def evidence_of(uses: Sequence[Use]) -> Evidence:
    """Turn uses of one model, oldest first, into columns."""
    voters: dict[str, int] = {}
    votes: list[tuple[int, int, int, float]] = []
    for number, use in enumerate(uses):
        voter = voters.setdefault(use.voter, len(voters))
        votes.append((number, use.tool_id, voter, use.weight))
        votes += [(number, tool, voter, -PASSED * use.weight) for tool in use.passed]
        votes += [(number, tool, voter, -FAILED * use.weight) for tool in use.failed]
    dimension = len(uses[0].vector) // 2 if uses else 0
    vectors = np.frombuffer(b"".join(use.vector for use in uses), np.float16).astype(np.float32)
    use, tool, voter, weight = zip(*votes, strict=True) if votes else ((), (), (), ())
    return Evidence(
        vectors.reshape(len(uses), dimension),
        np.array([one.at.timestamp() for one in uses], np.float64),
        np.array(use, np.int64),
        np.array(tool, np.int64),
        np.array(voter, np.int64),
        np.array(weight, np.float32),
        voters,
    )


def learned_scores(
    vectors: Floats, evidence: Evidence, asking: str, now: float, half_life_days: float
) -> LearnedScores | None:
    """Return what uses say about some texts; None if they say nothing.

    Args:
        vectors: float32 (texts, dimension), of length 1.
        evidence: The uses, of the same model.
        asking: The voter who asks.
        now: Seconds since 1970.
        half_life_days: The age at which a use counts half.
    """
    likeness = ((vectors @ evidence.vectors.T - LIKE) / (1 - LIKE)).clip(0, 1)
    near: Bools = np.asarray(likeness.max(axis=0) > 0)
    if not near.any():
        return None
    ages = np.maximum(now - evidence.at, 0.0) / (_DAY * half_life_days)
    votes = np.flatnonzero(near[evidence.vote_use])
    use, weight = evidence.vote_use[votes], evidence.vote_weight[votes]
    tools, tool = np.unique(evidence.vote_tool[votes], return_inverse=True)
    voters, voter = np.unique(evidence.vote_voter[votes], return_inverse=True)
    amounts = (likeness[:, use] * 0.5 ** ages[use]).T
    says = np.zeros((len(tools), max(len(voters), 2), len(vectors)))
    says[:, : len(voters)] = _says(amounts, weight, tool, voter, (len(tools), len(voters), len(vectors)))
    own: Bools = np.asarray(voters == evidence.voters.get(asking, -1))
    added = OWN * says[:, : len(voters)][:, own].sum(axis=1)
    says[:, : len(voters)][:, own] = 0.0
    agreed = OTHERS * np.partition(says, -2, axis=1)[:, -2].clip(min=0.0)
    added += agreed
    said = added.any(axis=1)
    if not said.any():
        return None
    agree: Bools = np.asarray(agreed.any(axis=1))
    counted: Bools = np.asarray((weight > 0) & (own[voter] | agree[tool]))
    uses = np.bincount(tool[counted], minlength=len(tools))
    return LearnedScores(tools[said], added[said].T.astype(np.float32), uses[said])


def _says(
    amounts: NDArray[np.float64], weight: Floats, tool: Ids, voter: Ids, shape: tuple[int, int, int]
) -> NDArray[np.float64]:
    """What each voter says about each tool, between -1 and 1.

    The weighted sum is squashed, and kept within what votes of that strength may say at most.

    Args:
        amounts: float64 (votes, texts), likeness times age.
        weight: float32 (votes,), negative against the tool.
        tool: int64 (votes,), the place of the tool.
        voter: int64 (votes,), the place of the voter.
        shape: Tools, voters, texts.
    """

    def squashed(weights: NDArray[np.float32 | np.bool_]) -> NDArray[np.float64]:
        sums = np.zeros(shape)
        np.add.at(sums, (tool, voter), amounts * weights[:, None])
        return np.tanh(sums / HALF)

    most = SEARCHED_AGAIN * squashed(weight > 0) + (1 - SEARCHED_AGAIN) * squashed(weight > SEARCHED_AGAIN)
    least = PASSED * squashed(weight < 0) + (FAILED - PASSED) * squashed(weight < -PASSED)
    return squashed(weight).clip(-least, most)
