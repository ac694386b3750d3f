"""Evaluates what is delivered of large results: whether answers that are known stand in it.

Invariant: nothing is kept and no tool is called; each result is read from its file and fitted as a call's would be.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from thresher.core import InvalidInput
from thresher.embedding import count_tokens
from thresher.evaluation.files import not_empty, read_text, wrong
from thresher.evaluation.metrics import mean, percentile
from thresher.results import fit
from thresher.results import verbatim as true_to

BUDGETS: Final = (500, 2_000)
_HINT: Final = 'Lines are {"result": path, "mime": "", "question": "", "answers": ["", ...]}.'
_SPACES: Final = re.compile(r"\s+")
_MORE: Final = 'read_result("0123456789abcdef")'
"""How an answer says where its rest is; counted, as it is in the answer of a call."""


@dataclass(frozen=True, slots=True)
class ResultCase:
    """A question to a result.

    Attributes:
        result: The file with the result.
        mime: Its media type; empty if it is not known.
        question: What is asked.
        answers: Texts that must all stand in what is delivered.
    """

    result: Path
    mime: str
    question: str
    answers: Sequence[str]


@dataclass(frozen=True, slots=True)
class ResultOutcome:
    """What was delivered for one question.

    Attributes:
        case: The question.
        kept: By budget, whether all answers stand in what was delivered.
        head: By budget, whether they stand in the first tokens of the result.
        elements: By budget, whether they stand in its first elements: of JSON those of its list, else whole lines.
        tokens: By budget, the tokens delivered.
        invalid: Answers to JSON that are not valid JSON.
        passages: How many passages were delivered.
        verbatim: How many of them stand in the result.
        milliseconds: By budget, the time it took.
    """

    case: ResultCase
    kept: dict[int, bool]
    head: dict[int, bool]
    elements: dict[int, bool]
    tokens: dict[int, int]
    invalid: int
    passages: int
    verbatim: int
    milliseconds: dict[int, float]


@dataclass(frozen=True, slots=True)
class ResultFigures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    kept_at_500: float | None
    kept_at_2000: float | None
    kept_head_at_500: float | None
    kept_head_at_2000: float | None
    kept_elements_at_500: float | None
    kept_elements_at_2000: float | None
    budget_violations: int
    invalid_json: int
    verbatim_rate: float | None
    p50_ms: float | None
    p95_ms: float | None
    questions: int
    results: int
    missed: tuple[dict[str, Any], ...]


def read_result_cases(path: Path) -> list[ResultCase]:
    """Read questions; paths of results are relative to the file.

    Raises:
        InvalidInput: The file cannot be read or a line is wrong; the message names it.
    """
    lines = enumerate(read_text(path).split("\n"), 1)
    return not_empty([_case(path, number, line) for number, line in lines if line.strip()], path, "questions", _HINT)


def _case(path: Path, number: int, line: str) -> ResultCase:
    try:
        entry: Any = json.loads(line)
        answers = entry["answers"]
        result = path.parent / Path(entry["result"]).expanduser()
        question, mime = entry["question"], entry.get("mime") or ""
    except (ValueError, TypeError, KeyError):
        raise wrong(path, number, "it is not such an object", _HINT) from None
    strings = isinstance(answers, list) and all(isinstance(one, str) and one for one in cast("list[Any]", answers))
    if not strings or not answers or not isinstance(question, str) or not isinstance(mime, str):
        raise wrong(path, number, "answers must be texts, question and mime a text", _HINT)
    if not result.is_file():
        raise InvalidInput(f"{path}, line {number}: there is no file {result}.", hint=_HINT)
    return ResultCase(result, mime, question, tuple(cast("list[str]", answers)))


def evaluate_results(cases: Iterable[ResultCase]) -> list[ResultOutcome]:
    """Fit each result into each budget."""
    texts: dict[Path, str] = {}
    outcomes: list[ResultOutcome] = []
    for case in cases:
        text = texts.get(case.result) or case.result.read_text(encoding="utf-8", errors="replace")
        texts = {case.result: text}  # questions to one result follow one another
        kept: dict[int, bool] = {}
        head: dict[int, bool] = {}
        elements: dict[int, bool] = {}
        tokens: dict[int, int] = {}
        milliseconds: dict[int, float] = {}
        invalid = passages = verbatim = 0
        for budget in BUDGETS:
            started = time.perf_counter()
            fitted = fit(text, budget, case.question, case.mime, _MORE)
            milliseconds[budget] = (time.perf_counter() - started) * 1000
            kept[budget] = stands(case.answers, fitted.text)
            head[budget] = stands(case.answers, head_of(text, budget))
            elements[budget] = stands(case.answers, first_elements(text, budget))
            tokens[budget] = count_tokens(fitted.text)
            invalid += fitted.kind == "json" and not _is_json(fitted.text)
            passages += len(fitted.passages)
            verbatim += sum(true_to(fitted, text))
        outcomes.append(ResultOutcome(case, kept, head, elements, tokens, invalid, passages, verbatim, milliseconds))
    return outcomes


def result_figures(outcomes: Sequence[ResultOutcome]) -> ResultFigures:
    """Compute the figures."""
    passages = sum(one.passages for one in outcomes)
    spent = [value for one in outcomes for value in one.milliseconds.values()]
    missed = [
        {"result": str(one.case.result), "question": one.case.question, "answers": list(one.case.answers),
         "budgets": [budget for budget, kept in one.kept.items() if not kept]}
        for one in outcomes
        if not all(one.kept.values())
    ]  # fmt: skip
    return ResultFigures(
        kept_at_500=mean([one.kept[500] for one in outcomes]),
        kept_at_2000=mean([one.kept[2_000] for one in outcomes]),
        kept_head_at_500=mean([one.head[500] for one in outcomes]),
        kept_head_at_2000=mean([one.head[2_000] for one in outcomes]),
        kept_elements_at_500=mean([one.elements[500] for one in outcomes]),
        kept_elements_at_2000=mean([one.elements[2_000] for one in outcomes]),
        budget_violations=sum(count > budget for one in outcomes for budget, count in one.tokens.items()),
        invalid_json=sum(one.invalid for one in outcomes),
        verbatim_rate=sum(one.verbatim for one in outcomes) / passages if passages else None,
        p50_ms=percentile(spent, 0.5),
        p95_ms=percentile(spent, 0.95),
        questions=len(outcomes),
        results=len({one.case.result for one in outcomes}),
        missed=tuple(missed),
    )


def stands(answers: Sequence[str], delivered: str) -> bool:
    """Whether all answers stand in a text, as they are or in the strings of JSON; blanks count alike."""
    plain = _SPACES.sub(" ", delivered)
    read = _SPACES.sub(" ", delivered.replace("\\n", "\n").replace('\\"', '"').replace("\\/", "/"))
    close = read.replace('": ', '":')
    wanted = (_SPACES.sub(" ", one) for one in answers)
    return all(one in plain or one in read or one.replace('": ', '":') in close for one in wanted)


def head_of(text: str, budget: int) -> str:
    """The first tokens of a text."""
    low, high = 0, min(len(text), budget * 8)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]


def first_elements(text: str, budget: int) -> str:
    """The first whole elements of the longest list of a JSON text that fit; of another text its first whole lines."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        pieces = iter(text.splitlines(keepends=True))
    else:
        pieces = (json.dumps(one, ensure_ascii=False) + "\n" for one in _longest(value))
    there, room = "", budget
    for piece in pieces:
        room -= count_tokens(piece)
        if room < 0:
            break
        there += piece
    return there


def _longest(value: Any) -> Sequence[Any]:
    found: list[Sequence[Any]] = [[value]]
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            members = cast("dict[str, Any]", one)
            found.append([{key: member} for key, member in members.items()])
            waiting += members.values()
        elif isinstance(one, list):
            found.append(cast("list[Any]", one))
            waiting += cast("list[Any]", one) if len(waiting) < 1_000 else []
    return max(found, key=len)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
