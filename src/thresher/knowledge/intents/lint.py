"""Lint: what a pack's author should improve, from typing errors to lines that two intents share.

Invariant: reads folders and changes nothing; code of a pack is parsed and never run; asks no server and needs no
database.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from thresher.core import Conflict, InvalidInput, NotFound, did_you_mean, nearest
from thresher.embedding import Matrix, count_tokens
from thresher.knowledge.intents.discovery import PackLocation, discover
from thresher.knowledge.intents.files import decoded, file_of
from thresher.knowledge.intents.line_checks import (
    is_training,
    near_by_vectors,
    near_by_words,
    nearly_same,
    out_of_balance,
    repeated,
    too_few,
    written_lines,
)
from thresher.knowledge.intents.models import FoundPacks, KnownTools, Line, LintFinding, Pack, PackProblem
from thresher.knowledge.intents.reader import CODE, RULES
from thresher.knowledge.intents.rule_book import SECTIONS, SHORT_TOKENS, sections_of

LONG_RULES: Final = 2_500
"""Tokens above which a model's attention suffers; every message that matches pays for them."""
LONGEST_RULES: Final = 5_000
"""Most tokens that the Agent Skills specification recommends."""
SHORT_DESCRIPTION: Final = 8
"""Words below which a description tells neither a router nor a person when to use the pack."""
OWN_TOOLS: Final = (
    *("call_tool", "call_tool_write", "describe_tools", "find_tools", "get_context", "process_prompt", "read_result"),
    *("run_code", "run_code_write"),
)
"""The tools of the gateway, which are in no catalogue."""
_MEMBER: Final = re.compile(r"`([A-Za-z_][\w.-]*)(?:\([^`]*\))?`")
_VARIABLE: Final = re.compile(r"\{\{\s*[A-Z][A-Z0-9_]*\s*\}\}")
_CALL: Final = re.compile(r"\(.*\)?\Z", re.DOTALL)
_DETAILS: Final = ("required", "optional", "when")


def written_rules(pack: Pack) -> Iterator[LintFinding]:
    """Yield what the rules lack: a text, sections, details of tools."""
    if not pack.rules.strip():
        yield LintFinding(
            pack.name, "error", "no-rules", "It has no rules.", RULES, "Write them below the front matter."
        )
        return
    present = sections_of(pack.rules)
    if pack.form != "pack":
        yield from _foreign_sections(pack, present)
        return
    for section in SECTIONS:
        if section.title not in present:
            message = f"The section '{section.title}' is missing."
            yield LintFinding(pack.name, "warning", "missing-section", message, RULES, section.guide)
        elif not present[section.title]:
            message = f"The section '{section.title}' is empty."
            yield LintFinding(pack.name, "warning", "empty-section", message, RULES, section.guide)
    details = present.get("Tool details", "").lower()
    if details and (lacking := [word for word in _DETAILS if word not in details]):
        message = f"The tool details do not say: {', '.join(lacking)}."
        hint = "Name each tool's required and optional parameters, and when to use it."
        yield LintFinding(pack.name, "warning", "tool-details", message, RULES, hint)


def _foreign_sections(pack: Pack, present: dict[str, str]) -> Iterator[LintFinding]:
    missing = [section.title.lower() for section in SECTIONS if not present.get(section.title)]
    if missing:
        message = f"Of the sections of a whole rule book, these are missing: {', '.join(missing)}."
        yield LintFinding(pack.name, "hint", "missing-section", message)


def front_matter(pack: Pack) -> Iterator[LintFinding]:
    """Yield findings about the description, the sentence that declines, and variables that are not filled."""
    words = len(pack.description.split())
    if words < SHORT_DESCRIPTION:
        message = f"The description has {words} words."
        hint = "Say what the pack does and when to use it; without training lines it is all there is."
        yield LintFinding(pack.name, "warning", "short-description", message, RULES, hint)
    if pack.form != "pack":
        return
    if not pack.off_topic:
        hint = "Give the sentence with which a model declines what is unrelated."
        yield LintFinding(pack.name, "hint", "no-off-topic", "metadata.off_topic is missing.", RULES, hint)
    if not pack.fills_variables and (found := _VARIABLE.search(pack.rules)):
        message = f"{found[0]} stays as it is."
        yield LintFinding(pack.name, "hint", "variables", message, RULES, 'Add variables: "true" to the metadata.')


def length(pack: Pack) -> Iterator[LintFinding]:
    """Yield findings about rules that are too long."""
    tokens = count_tokens(pack.rules)
    if tokens > LONG_RULES:
        severity = "warning" if tokens > LONGEST_RULES else "hint"
        hint = "Move details into files beside it, and name them in the rules."
        yield LintFinding(pack.name, severity, "long-rules", f"The rules have {tokens:,} tokens.", RULES, hint)
    if (short := count_tokens(pack.short)) > SHORT_TOKENS:
        message = f"metadata.short has {short:,} tokens; {SHORT_TOKENS} are enough."
        yield LintFinding(pack.name, "warning", "long-short", message, RULES, "Leave details to the rules.")


def suspicious(pack: Pack) -> Iterator[LintFinding]:
    """Yield the scanner's findings."""
    for finding in pack.findings:
        severity = "error" if finding.severity == "danger" else "warning"
        message = f"{finding.why} {finding.excerpt}".strip()
        yield LintFinding(pack.name, severity, "suspicious", message, finding.where)


def unknown_tools(pack: Pack, known: KnownTools, own: frozenset[str]) -> Iterator[LintFinding]:
    """Yield tools and servers that the pack names and that do not exist.

    Args:
        pack: The pack.
        known: The catalogue.
        own: Tools of every `tools.py` beside it: a pack may name another's.
    """
    absent = [server for server in pack.servers if server not in known.servers and server != "*"]
    for server in absent:
        message = f"No server is called '{server}', so the names of its tools were not checked."
        hint = f"Connect it: thresher servers add {server} ..."
        yield LintFinding(pack.name, "warning", "unknown-server", message, RULES, hint)
    names, servers = known.names | own, known.servers | set(pack.servers)
    prefixes = tuple(f"{server}_" for server in absent)
    for name, where in named_tools(pack).items():
        if name in names or name in servers or name.startswith(prefixes):
            continue
        hint = did_you_mean(nearest(name, names))
        yield LintFinding(pack.name, "error", "unknown-tool", f"There is no tool '{name}'.", where, hint)


def named_tools(pack: Pack) -> dict[str, str]:
    """Return the tools that the pack uses, each with the first place that names it.

    Every name in backticks in the section of available tools counts, and any that begins with one of the pack's
    servers; besides `metadata.tools` and `allowed-tools`, where a client's own tools (`Bash(git:*)`,
    `mcp__github__search`) are not Thresher's.
    """
    named = dict.fromkeys(pack.tools, "metadata.tools")
    for entry in pack.allowed_tools:
        name = _CALL.sub("", entry)
        if name and name[0].islower() and "__" not in name:
            named.setdefault(name, "allowed-tools")
    available = sections_of(pack.rules).get("Available tools", "") if pack.form == "pack" else ""
    for name in _MEMBER.findall(available):
        named.setdefault(name, RULES)
    prefixes = tuple(f"{server}_" for server in pack.servers)
    for name in _MEMBER.findall(f"{pack.rules}\n{pack.short}") if prefixes else ():
        if name.startswith(prefixes):
            named.setdefault(name, RULES)
    return named


def own_tools(name: str, code: str) -> frozenset[str]:
    """Return the tools that a pack's `tools.py` declares, by the names that clients see.

    Args:
        name: The pack's name.
        code: Source of `tools.py`; if it is not valid Python, it declares none.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    declared = {
        _given_name(decorator) or function.name
        for function in functions
        for decorator in function.decorator_list
        if _is_tool(decorator)
    }
    declared |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _makes_tool(node.value.func)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    before = "" if _without_prefix(tree) else f"{name}_"
    return frozenset(before + tool for tool in declared)


def _without_prefix(tree: ast.Module) -> bool:
    """Return whether the module contains `PREFIX = False`."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "PREFIX" for target in node.targets)
        and isinstance(node.value, ast.Constant)
        and node.value.value is False
        for node in tree.body
    )


def _is_tool(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(target, ast.Name) and target.id == "tool") or (
        isinstance(target, ast.Attribute) and target.attr == "tool"
    )


def _makes_tool(function: ast.expr) -> bool:
    """Return whether a call makes a tool of a verb: `find_toy = tool_of(TOYS["find_toy"], toys_text)`."""
    return isinstance(function, ast.Name) and function.id == "tool_of"


def _given_name(decorator: ast.expr) -> str:
    """Return the name in `@tool("name")` or `@tool(name="name")`."""
    if not isinstance(decorator, ast.Call):
        return ""
    given = [*decorator.args[:1], *(keyword.value for keyword in decorator.keywords if keyword.arg == "name")]
    return next((str(node.value) for node in given if isinstance(node, ast.Constant) and node.value), "")


_ORDER: Final = {"error": 0, "warning": 1, "hint": 2}


@dataclass(frozen=True, slots=True)
class LintSubject:
    """What is linted.

    Attributes:
        packs: The packs.
        problems: The reader's problems with them.
        beside: Other packs, whose lines are compared with theirs.
        lines: Every line of the packs, as in the files, after those of `beside`.
    """

    packs: tuple[Pack, ...]
    problems: tuple[PackProblem, ...]
    beside: tuple[Pack, ...]
    lines: tuple[Line, ...]

    @property
    def training(self) -> tuple[Line, ...]:
        """The training lines: those whose vectors are compared."""
        return tuple(line for line in self.lines if is_training(line))


def subject_at(paths: Sequence[Path], beside: Iterable[Pack] = ()) -> LintSubject:
    """Read the packs at some paths.

    Args:
        paths: Folders of packs, packs' own folders, or rule files.
        beside: Other packs; those of the same name or folder are left out.

    Raises:
        InvalidInput: A path does not exist, or holds no pack.
    """
    packs: dict[Path, Pack] = {}
    problems: list[PackProblem] = []
    for path in paths:
        found = discover([PackLocation(path.resolve(), "configured")]) if path.exists() else FoundPacks()
        if not found.packs and not found.problems:
            what = "There is no pack in" if path.exists() else "There is nothing at"
            raise InvalidInput(f"{what} {path}.", hint="Name a pack's folder, a folder of packs, or a rule file.")
        packs |= {pack.path: pack for pack in found.packs}
        problems += found.problems
    return subject_of(tuple(packs.values()), tuple(dict.fromkeys(problems)), beside)


def subject_of(packs: tuple[Pack, ...], problems: tuple[PackProblem, ...], beside: Iterable[Pack] = ()) -> LintSubject:
    """Return packs with their lines."""
    names = {pack.name for pack in packs}
    others = tuple(pack for pack in beside if pack.name not in names)
    lines = tuple(chain(*(written_lines(pack) for pack in (*others, *packs))))
    return LintSubject(packs, problems, others, lines)


def lint(
    subject: LintSubject, *, known: KnownTools | None = None, vectors: Matrix | None = None
) -> tuple[LintFinding, ...]:
    """Return everything that should be improved.

    Args:
        subject: The packs.
        known: The tools that exist; None if they are not known, and names of tools are not checked.
        vectors: float32 (training lines, dimension), rows of length 1, in the order of `LintSubject.training`; None
            compares lines by their words only.

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


def _problem(subject: LintSubject, problem: PackProblem) -> LintFinding:
    name = next((pack.name for pack in subject.packs if pack.path == problem.path), str(problem.path))
    return LintFinding(
        name,
        problem.severity,
        "unreadable" if problem.severity == "error" else "mended",
        problem.message,
        "",
        problem.hint,
    )
