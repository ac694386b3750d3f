"""The records of the intents kind: packs, decisions of the router, statistics of use, and lint findings.

Invariant: frozen; the text of a pack was written by others: it is data, never an instruction to Thresher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from thresher.scanner import Finding

LintSeverity: TypeAlias = Literal["error", "warning", "hint"]
"""`error`: the pack misleads the router or a model, or cannot be used. `warning`: it works worse than it could. `hint`:
worth knowing."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing to improve.

    Attributes:
        pack: Name of the pack, or the path of what could not be read as one.
        severity: How bad it is.
        check: Name of the check, the same in every version.
        message: What is wrong, in one sentence.
        where: File and line inside the pack, such as `examples.txt:12`; empty for the pack as a whole.
        hint: What to do about it; may be empty.
    """

    pack: str
    severity: LintSeverity
    check: str
    message: str
    where: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class KnownTools:
    """The tools that exist, by the names that clients see, and their servers."""

    names: frozenset[str] = field(default_factory=frozenset[str])
    servers: frozenset[str] = field(default_factory=frozenset[str])


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a pack as in its file.

    Attributes:
        pack: The pack's name.
        file: `examples.txt`, `not_examples.txt` or `evals/eval_queries.json`; `SKILL.md` if it comes from the
            description.
        number: 1-based line in the file; 0 if lines have no number.
        text: The line.
    """

    pack: str
    file: str
    number: int
    text: str

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.number}" if self.number else self.file


PASS_THROUGH = "PASS_THROUGH"  # noqa: S105 - an answer, not a password
"""The exact answer of `process_prompt` when nothing fits."""

Origin: TypeAlias = Literal["built-in", "entry point", "configured", "user", "project"]
"""Where a pack was found. On a name clash the later of these wins, with a warning."""
Form: TypeAlias = Literal["pack", "skill", "cursor", "copilot"]
"""`pack`: a folder with training lines; `skill`: any other SKILL.md folder; `cursor`: an `.mdc` file; `copilot`: an
`*.instructions.md` file."""


@dataclass(frozen=True, slots=True)
class PackFile:
    """One file of a pack: its path inside the folder (forward slashes), size in bytes and SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class EvalQuery:
    """An entry of `evals/eval_queries.json`."""

    query: str
    should_trigger: bool


@dataclass(frozen=True, slots=True)
class Pack:
    """An intent: its rules, its training lines and its tools.

    Attributes:
        name: Unique inside what a caller sees; 1 to 64 of `a-z0-9-`.
        description: What it is for, and when to use it.
        rules: The body of `SKILL.md`, as written.
        form: The kind of folder or file.
        origin: Where it was found.
        path: The folder, or the file; absolute, without links.
        examples: Training lines, in the file's order, distinct. A foreign skill or rule file has those of its
            description; empty if its rules apply only by file or to every message.
        not_examples: Near-miss negatives.
        evals: Questions with the expected answer. A pack keeps them out of training; for a `skill` without training
            lines they are training lines too.
        metadata: The front matter's `metadata`. Known keys: `off_topic` (the sentence that declines), `variables`
            (`true`: `{{NAME}}` in the rules is filled), `servers` and `tools` (names, separated by blanks or commas),
            `keywords` (names of things in the domain, separated by commas), `rules_first` (`write`: tools that only
            read are run without the rules), `short` (the rules in a few hundred tokens, given first).
        allowed_tools: The front matter's `allowed-tools`, in order.
        license: As written; may be empty.
        compatibility: As written; may be empty.
        globs: Files that its rules apply to, by `.mdc` or `applyTo`.
        always: Whether its rules apply to every message.
        code: Its `tools.py`; None without one.
        words: Index terms to how often the texts of a skill or rule file hold them; empty for a pack with lines.
        files: Everything in the folder, by path.
        digest: SHA-256 in hex over all of `files`; any change changes it.
        findings: The scanner's findings in rules and description.
    """

    name: str
    description: str
    rules: str
    form: Form
    origin: Origin
    path: Path
    examples: tuple[str, ...] = ()
    not_examples: tuple[str, ...] = ()
    evals: tuple[EvalQuery, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    allowed_tools: tuple[str, ...] = ()
    license: str = ""
    compatibility: str = ""
    globs: tuple[str, ...] = ()
    always: bool = False
    code: Path | None = None
    words: Mapping[str, int] = field(default_factory=dict[str, int])
    files: tuple[PackFile, ...] = ()
    digest: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers whose tools belong to the pack."""
        return tuple(self.metadata.get("servers", "").replace(",", " ").split())

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that belong to the pack, by the names that clients see."""
        return tuple(self.metadata.get("tools", "").replace(",", " ").split())

    @property
    def keywords(self) -> tuple[str, ...]:
        """Names of things in the domain, as written."""
        return tuple(word for part in self.metadata.get("keywords", "").split(",") if (word := part.strip()))

    @property
    def off_topic(self) -> str:
        """The sentence that declines what has nothing to do with the pack; may be empty."""
        return self.metadata.get("off_topic", "")

    @property
    def short(self) -> str:
        """The rules in short, as the pack's author wrote them; may be empty."""
        return self.metadata.get("short", "").strip()

    @property
    def fills_variables(self) -> bool:
        """Whether `{{NAME}}` in the rules is filled; foreign text with braces stays as it is by default."""
        return self.metadata.get("variables", "").lower() == "true"

    @property
    def reads_freely(self) -> bool:
        """Whether its tools that only read may be called before its rules were given."""
        return self.metadata.get("rules_first", "").lower() == "write"


@dataclass(frozen=True, slots=True)
class Inert:
    """A pack that was found and is not used.

    Attributes:
        pack: The pack.
        reason: `untrusted` (of a project, and exactly this content is not approved), `changed` (approved, and changed
            since), `poisoned` (the scanner calls its text dangerous) or `shadowed` (another one of its name wins).
        hint: What to do about it, with the command.
    """

    pack: Pack
    reason: Literal["untrusted", "changed", "poisoned", "shadowed"]
    hint: str


@dataclass(frozen=True, slots=True)
class PackProblem:
    """A problem with a folder or file, and what to do about it.

    Attributes:
        path: The folder or file.
        message: What is wrong, in one sentence.
        hint: What to do about it; may be empty.
        severity: `error`: the pack is left out. `warning`: it is used, and what was doubtful was corrected.
    """

    path: Path
    message: str
    hint: str = ""
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class FoundPacks:
    """The packs in the searched locations.

    Attributes:
        packs: Every pack that could be read, trusted or not, in the order of the locations.
        problems: What could not be read, and what was corrected.
    """

    packs: tuple[Pack, ...] = ()
    problems: tuple[PackProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Packs:
    """The packs that one caller sees.

    Attributes:
        active: The packs in use, by name.
        inert: Found, and not used.
        problems: Broken ones, and warnings.
        digest: SHA-256 in hex over the digests of `active`: identifies what the router was fitted on.
    """

    active: tuple[Pack, ...] = ()
    inert: tuple[Inert, ...] = ()
    problems: tuple[PackProblem, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class IntentScore:
    """The router's result for one intent and one message.

    Attributes:
        intent: Its name.
        score: Calibrated probability, 0 to 1, that the message, or its best clause, asks for it.
        threshold: The least score that matches: fitted, or set by hand.
        similarity: Fitted similarity of the clause to the intent's lines, 0 to 1; 0 without an encoder.
        best_line: The nearest training line; empty without one.
        keywords: Names of the domain that the message holds.
        clause: Index of the clause that fits best; 0 is the whole message.
        matched: Whether its rules apply.
        why: `line`, `keyword`, `history`, `file`, `always`, or `negated` if the message says that it is not meant.
        margin: How far the score is above its threshold; negative below it.
    """

    intent: str
    score: float
    threshold: float
    similarity: float = 0.0
    best_line: str = ""
    keywords: tuple[str, ...] = ()
    clause: int = 0
    matched: bool = False
    why: str = "line"
    margin: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", self.score - self.threshold)


@dataclass(frozen=True, slots=True)
class Decision:
    """Which rules a message needs.

    Attributes:
        scores: The intents that matched, then the best others, each group best first. `explain` returns all.
        clauses: The texts that were judged: the whole message first, then its tasks.
        confidence: Probability, 0 to 1, that the decision is right.
        margin: Score of the best intent minus that of the next.
        clarify: A question for the person if two intents are too close; else empty.
        degraded: Why the answer is weaker than it could be; else empty.
        basis: What it rests on: `head`, `prototype` (too few lines for a head) or `words`.
        cached: Whether it was decided before.
        embedding_ms: Time spent on vectors.
        duration_ms: The whole time.
        trace_id: Identifies the decision in the logs.
        pass_through: Whether no intent fits.
    """

    scores: tuple[IntentScore, ...] = ()
    clauses: tuple[str, ...] = ()
    confidence: float = 0.0
    margin: float = 0.0
    clarify: str = ""
    degraded: str = ""
    basis: Literal["head", "prototype", "words"] = "head"
    cached: bool = False
    embedding_ms: float = 0.0
    duration_ms: float = 0.0
    trace_id: str = ""
    pass_through: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pass_through", not self.matched)

    @property
    def matched(self) -> tuple[IntentScore, ...]:
        """The intents whose rules apply, best first."""
        return tuple(score for score in self.scores if score.matched)


@dataclass(frozen=True, slots=True)
class IntentInfo:
    """An intent in use.

    Attributes:
        name: Its name.
        description: What it is for.
        origin: Where its pack was found.
        lines: Training lines; without any it applies by file, always, or never.
        negatives: Near-miss lines.
        fitted: The fitted threshold; None if the router is not fitted, or the intent has no lines.
        by_hand: The threshold that a person set; None without one.
        threshold: The one in force; None if none is known.
    """

    name: str
    description: str
    origin: Origin
    lines: int
    negatives: int
    fitted: float | None
    by_hand: float | None
    threshold: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", self.by_hand if self.by_hand is not None else self.fitted)


@dataclass(frozen=True, slots=True)
class RouterState:
    """The state of the router that serves a caller.

    Attributes:
        intents: Intents with training lines.
        lines: Their lines.
        negatives: Near-miss lines.
        basis: `head`, `prototype`, or `words` while nothing is fitted.
        stored: Whether the fit was read from the database, and not made by this process.
        embedded: Lines that had to be embedded for it.
        fit_ms: How long fitting took.
        problem: Why there is no fit, or why the one in use is not of these packs; empty if all is well.
    """

    intents: int
    lines: int
    negatives: int
    basis: Literal["head", "prototype", "words"]
    stored: bool
    embedded: int
    fit_ms: float
    problem: str


@dataclass(frozen=True, slots=True)
class LineFlip:
    """A line that is decided otherwise after an edit.

    Attributes:
        intent: The intent that it belongs to.
        text: The line.
        near_miss: Whether it is a near miss of the intent.
        before: The intents that matched; None if it was not there, or was not held out.
        after: The same after the edit.
        better: Whether it is right now and was wrong; None if it is neither better nor worse.
    """

    intent: str
    text: str
    near_miss: bool
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    better: bool | None


@dataclass(frozen=True, slots=True)
class Tally:
    """How held-out texts are decided for one intent.

    Attributes:
        right: Its lines that match it.
        missed: Its lines that do not.
        taken: Near misses of it, and lines of others, that match it.
        judged: Its lines and near misses that were held out.
    """

    right: int = 0
    missed: int = 0
    taken: int = 0
    judged: int = 0


@dataclass(frozen=True, slots=True)
class IntentEffect:
    """What an edit does to one intent.

    Attributes:
        intent: Its name.
        before: None if it is new.
        after: None if it is gone.
        threshold_before: The least score that matches; None if it is new.
        threshold_after: None if it is gone.
    """

    intent: str
    before: Tally | None
    after: Tally | None
    threshold_before: float | None
    threshold_after: float | None


@dataclass(frozen=True, slots=True)
class EditEffect:
    """What an edit does to the decisions about held-out lines.

    Attributes:
        intents: Those with lines of their own, by name; none if no line changes.
        flips: The lines that are decided otherwise, worse ones first.
    """

    intents: tuple[IntentEffect, ...] = ()
    flips: tuple[LineFlip, ...] = ()


@dataclass(frozen=True, slots=True)
class EditCheck:
    """What an edit of a pack would do.

    Attributes:
        name: The pack's name after it.
        difference: The files that change, as a unified difference; empty if none does.
        dangerous: What the scanner calls dangerous: with such a text the pack is not used until it is trusted.
        lint: What should be improved then.
        not_checked: What lint could not check, and why; empty if it checked everything.
        effect: What it does to the decisions about held-out lines.
    """

    name: str
    difference: str
    dangerous: tuple[Finding, ...]
    lint: tuple[LintFinding, ...]
    not_checked: str
    effect: EditEffect
