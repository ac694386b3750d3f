"""What lint is told and what it says.

Invariant: values only; a finding names its pack, and its place where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

LintSeverity: TypeAlias = Literal["error", "warning", "hint"]
"""`error`: the pack misleads the router or a model, or cannot be used. `warning`: it works worse than it could. `hint`:
worth knowing."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing to mend.

    Attributes:
        pack: Name of the pack, or the path of what could not be read as one.
        severity: How bad it is.
        check: Name of the check, the same in every version.
        message: What is wrong, in one sentence.
        where: File and line inside the pack, such as `examples.txt:12`; empty where it is the pack as a whole.
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
    """The tools that exist, by the names that clients see, and the servers behind them."""

    names: frozenset[str] = field(default_factory=frozenset[str])
    servers: frozenset[str] = field(default_factory=frozenset[str])


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a pack as its file has it.

    Attributes:
        pack: The pack's name.
        file: `examples.txt`, `not_examples.txt` or `evals/eval_queries.json`; `SKILL.md` where the description is all
            that there is.
        number: 1-based line in the file; 0 where lines have no number.
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
