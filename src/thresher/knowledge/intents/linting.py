"""Lint: what a pack's author should mend, from typing slips to lines that two intents share.

Invariant: reads folders and changes nothing; runs no code of a pack, asks no server and needs no database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from thresher.core import Conflict, InvalidInput, NotFound
from thresher.embedding import Matrix
from thresher.knowledge.intents.discovery import discover
from thresher.knowledge.intents.encodings import decoded
from thresher.knowledge.intents.files import file_of
from thresher.knowledge.intents.line_checks import (
    is_training,
    nearly_same,
    out_of_balance,
    repeated,
    too_few,
    written_lines,
)
from thresher.knowledge.intents.lint_records import KnownTools, Line, LintFinding
from thresher.knowledge.intents.models import Found, Pack, PackProblem
from thresher.knowledge.intents.nearness import near_by_vectors, near_by_words
from thresher.knowledge.intents.reader import CODE
from thresher.knowledge.intents.rule_checks import (
    front_matter,
    length,
    own_tools,
    suspicious,
    unknown_tools,
    written_rules,
)
from thresher.knowledge.intents.sources import Place

_ORDER: Final = {"error": 0, "warning": 1, "hint": 2}


@dataclass(frozen=True, slots=True)
class Subject:
    """What is linted.

    Attributes:
        packs: The packs.
        problems: What the reader said of them.
        beside: Other packs, whose lines theirs are compared with.
        lines: Every line of the packs, as the files have them, after those of `beside`.
    """

    packs: tuple[Pack, ...]
    problems: tuple[PackProblem, ...]
    beside: tuple[Pack, ...]
    lines: tuple[Line, ...]

    @property
    def training(self) -> tuple[Line, ...]:
        """The training lines: what vectors are wanted of."""
        return tuple(line for line in self.lines if is_training(line))


def subject_at(paths: Sequence[Path], beside: Iterable[Pack] = ()) -> Subject:
    """The packs in some places.

    Args:
        paths: Folders of packs, packs' own folders, or rule files.
        beside: Packs that are there anyway; those of the same name or folder are left out.

    Raises:
        InvalidInput: Nothing is at a place, or no pack is in it.
    """
    packs: dict[Path, Pack] = {}
    problems: list[PackProblem] = []
    for path in paths:
        found = discover([Place(path.resolve(), "configured")]) if path.exists() else Found()
        if not found.packs and not found.problems:
            what = "There is no pack in" if path.exists() else "There is nothing at"
            raise InvalidInput(f"{what} {path}.", hint="Name a pack's folder, a folder of packs, or a rule file.")
        packs |= {pack.path: pack for pack in found.packs}
        problems += found.problems
    return subject_of(tuple(packs.values()), tuple(dict.fromkeys(problems)), beside)


def subject_of(packs: tuple[Pack, ...], problems: tuple[PackProblem, ...], beside: Iterable[Pack] = ()) -> Subject:
    """Packs with their lines."""
    names = {pack.name for pack in packs}
    others = tuple(pack for pack in beside if pack.name not in names)
    lines = tuple(chain(*(written_lines(pack) for pack in (*others, *packs))))
    return Subject(packs, problems, others, lines)


def lint(
    subject: Subject, *, known: KnownTools | None = None, vectors: Matrix | None = None
) -> tuple[LintFinding, ...]:
    """Everything that should be mended.

    Args:
        subject: The packs.
        known: The tools that exist; None where nobody can say, and names of tools are not checked.
        vectors: float32 (training lines, dimension), rows of length 1, in the order of `Subject.training`; None
            compares lines by their words alone.

    Returns:
        By pack in the order given, the worst first.
    """
    training = subject.training
    own = frozenset[str]().union(*(own_tools(pack.name, _code(pack)) for pack in subject.packs if known is not None))
    names = list(dict.fromkeys(line.pack for line in training))
    groups = [names.index(line.pack) for line in training]
    texts = [line.text for line in training]
    pairs = near_by_words(texts, groups) if vectors is None else near_by_vectors(vectors, groups)
    findings = [
        *(_problem(subject, problem) for problem in subject.problems),
        *chain(*(_of_pack(pack, known, own) for pack in subject.packs)),
        *repeated(subject.lines),
        *nearly_same(training, pairs),
        *out_of_balance(subject.packs),
    ]
    others = {pack.name for pack in subject.beside}
    places = {pack.name: index for index, pack in reversed(list(enumerate(subject.packs)))}
    mine = (finding for finding in findings if finding.pack not in others)
    return tuple(sorted(mine, key=lambda item: (places.get(item.pack, -1), _ORDER[item.severity])))


def _of_pack(pack: Pack, known: KnownTools | None, own: frozenset[str]) -> Iterator[LintFinding]:
    yield from suspicious(pack)
    yield from written_rules(pack)
    yield from front_matter(pack)
    yield from too_few(pack)
    yield from length(pack)
    if known is not None:
        yield from unknown_tools(pack, known, own)


def _code(pack: Pack) -> str:
    if pack.code is None:
        return ""
    try:
        return decoded(file_of(pack, CODE))[0]
    except (NotFound, Conflict):
        return ""


def _problem(subject: Subject, problem: PackProblem) -> LintFinding:
    name = next((pack.name for pack in subject.packs if pack.path == problem.path), str(problem.path))
    return LintFinding(
        name,
        problem.severity,
        "unreadable" if problem.severity == "error" else "mended",
        problem.message,
        "",
        problem.hint,
    )


def worst(findings: Iterable[LintFinding]) -> str:
    """The severity of the worst finding; empty where there is none."""
    return min((finding.severity for finding in findings), key=lambda severity: _ORDER[severity], default="")
