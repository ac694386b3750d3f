"""Skills of others: which one a message gets.

`THRESHER_SKILLS` names a folder of Agent Skills (folders with a `SKILL.md`, of whatever authors), and
`THRESHER_SKILLS_CASES` a file of JSON lines: `message`, and `skill`, the name of the one that is meant, or null if none
is. Without both the benchmark is left out. The folder is used as the setting `THRESHER_PACKS` uses one: read, scanned,
fitted and, beside the built-in packs, given by `process_prompt`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import machine, product
from thresher.app import App
from thresher.core import Caller
from thresher.evaluation.metrics import wilson


@dataclass(frozen=True, slots=True)
class Answer:
    """What one message got.

    Attributes:
        message: The message.
        meant: The skill that it is for; empty if none is.
        given: The packs whose rules it got, best first.
        score: Of the best skill, matched or not.
    """

    message: str
    meant: str
    given: tuple[str, ...]
    score: float

    @property
    def first(self) -> bool:
        """Whether the skill that is meant was given first."""
        return self.given[:1] == (self.meant,)


async def run() -> dict[str, Any]:
    """Ask all messages and save the figures."""
    folder, cases = (os.environ.get(name, "") for name in ("THRESHER_SKILLS", "THRESHER_SKILLS_CASES"))
    if not folder or not cases:
        print("skills: left out; THRESHER_SKILLS and THRESHER_SKILLS_CASES name the folder and the messages.")
        return {}
    rows = _rows(Path(cases))
    async with product.opened(packs=(Path(folder),), home_packs="off") as app:
        caller = Caller(await app.services.database.tenant("local"))
        packs = await app.services.intents.packs(caller)
        skills = frozenset(pack.name for pack in packs.active if pack.origin == "configured")
        answers = await _answers(app, caller, rows, skills)
    figures: dict[str, Any] = {
        "skills": len(skills),
        "not_in_use": sorted(one.pack.name for one in packs.inert if one.pack.origin == "configured"),
        **_figures(answers, skills),
    }
    print(json.dumps(_wrong(answers, skills), indent=1, ensure_ascii=False))
    print(json.dumps(figures, indent=1), machine.save("skills", figures), flush=True)
    return figures


def _rows(cases: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines() if line.strip()]


async def _answers(app: App, caller: Caller, rows: Sequence[dict[str, Any]], skills: AbstractSet[str]) -> list[Answer]:
    """Ask with the fitted router, as a client does."""
    intents, context = app.services.intents, app.services.context
    await intents.prepare(caller)
    await intents.settle()
    answers: list[Answer] = []
    for row in rows:
        prompt = await context.process_prompt(caller, row["message"])
        if prompt.decision.degraded:
            raise RuntimeError(f"The router is not fitted: {prompt.decision.degraded}.")
        scores = [score.score for score in prompt.decision.scores if score.intent in skills]
        given = tuple(rule.intent for rule in prompt.rules)
        answers.append(Answer(row["message"], row["skill"] or "", given, round(max(scores, default=0.0), 4)))
    return answers


def _figures(answers: Sequence[Answer], skills: AbstractSet[str]) -> dict[str, Any]:
    """Shares with Wilson's intervals at 95 %."""
    meant = [answer for answer in answers if answer.meant]
    foreign = [answer for answer in answers if not answer.meant]
    return {
        "messages": len(meant),
        "foreign": len(foreign),
        "right_first": _share(sum(answer.first for answer in meant), len(meant)),
        "right_given": _share(sum(answer.meant in answer.given for answer in meant), len(meant)),
        "nothing_given": _share(sum(not answer.given for answer in meant), len(meant)),
        "given_mean": round(sum(len(answer.given) for answer in meant) / max(len(meant), 1), 3),
        "wrongly_taken": _share(sum(not skills.isdisjoint(answer.given) for answer in foreign), len(foreign)),
    }


def _wrong(answers: Sequence[Answer], skills: AbstractSet[str]) -> list[str]:
    """What went wrong, for people to read: it is not saved."""
    return [
        f"{answer.message} | {answer.meant or 'none'} | {', '.join(answer.given) or 'nothing'} | {answer.score}"
        for answer in answers
        if (not answer.first if answer.meant else not skills.isdisjoint(answer.given))
    ]


def _share(part: int, whole: int) -> dict[str, Any]:
    share = part / max(whole, 1)
    return {"share": round(share, 4), "interval": [round(bound, 3) for bound in wilson(share, whole)]}
