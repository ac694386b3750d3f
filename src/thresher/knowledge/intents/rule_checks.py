"""Lint of rules: sections, tools that they name, length, description, what the scanner says.

Invariant: pure; code of a pack is parsed and never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from thresher.core import did_you_mean, nearest
from thresher.embedding import count_tokens
from thresher.knowledge.intents.lint_records import KnownTools, LintFinding
from thresher.knowledge.intents.models import Pack
from thresher.knowledge.intents.reader import RULES
from thresher.knowledge.intents.sections import SECTIONS, SHORT_TOKENS, sections_of

LONG_RULES: Final = 2_500
"""Tokens above which a model's attention suffers; every message that matches pays for them."""
LONGEST_RULES: Final = 5_000
"""Tokens that the Agent Skills specification recommends at most."""
SHORT_DESCRIPTION: Final = 8
"""Words below which a description tells neither a router nor a person when to use the pack."""
_MEMBER: Final = re.compile(r"`([A-Za-z_][\w.-]*)(?:\([^`]*\))?`")
_VARIABLE: Final = re.compile(r"\{\{\s*[A-Z][A-Z0-9_]*\s*\}\}")
_CALL: Final = re.compile(r"\(.*\)?\Z", re.DOTALL)
_DETAILS: Final = ("required", "optional", "when")


def written_rules(pack: Pack) -> Iterator[LintFinding]:
    """What the rules lack: a text, sections, what belongs into the tool details."""
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
        message = f"Of the sections that a whole rule book has, these are missing: {', '.join(missing)}."
        yield LintFinding(pack.name, "hint", "missing-section", message)


def front_matter(pack: Pack) -> Iterator[LintFinding]:
    """Description, the sentence that declines, variables that stay as they are."""
    words = len(pack.description.split())
    if words < SHORT_DESCRIPTION:
        message = f"The description has {words} words."
        hint = "Say what the pack does and when to use it; where there are no training lines it is all there is."
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
    """Rules that cost more than they should."""
    tokens = count_tokens(pack.rules)
    if tokens > LONG_RULES:
        severity = "warning" if tokens > LONGEST_RULES else "hint"
        hint = "Move details into files beside it, and name them in the rules."
        yield LintFinding(pack.name, severity, "long-rules", f"The rules have {tokens:,} tokens.", RULES, hint)
    if (short := count_tokens(pack.short)) > SHORT_TOKENS:
        message = f"metadata.short has {short:,} tokens; {SHORT_TOKENS} are enough."
        yield LintFinding(pack.name, "warning", "long-short", message, RULES, "Leave details to the rules.")


def suspicious(pack: Pack) -> Iterator[LintFinding]:
    """What the scanner says."""
    for finding in pack.findings:
        severity = "error" if finding.severity == "danger" else "warning"
        message = f"{finding.why} {finding.excerpt}".strip()
        yield LintFinding(pack.name, severity, "suspicious", message, finding.where)


def unknown_tools(pack: Pack, known: KnownTools, own: frozenset[str]) -> Iterator[LintFinding]:
    """Tools and servers that the pack names and that do not exist.

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
    """Names of tools that the pack uses, and where each is named first.

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
    """Tools that a pack's `tools.py` declares, by the names that clients see; none where it is no Python.

    Args:
        name: The pack's name.
        code: Source of `tools.py`.
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
    """Whether the module says `PREFIX = False`."""
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
    """Whether a call makes a tool of a verb: `find_toy = tool_of(TOYS["find_toy"], toys_text)`."""
    return isinstance(function, ast.Name) and function.id == "tool_of"


def _given_name(decorator: ast.expr) -> str:
    """The name that `@tool("name")` or `@tool(name="name")` gives."""
    if not isinstance(decorator, ast.Call):
        return ""
    given = [*decorator.args[:1], *(keyword.value for keyword in decorator.keywords if keyword.arg == "name")]
    return next((str(node.value) for node in given if isinstance(node, ast.Constant) and node.value), "")
