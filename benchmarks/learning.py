"""Learning from use, simulated: `python -m benchmarks learning`.

Ten users of one tenant, whose activity follows Zipf's law, work with MetaTool's tools. Each prefers tools by Zipf's law
in an order of their own, and for a tool some messages, by the same law. They search, and call a tool of the answer: the
one that is needed, or in one call of ten a wrong one. If the answer lacks the needed tool, they search once more with
another message for it, or give up. After 500 calls learning is switched on, and each of them goes on.

A fifth of the tools is never used, and of each tool half of the messages. The constants were chosen on the messages
whose SHA-256 begins with an even byte; these figures are of the others.

`python -m benchmarks training` lets the same users work, trains on their log or on examples of the half of messages
that they use, and asks what they ask next, new messages, and messages for tools that nobody has used.
"""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks import data, machine, product
from benchmarks.scores import lead
from thresher.core import Caller
from thresher.knowledge.tools import FindResult
from thresher.knowledge.tools.learning.evidence import evidence_of, learned_scores
from thresher.knowledge.tools.models import Use
from thresher.knowledge.tools.queries import MOST_USES
from thresher.services import Services

USERS: Final = 10
CALLS: Final = 500
WRONG: Final = 0.1
UNUSED: Final = 0.2
WORLDS: Final = 5
ASKED: Final = 250
"""Messages of each kind that are asked in a world."""
ATTACKS: Final = 250
WRONG_TOOLS: Final = 3
"""Searches of the hostile key, and the wrong tools that it calls after each."""
HOSTILE: Final = USERS - 1
DIMENSION: Final = 384
NEAR: Final = 40
"""Uses that are like the text, of those in the measurement of speed."""
RUNS: Final = 500
KINDS: Final = ("next", "new", "unseen")
_WHEN: Final = ("before", "after")
MEASURES: Final = ("delivered", "first_five", "first")


@dataclass(frozen=True, slots=True)
class Asked:
    """A message of a user, and the tool that it needs."""

    user: int
    tool: str
    message: str


def messages(*, even: bool) -> dict[str, list[str]]:
    """MetaTool's messages by tool, each once: of one half of them. What is asked of several tools is left out."""
    known = {tool.name for tool in data.metatool_multi().tools}
    texts: dict[str, str] = {}
    tools: dict[str, set[str]] = {}
    path = data.folder() / "metatool" / "all_clean_data.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = " ".join(row["Query"].lower().split())
            if row["Tool"] in known and (hashlib.sha256(key.encode()).digest()[0] % 2 == 0) == even:
                texts.setdefault(key, row["Query"])
                tools.setdefault(key, set()).add(row["Tool"])
    found: dict[str, list[str]] = {}
    for key, owners in tools.items():
        if len(owners) == 1:
            found.setdefault(next(iter(owners)), []).append(texts[key])
    return found


class World:
    """Users with their habits, drawn with a seed."""

    def __init__(self, texts: Mapping[str, Sequence[str]], seed: int) -> None:
        self.random = np.random.default_rng(seed)
        tools = [str(tool) for tool in self.random.permutation(sorted(tool for tool in texts if len(texts[tool]) > 1))]
        unused = int(len(tools) * UNUSED)
        self._unused, self._used = tools[:unused], tools[unused:]
        self._in_use: dict[str, list[str]] = {}
        self._spare: dict[str, list[str]] = {}
        for tool in tools:
            shuffled = [str(text) for text in self.random.permutation(texts[tool])]
            self._in_use[tool], self._spare[tool] = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
        # Users share a taste: each one's order of the tools is the common one, shaken.
        shared = np.log(1 + np.arange(len(self._used)))
        self._tastes = [
            _zipf(np.argsort(np.argsort(shared + self.random.normal(size=len(shared))))) for _ in range(USERS)
        ]
        self._habits = [
            {tool: [str(text) for text in self.random.permutation(self._in_use[tool])] for tool in self._used}
            for _ in range(USERS)
        ]
        self._activity = _zipf(np.arange(USERS))

    def next(self) -> Asked:
        """What some user asks next."""
        user = int(self.random.choice(USERS, p=self._activity))
        tool = self._used[int(self.random.choice(len(self._used), p=self._tastes[user]))]
        habits = self._habits[user][tool]
        return Asked(user, tool, habits[int(self.random.choice(len(habits), p=_zipf(np.arange(len(habits)))))])

    def new(self) -> Asked:
        """The same with a message that nobody has used."""
        return self._spared(self.next().tool)

    def unseen(self) -> Asked:
        """A message for a tool that nobody has used."""
        return self._spared(self._unused[int(self.random.integers(len(self._unused)))])

    def examples(self, most: int) -> list[dict[str, object]]:
        """Some messages in use for each tool in use, as a file for training has them."""
        return [{"query": text, "relevant": [tool]} for tool in self._used for text in self._in_use[tool][:most]]

    def again(self, asked: Asked) -> Asked:
        """The same need in other words."""
        texts = self._in_use[asked.tool]
        return Asked(asked.user, asked.tool, texts[int(self.random.integers(len(texts)))])

    def _spared(self, tool: str) -> Asked:
        user = int(self.random.choice(USERS, p=self._activity))
        return Asked(user, tool, self._spare[tool][int(self.random.integers(len(self._spare[tool])))])


def _zipf(ranks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    weights = 1.0 / (1.0 + ranks)
    return weights / weights.sum()


class Simulation:
    """One world inside a tenant of the product."""

    def __init__(self, services: Services, owner: Caller, ids: Mapping[str, int], world: World) -> None:
        self._services = services
        self._owner = owner
        self._ids = ids
        self.world = world
        self.seen: set[tuple[int, str]] = set()
        self._plain = services.tools.for_measuring()

    def _caller(self, user: int) -> Caller:
        return Caller(self._owner.tenant, f"user{user}", f"client{user}")

    async def _find(self, asked: Asked) -> list[str]:
        return (await self._answer(asked))[0]

    async def _answer(self, asked: Asked, *, learned: bool = True) -> tuple[list[str], bool]:
        """The tools of an answer at the usual budget by their own names, best first; whether use has changed scores."""
        tools = self._services.tools if learned else self._plain
        found: FindResult = await tools.find_tools(
            self._caller(asked.user), message=asked.message, include_core_tools=False
        )
        return [tool.tool.name for tool in found.tools], any(tool.why.learned for tool in found.tools)

    def _call(self, user: int, tool: str) -> None:
        self._services.tools.calls.add(
            self._caller(user), name=tool, tool_id=self._ids[tool], state="ok", duration_ms=1.0, trace_id=""
        )

    async def work(self, most: int = CALLS) -> dict[str, int]:
        """Let the users work for some calls; returns how many messages that took, and how often they asked again."""
        calls = asked_messages = again = 0
        while calls < most:
            asked = self.world.next()
            asked_messages += 1
            self.seen.add((asked.user, asked.message))
            offered = await self._find(asked)
            if asked.tool not in offered:
                again += 1
                offered = await self._find(self.world.again(asked))
            if asked.tool not in offered:
                continue
            wrong = [tool for tool in offered[:6] if tool != asked.tool]
            is_wrong = bool(wrong) and self.world.random.random() < WRONG
            self._call(asked.user, wrong[int(self.world.random.integers(len(wrong)))] if is_wrong else asked.tool)
            calls += 1
        await self._services.tools.settle()
        return {"calls": calls, "messages": asked_messages, "asked_again": again}

    async def attack(self) -> None:
        """Let one key, which knows what the others ask, call wrong tools after the same messages."""
        done = 0
        while done < ATTACKS:
            asked = self.world.next()
            if asked.user == HOSTILE:
                continue
            done += 1
            hostile = Asked(HOSTILE, asked.tool, asked.message)
            offered = await self._find(hostile)
            for tool in [tool for tool in offered if tool != asked.tool][:WRONG_TOOLS]:
                self._call(HOSTILE, tool)
        await self._services.tools.settle()

    async def measure(self, asked: Sequence[Asked], *, learned: bool = True) -> np.ndarray[Any, Any]:
        """(messages, 4): whether the needed tool was delivered, among the first five, first; whether use counted."""
        rows: list[tuple[bool, bool, bool, bool]] = []
        for one in asked:
            found, changed = await self._answer(one, learned=learned)
            rows.append((one.tool in found, one.tool in found[:5], one.tool in found[:1], changed))
        return np.array(rows, np.float64)


async def _one_world(
    services: Services, texts: Mapping[str, Sequence[str]], seed: int, collected: dict[str, list[Any]]
) -> None:
    bench = data.metatool_multi()
    async with product.pool(services, f"learning-{seed}", bench.tools, {}) as owner:
        async with services.database.transaction(owner.tenant) as connection:
            rows = await connection.exec_driver_sql("select name, id from tool")
            ids = {str(name): int(number) for name, number in rows}
        run = Simulation(services, owner, ids, World(texts, seed))
        await services.tools.learning.decide(owner, "shadow")
        collected["work"].append(await run.work())
        collected["replay"].append(await services.tools.learning.replay(owner))
        asked = {kind: [getattr(run.world, kind)() for _ in range(ASKED)] for kind in KINDS}
        collected["seen"] += [(one.user, one.message) in run.seen for one in asked["next"]]
        before = {kind: await run.measure(asked[kind], learned=False) for kind in KINDS}
        await services.tools.learning.decide(owner, "on")
        after = {kind: await run.measure(asked[kind]) for kind in KINDS}
        for kind in KINDS:
            collected[f"{kind} before"].append(before[kind])
            collected[f"{kind} after"].append(after[kind])
        others = np.array([one.user != HOSTILE for one in asked["next"]])
        await services.tools.learning.decide(owner, "shadow")
        await run.attack()
        await services.tools.learning.decide(owner, "on")
        poisoned = await run.measure([one for one in asked["next"] if one.user != HOSTILE])
        collected["clean"].append(after["next"][others])
        collected["poisoned"].append(poisoned)


def _compared(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Each measure before and after, with the paired difference."""
    return {
        name: {
            "before": round(float(before[:, column].mean()), 4),
            "after": round(float(after[:, column].mean()), 4),
            **lead(after[:, column], before[:, column]),
        }
        for column, name in enumerate(MEASURES)
    }


async def run() -> dict[str, Any]:
    """Simulate some worlds, and save the figures."""
    texts = messages(even=False)
    collected: dict[str, list[Any]] = {
        name: []
        for name in ("work", "replay", "seen", "clean", "poisoned", *(f"{k} {w}" for k in KINDS for w in _WHEN))
    }
    figures: dict[str, Any] = {}
    async with product.running(learning="shadow", query_cache_size=20_000, query_cache_seconds=100_000) as services:
        for seed in range(WORLDS):
            started = time.perf_counter()
            await _one_world(services, texts, seed, collected)
            figures = _figures(collected)
            print(f"world {seed}: {time.perf_counter() - started:.0f} s", figures, flush=True)
            machine.save("learning", figures)
    return figures


def _figures(collected: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The figures of all worlds so far."""
    columns = {name: np.concatenate(collected[name]) for name in collected if " " in name}
    seen = np.array(collected["seen"])
    like = columns["unseen after"][:, 3] > 0
    clean, poisoned = np.concatenate(collected["clean"]), np.concatenate(collected["poisoned"])
    replays = collected["replay"]
    return {
        "worlds": len(replays),
        "users": USERS,
        "calls": CALLS,
        "asked_of_each_kind": len(seen),
        "messages_mean": round(float(np.mean([one["messages"] for one in collected["work"]])), 1),
        "asked_again_mean": round(float(np.mean([one["asked_again"] for one in collected["work"]])), 1),
        "repeated_share": round(float(seen.mean()), 4),
        **{kind: _compared(columns[f"{kind} before"], columns[f"{kind} after"]) for kind in KINDS},
        "repeated": _compared(columns["next before"][seen], columns["next after"][seen]),
        "not_repeated": _compared(columns["next before"][~seen], columns["next after"][~seen]),
        "unseen_like_share": round(float(like.mean()), 4),
        "unseen_like_none": _compared(columns["unseen before"][~like], columns["unseen after"][~like]),
        "poisoned": _compared(clean, poisoned),
        "replay": {
            "gain_mean": round(float(np.mean([one.gain for one in replays])), 4),
            "low_least": round(min(one.low for one in replays), 4),
            "helps": sum(one.helps for one in replays),
        },
    }


TRAINED_CALLS: Final = (2_000,)
TRAINED_WORLDS: Final = 2
TRAINED_ASKED: Final = 150
EXAMPLES: Final = 8
"""Examples of each tool in use, where a file is trained on."""


async def _trained_world(
    services: Services, texts: Mapping[str, Sequence[str]], seed: int, calls: int
) -> dict[str, list[Any]]:
    """One world: the log of some calls, and with no calls examples in its place."""
    bench = data.metatool_multi()
    found: dict[str, list[Any]] = {}
    async with product.pool(services, f"training-{calls}-{seed}", bench.tools, {}) as owner:
        async with services.database.transaction(owner.tenant) as connection:
            rows = await connection.exec_driver_sql("select name, id from tool")
            ids = {str(name): int(number) for name, number in rows}
        run = Simulation(services, owner, ids, World(texts, seed))
        learning, training = services.tools.learning, services.tools.training
        await learning.decide(owner, "shadow")
        if calls:
            await run.work(calls)
        examples = None if calls else run.world.examples(EXAMPLES)
        asked = {kind: [getattr(run.world, kind)() for _ in range(TRAINED_ASKED)] for kind in KINDS}
        before = {kind: await run.measure(asked[kind], learned=False) for kind in KINDS}
        if calls:
            await learning.decide(owner, "on")
        learned = {kind: await run.measure(asked[kind]) for kind in KINDS} if calls else before
        started = time.perf_counter()
        result = await training.train(owner, examples, lambda _done, _total: None)
        found["result"], found["seconds"] = [result], [time.perf_counter() - started]
        both = {kind: await run.measure(asked[kind]) for kind in KINDS}
        await learning.decide(owner, "shadow")
        trained = {kind: await run.measure(asked[kind]) for kind in KINDS}
        for kind in KINDS:
            found |= {f"{kind} before": [before[kind]], f"{kind} learned": [learned[kind]]}
            found |= {f"{kind} trained": [trained[kind]], f"{kind} both": [both[kind]]}
        if calls:
            others = np.array([one.user != HOSTILE for one in asked["next"]])
            await run.attack()
            await training.remove(owner)
            found["attacked"] = [await training.train(owner, None, lambda _done, _total: None)]
            honest = [one for one in asked["next"] if one.user != HOSTILE]
            found |= {"clean": [trained["next"][others]], "poisoned": [await run.measure(honest)]}
    return found


async def run_training() -> dict[str, Any]:
    """Simulate training on logs of several sizes, and on examples, and save the figures."""
    texts = messages(even=False)
    asked = TRAINED_WORLDS * TRAINED_ASKED
    figures: dict[str, Any] = {"worlds": TRAINED_WORLDS, "users": USERS, "asked_of_each_kind": asked}
    settings: dict[str, object] = {"learning": "shadow", "query_cache_size": 20_000, "query_cache_seconds": 100_000}
    async with product.running(None, **settings) as services:
        for calls in (*TRAINED_CALLS, 0):
            collected: dict[str, list[Any]] = {}
            for seed in range(TRAINED_WORLDS):
                for name, rows in (await _trained_world(services, texts, seed, calls)).items():
                    collected.setdefault(name, []).extend(rows)
                figures[f"log_of_{calls}" if calls else "examples"] = _training_figures(collected)
                print(calls, seed, figures, flush=True)
                machine.save("training", figures)
    return figures


def _training_figures(collected: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The figures of one size."""
    columns = {name: np.concatenate(collected[name]) for name in collected if " " in name}
    results = collected["result"]
    found: dict[str, Any] = {
        "kept": sum(one.kept for one in results),
        "samples_mean": round(float(np.mean([one.figures.samples for one in results])), 1),
        "held_out_gain_mean": round(float(np.mean([one.figures.gain for one in results])), 4),
        "held_out_low_least": round(min(one.figures.low for one in results), 4),
        "seconds_mean": round(float(np.mean(collected["seconds"])), 1),
        **{kind: _compared(columns[f"{kind} before"], columns[f"{kind} trained"]) for kind in KINDS},
    }
    if "clean" not in collected:
        return found
    return found | {
        "beside_learning": {kind: _compared(columns[f"{kind} learned"], columns[f"{kind} both"]) for kind in KINDS},
        "poisoned": _compared(np.concatenate(collected["clean"]), np.concatenate(collected["poisoned"])),
        "kept_after_attack": sum(one.kept for one in collected["attacked"]),
    }


async def run_speed() -> dict[str, Any]:
    """Measure what learning adds to a search when as many uses as count are known, and save the figures."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(MOST_USES, DIMENSION)).astype(np.float32)
    vectors[:NEAR] = vectors[0] + 0.5 * vectors[:NEAR]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    now = dt.datetime.now(dt.UTC)
    uses = [
        Use(
            at=now,
            searched_at=now,
            owner=None,
            voter=f"user:{number % USERS}",
            trace_id="",
            model="",
            vector=vectors[number].astype(np.float16).tobytes(),
            tool_id=number % 200,
            weight=1.0,
            passed=(number % 200 + 1, number % 200 + 2),
            failed=(),
            offered=(),
            standings=(),
            message=None,
        )
        for number in range(MOST_USES)
    ]
    started = time.perf_counter()
    evidence = evidence_of(uses)
    built = time.perf_counter() - started
    figures: dict[str, Any] = {"uses": MOST_USES, "near": NEAR, "columns_ms": round(built * 1000, 2)}
    for name, text in (
        ("like_some", vectors[:1]),
        ("like_none", random.normal(size=(1, DIMENSION)).astype(np.float32)),
    ):
        texts = text / np.linalg.norm(text)
        times: list[float] = []
        for _ in range(RUNS):
            started = time.perf_counter()
            learned_scores(texts, evidence, "user:0", now.timestamp(), 30.0)
            times.append((time.perf_counter() - started) * 1000)
        figures[name] = {
            "p50_ms": round(float(np.median(times)), 3),
            "p95_ms": round(float(np.quantile(times, 0.95)), 3),
        }
    print(figures, flush=True)
    machine.save("learning_speed", figures)
    return figures
