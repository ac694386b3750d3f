"""Fits the constants by which tools are ranked and answers composed: `python -m benchmarks.fits tools`.

Every question of the development sets is searched once; what the two arms found is kept, and the answer is made from it
again and again with other constants. First the ranking (fusion, the cut of what is needed, the calibration of what
fits), then the worth of the forms. What is maximised is the share of needed tools in the answer as delivered, and a
little for their signatures, less what confusion costs. The figures of each set are printed: the sum hides what one of
them loses.

Sets: messages for servers that the encoder was not trained on (those of vendors need the package that the encoder was
trained on), everyday messages that were looked at, MetaTool, mcpproxy, and half of LiveMCPBench. BFCL and every blind
set stay unseen.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import thresher.search.index as search_index
from benchmarks import data, everyday, product
from benchmarks.data import Case
from benchmarks.scores import recall
from thresher.core import Caller, Tool
from thresher.embedding import count_tokens
from thresher.evaluation.metrics import auc
from thresher.knowledge.tools.catalogue import ToolCatalogue
from thresher.knowledge.tools.composition import WORTH, Candidate, Worth, choose, compose
from thresher.search.answer import RankedHits, answer
from thresher.search.lexical.arguments import find_values, lacks_required, unpack_arguments
from thresher.search.lexical.bm25 import score_texts
from thresher.search.ranking import EncoderCalibration, LogisticHead, Weights, rank
from thresher.services import Services
from training.messages import read_messages, read_no_tool, read_requests
from training.tools import catalogue_tools, invented_tools, vendor_tools
from training.vendors import TRAINING, VALIDATION

LIMIT: Final = 60
"""Hits that an answer is composed of."""
BUDGETS: Final = (150, 300)
SIGNATURE: Final = 0.25
"""What a tool in full counts beside one in any form."""
CONFUSION: Final = 0.1
"""What an answer costs in which a sibling of a needed tool has its signature and that tool does not."""
SAMPLE: Final = 300


@dataclass(frozen=True, slots=True)
class FitSet:
    """A pool of tools, what is asked of it, and messages that none of it serves."""

    name: str
    tools: tuple[Tool, ...]
    cases: tuple[Case, ...]
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, and everything that its answer is made of.

    Attributes:
        case: The question.
        given: The arguments of `answer`, without the constants.
        catalogue: The snapshot it was asked against.
    """

    case: Case
    given: tuple[Any, ...]
    options: Mapping[str, Any]
    catalogue: ToolCatalogue

    def hits(self, constants: EncoderCalibration, threshold: float | None = None) -> RankedHits:
        """The hits with other constants."""
        options = {**self.options, "limit": LIMIT, "need": WORTH.floor * 8, "threshold": threshold}
        return answer(*self.given, constants, **options)

    def delivered(
        self, constants: EncoderCalibration, budget: int, worth: Worth = WORTH
    ) -> tuple[list[str], list[str], int]:
        """The tools in the answer, those in full, and its tokens."""
        found = self.hits(constants)
        chosen = choose(self.catalogue, found.hits, (self.case.message,), limit=None, scope=None, core=False)
        candidates = [
            Candidate(
                self.catalogue.line_of(one.tool), one.need, not self.catalogue.reads(one.tool), one.also, one.kept
            )
            for one in chosen
        ]
        notes = [f"No tool fits (p={found.probability:.2f})."] if found.abstained else []
        made = compose(candidates, notes, budget, worth=worth)
        keys = {place: f"{one.tool.row.server}/{one.tool.row.name}" for place, one in enumerate(chosen)}
        every = [keys[place] for place in sorted(made.forms)]
        return (
            every,
            [keys[place] for place in sorted(made.forms) if made.forms[place] == "full"],
            count_tokens(made.text),
        )


@asynccontextmanager
async def captured() -> AsyncGenerator[list[tuple[tuple[Any, ...], Mapping[str, Any]]]]:
    """Keep what each search gives to `answer`."""
    kept: list[tuple[tuple[Any, ...], Mapping[str, Any]]] = []
    whole: Callable[..., RankedHits] = search_index.answer

    def keep(plan: Any, postings: Any, scores: Any, traits: Any, constants: Any, **options: Any) -> RankedHits:
        kept.append(((plan, postings, scores, traits), options))
        return whole(plan, postings, scores, traits, constants, **options)

    vars(search_index)["answer"] = keep
    try:
        yield kept
    finally:
        vars(search_index)["answer"] = whole


async def asked(services: Services, caller: Caller, cases: Sequence[Case]) -> list[Asked]:
    """Ask every question once."""
    catalogue = await services.tools._finder._catalogues.current(caller)  # pyright: ignore[reportPrivateUsage]
    found: list[Asked] = []
    async with captured() as kept:
        for case in cases:
            kept.clear()
            await services.tools.find_tools(caller, message=case.message, include_core_tools=False)
            if kept:
                found.append(Asked(case, *kept[0], catalogue))
    return found


def _metatool() -> FitSet:
    pairs, single = data.metatool_multi(), data.metatool_single()
    dice = random.Random(5)
    return FitSet("metatool", pairs.tools, (*dice.sample(pairs.cases, SAMPLE), *dice.sample(single.cases, SAMPLE)))


def _everyday() -> FitSet:
    cases = [
        Case(one.text, tuple(frozenset({key}) for key in one.needed))
        for number in ("1", "2")
        for one in everyday.messages(number)
    ]
    foreign = [
        str(row["message"]) for number in ("1", "2") for row in everyday.lines(everyday.FOLDER, f"foreign-{number}")
    ]
    return FitSet("everyday", tuple(everyday.definitions()), tuple(cases), tuple(foreign))


def _held_out(package: Path | None) -> FitSet:
    """Messages for servers of the training data that only validate, and requests that need several of their tools."""
    vendors = [vendor for vendor in TRAINING if vendor.server in VALIDATION]
    of_vendors = {} if package is None else vendor_tools(package, vendors)
    every = [tool for tools in of_vendors.values() for tool in tools]
    tools = {tool.key: tool for tool in (*every, *catalogue_tools(), *invented_tools()) if tool.server in VALIDATION}
    dice = random.Random(5)
    messages = [one for one in read_messages() if one.tool in tools]
    requests = [one for one in read_requests() if all(tool in tools for tool in one.tools)]
    cases = [Case(one.text, (frozenset({one.tool}),)) for one in dice.sample(messages, min(2 * SAMPLE, len(messages)))]
    cases += [Case(one.text, tuple(frozenset({tool}) for tool in one.tools)) for one in requests]
    idle = dice.sample(read_no_tool(), SAMPLE)
    return FitSet("held_out", tuple(tools.values()), tuple(cases), tuple(idle))


def sets(package: Path | None) -> list[FitSet]:
    """The development sets."""
    proxy, live = data.mcpproxy(), data.livemcpbench()
    return [
        _held_out(package),
        _everyday(),
        _metatool(),
        FitSet("mcpproxy", proxy.tools, proxy.cases),
        FitSet("livemcpbench", live.tools, live.cases[::2]),  # the others measure
    ]


@dataclass(frozen=True, slots=True)
class Material:
    """Everything asked, by set."""

    answerable: Mapping[str, list[Asked]]
    foreign: Mapping[str, list[Asked]]


async def material(services: Services, package: Path | None) -> Material:
    """Ask everything once."""
    answerable: dict[str, list[Asked]] = {}
    foreign: dict[str, list[Asked]] = {}
    for one in sets(package):
        async with product.pool(services, one.name, one.tools, {}) as caller:
            answerable[one.name] = await asked(services, caller, one.cases)
            foreign[one.name] = await asked(services, caller, [Case(text, ()) for text in one.foreign])
            print(one.name, len(one.tools), len(answerable[one.name]), len(foreign[one.name]), flush=True)
    return Material(answerable, foreign)


def figures(material: Material, constants: EncoderCalibration, worth: Worth = WORTH) -> dict[str, dict[str, float]]:
    """What the answers hold, by set."""
    found: dict[str, dict[str, float]] = {}
    for name, questions in material.answerable.items():
        row: dict[str, float] = {}
        for budget in BUDGETS:
            answers = [one.delivered(constants, budget, worth) for one in questions]
            row[f"needed_{budget}"] = _mean(answers, questions, 0)
            row[f"signature_{budget}"] = _mean(answers, questions, 1)
            confused = [_is_confused(made[1], one.case) for made, one in zip(answers, questions, strict=True)]
            row[f"confusion_{budget}"] = round(float(np.mean(confused)), 4)
            row[f"tokens_{budget}"] = round(float(np.mean([tokens for _, _, tokens in answers])), 1)
        if material.foreign[name]:
            row["auc"] = round(
                auc(*(_chances(rows, constants) for rows in (questions, material.foreign[name]))) or 0, 4
            )
        found[name] = row
    return found


def _chances(questions: Sequence[Asked], constants: EncoderCalibration) -> list[float]:
    return [one.hits(constants).probability for one in questions]


def _mean(answers: Sequence[tuple[list[str], list[str], int]], questions: Sequence[Asked], form: int) -> float:
    shares = [recall(made[form], one.case, LIMIT * 2) for made, one in zip(answers, questions, strict=True)]  # type: ignore[arg-type]
    return round(float(np.mean(shares)), 4)


def _is_confused(full: Sequence[str], case: Case) -> bool:
    """Whether a sibling of a needed tool stands in full and that tool does not."""
    missing = [keys for keys in case.relevant if not keys & set(full)]
    servers = {key.partition("/")[0] for keys in missing for key in keys}
    return any(key.partition("/")[0] in servers for key in set(full).difference(*case.relevant))


def total(found: Mapping[str, Mapping[str, float]]) -> float:
    """One figure for all sets: the mean share of needed tools, a little for their signatures, less what confuses."""
    return float(
        np.mean(
            [
                np.mean(
                    [
                        row[f"needed_{budget}"]
                        + SIGNATURE * row[f"signature_{budget}"]
                        - CONFUSION * row[f"confusion_{budget}"]
                        for budget in BUDGETS
                    ]
                )
                for row in found.values()
            ]
        )
    )


def fitted_head(material: Material, weights: Weights) -> LogisticHead:
    """The head that tells answerable questions from foreign ones, each set and side counting the same."""
    rows: list[list[float]] = []
    labels: list[float] = []
    counted: list[float] = []
    for name, questions in material.answerable.items():
        if not material.foreign[name]:
            continue
        for group, label in ((questions, 1.0), (material.foreign[name], 0.0)):
            rows += [_evidence(one, weights) for one in group]
            labels += [label] * len(group)
            counted += [1.0 / len(group)] * len(group)
    shown = np.array(rows)
    target, weight = np.array(labels), np.array(counted) / np.sum(counted)
    columns = np.column_stack([np.ones(len(shown)), shown])
    found = np.zeros(columns.shape[1])
    ridge = np.diag([0.0, 1e-5, 1e-4, 1e-4])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-columns @ found))
        slope = columns.T @ (weight * (target - chance)) - ridge @ found
        curve = (columns * (weight * chance * (1 - chance))[:, None]).T @ columns + ridge
        found += np.linalg.solve(curve, slope)
    return LogisticHead(*found.round(2).tolist())


def _evidence(one: Asked, weights: Weights) -> list[float]:
    """What the head looks at for the best candidate: inner product, ln(1 + BM25), and whether something is missing."""
    plan, postings, scores, traits = one.given
    if not len(scores.columns):
        return [0.0, 0.0, 0.0]
    dense, lexical = scores.dense[:, scores.columns], scores.lexical[:, scores.columns]
    ranking = rank(dense, lexical, traits.groups, weights, whole=plan.whole)
    background, items = one.options["background"], one.options["items"]
    usual = score_texts(
        plan.terms,
        postings,
        scores.ids[scores.columns],
        lambda term, entry: background.idf(term, items, entry.documents),
    )
    best, row = int(ranking.candidates[0]), int(ranking.rows[0])
    given = find_values(plan.phrases[0], plan.terms[0]) if plan.whole and any(traits.slots) else None
    lacking = given is not None and lacks_required(unpack_arguments(traits.slots[best]), given)
    return [float(dense[row, best]), float(np.log1p(max(float(usual[row, best]), 0.0))), float(lacking)]


async def run(folder: Path | None = None, package: Path | None = None) -> None:
    """Print the figures of the constants in force, then better ones until none is found."""
    overrides: dict[str, object] = {} if folder is None else {"model_dir": folder}
    async with product.running(**overrides) as services:
        kept = await material(services, package)
    constants = search_index.constants_for(services.encoder.model.id)
    constants = search_index.constants_for("bge-small-en-v1.5@") if constants.threshold == 0.0 else constants
    print("in force", json.dumps(figures(kept, constants)), flush=True)
    best, head = total(figures(kept, constants)), fitted_head(kept, constants.weights)
    for share in HEATS:  # the order of chances is that of the fit; how sure it is costs answers
        other = replace(constants, head=_softened(head, share))
        if (value := total(figures(kept, other))) > best + 1e-4:
            best, constants = value, other
        print("head", share, round(value, 4), json.dumps(figures(kept, other)), flush=True)
    for _ in range(2):
        for part, name in STEPS:
            for factor in FACTORS:
                other = _scaled(constants, part, name, factor)
                if (value := total(figures(kept, other))) > best + 1e-4:
                    best, constants = value, other
                    print(round(best, 4), part, name, factor, constants, flush=True)
    form = WORTH
    for name, values in FORMS.items():
        for value in values:
            other = replace(form, **{name: value})
            found = figures(kept, constants, other)
            print(name, value, round(total(found), 4), json.dumps(found), flush=True)
            if total(found) > best + 1e-4:
                best, form = total(found), other
    print("fitted", round(best, 4), constants, form, json.dumps(figures(kept, constants, form)), flush=True)


FORMS: Final[Mapping[str, Sequence[float]]] = {
    "name": (0.8, 0.9),
    "signature": (0.05, 0.1, 0.14),
    "bare_signature": (0.02, 0.05),
    "summary": (0.01, 0.02, 0.03),
    "rival": (0.05, 0.2, 0.3),
    "rivals": (3, 4, 6, 8),
    "floor": (0.0002, 0.0005),
}
"""What is tried in place of each worth in force."""
STEPS: Final = (
    ("weights", "dense"),
    ("need", "spread"),
    ("weights", "lexical"),
    ("weights", "group"),
    ("need", "share"),
    ("need", "place"),
    ("need", "prior"),
    ("arguments", "missing"),
    ("weights", "context"),
)
HEATS: Final = (1.0, 0.6, 0.4, 0.25)
"""Shares of the fitted head's numbers that are tried."""
FACTORS: Final = (0.6, 0.8, 1.25, 1.6)


def _softened(head: LogisticHead, share: float) -> LogisticHead:
    """The head with all its numbers multiplied."""
    return LogisticHead(*(round(value * share, 2) for value in (head.bias, head.dense, head.lexical, head.lacking)))


def _scaled(constants: EncoderCalibration, part: str, name: str, factor: float) -> EncoderCalibration:
    """The constants with one number multiplied."""
    record = getattr(constants, part)
    return replace(constants, **{part: replace(record, **{name: getattr(record, name) * factor})})
