"""How well the tools of a server are found, and what other descriptions would change: measured, before and after.

The server's tools and those that compete with them are indexed in a temporary tenant, as they are and with all
proposals, and searched with queries that depend on no description.

Invariant: no catalogue is changed. Scores are 0 to 100, shares 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from thresher.core import InvalidInput, NotFound, Tool, did_you_mean, nearest
from thresher.evaluation.metrics import mean
from thresher.evaluation.runs import Progress, temporary_tenant
from thresher.knowledge.tools import (
    Definition,
    HealthFinding,
    ToolService,
    Trial,
    description_rule,
    findings_of_definition,
    findings_of_trials,
    parameters_without_words,
    plain_name,
    propose,
    slots_of,
    trial_queries,
    try_tool,
)
from thresher.store import Database

MOST_TOOLS: Final = 200
"""Tools of a server that are tried at most: twice a minute."""
MOST_RIVALS: Final = 2_000
"""Tools of other servers that compete with them at most."""
_ENOUGH: Final = 0.6
"""The share of its queries that find a tool whose description needs no other words."""
_WORTH: Final[Mapping[str | None, float]] = {
    None: 1.0, "no-verb": 0.6, "vague-description": 0.2, "short-description": 0.2, "no-description": 0.0,
}  # fmt: skip
"""What a description is worth, by the rule that it breaks."""
_DESCRIPTION_SHARE: Final = 0.7
"""Of the score by rules; the rest is the share of parameters that have words."""


@dataclass(frozen=True, slots=True)
class ImprovedTool:
    """A tool of the server.

    Attributes:
        name: Its own name.
        score: Half by rules, half by `before`.
        before: The share of its queries whose answer has it in full.
        after: The same with all proposals.
        findings: What stands in the way.
        description: As it is.
        proposal: Another description; empty if none is needed, or if fewer queries find the tool with it.
    """

    name: str
    score: int
    before: float
    after: float
    findings: tuple[HealthFinding, ...]
    description: str
    proposal: str


@dataclass(frozen=True, slots=True)
class Improvement:
    """How well the tools of a server are found.

    Attributes:
        server: Its name.
        score: The mean of its tools.
        before: The share of all queries whose answer has their tool in full.
        after: The same with all proposals.
        queries: Their number.
        rivals: The number of tools of other servers that competed.
        tools: Its tools, the worst first.
        left_out: The number of further tools, which were not tried.
        degraded: Why the searches ran with less than both arms; empty if they did not.
    """

    server: str
    score: int
    before: float
    after: float
    queries: int
    rivals: int
    tools: tuple[ImprovedTool, ...]
    left_out: int
    degraded: str


@dataclass(frozen=True, slots=True)
class _Tried:
    """The trials of each tool, by its own name, under the definition that clients see."""

    definitions: Mapping[str, Definition]
    trials: Mapping[str, Sequence[Trial]]
    degraded: str

    def share(self, name: str) -> float:
        """The share of a tool's queries that find it."""
        return mean(trial.found for trial in self.trials.get(name, ())) or 0.0


def server_of(pool: Sequence[Tool], server: str | None) -> str:
    """Return the server that is meant.

    Raises:
        InvalidInput: No name is given, and there are several.
        NotFound: The pool has no such server.
    """
    known = sorted({plain_name(tool.server) for tool in pool})
    if server is None and len(known) == 1:
        return known[0]
    if server is None:
        raise InvalidInput(f"There are {len(known)} servers; which one?", hint=f"Name one: {', '.join(known[:5])}.")
    if server not in known:
        raise NotFound(f"There is no server '{server}'.", hint=did_you_mean(nearest(server, known)))
    return server


def tool_score(tool: Tool, found: float) -> int:
    """Return the score of a tool: half by rules, half by the share of its queries that find it."""
    parameters = slots_of(tool.input_schema)
    silent = len(parameters_without_words(tool)) / max(len(parameters), 1)
    rules = _DESCRIPTION_SHARE * _WORTH[description_rule(tool.description)] + (1 - _DESCRIPTION_SHARE) * (1 - silent)
    return round(50 * rules + 50 * found)


async def improve_tools(
    database: Database, tools: ToolService, pool: Sequence[Tool], server: str | None, progress: Progress
) -> Improvement:
    """Measure how well the tools of a server are found, and what proposals for their descriptions change.

    Args:
        database: The database of the temporary tenant.
        tools: The service that searches.
        pool: The tools of the server, and those that compete with them.
        server: The server; may be left out if the pool has only one.
        progress: Called with the progress.

    Raises:
        InvalidInput: No server is named, and the pool has several.
        NotFound: The pool has no such server.
    """
    name = server_of(pool, server)
    own = list({tool.name: tool for tool in pool if plain_name(tool.server) == name}.values())
    tried, rivals = own[:MOST_TOOLS], [tool for tool in pool if plain_name(tool.server) != name][:MOST_RIVALS]
    before = await _try(database, tools, [*own, *rivals], tried, "Searching", progress)
    tried = [tool for tool in tried if tool.name in before.definitions]  # the scanner may hold one
    findings = {
        tool.name: (
            *findings_of_trials(before.definitions[tool.name], before.trials[tool.name]),
            *findings_of_definition(before.definitions[tool.name]),
        )
        for tool in tried
    }
    proposals = {
        tool.name: propose(tool, [one for one in own if one is not tool])
        for tool in tried
        if description_rule(tool.description) is not None or before.share(tool.name) < _ENOUGH
    }
    changed = {
        name: replace(tool, description=proposals.get(name, tool.description))
        for tool in tried
        for name in (tool.name,)
    }
    after = before
    if proposals:
        improved = [changed.get(tool.name, tool) for tool in own]
        after = await _try(
            database, tools, [*improved, *rivals], [changed[tool.name] for tool in tried], "Trying proposals", progress
        )
    return _improvement(name, tried, before, after, findings, proposals, len(rivals), len(own) - len(tried))


def _improvement(
    server: str,
    tried: Sequence[Tool],
    before: _Tried,
    after: _Tried,
    findings: Mapping[str, tuple[HealthFinding, ...]],
    proposals: Mapping[str, str],
    rivals: int,
    left_out: int,
) -> Improvement:
    rows: list[ImprovedTool] = []
    for tool in tried:
        was, now = before.share(tool.name), after.share(tool.name)
        mends = description_rule(tool.description) is not None
        proposal = proposals.get(tool.name, "") if now > was or (now == was and mends) else ""
        rows.append(
            ImprovedTool(
                name=tool.name,
                score=tool_score(tool, was),
                before=was,
                after=now if proposal or tool.name not in proposals else was,
                findings=findings[tool.name],
                description=tool.description,
                proposal=proposal,
            )
        )
    rows.sort(key=lambda row: (row.score, row.name))
    count = sum(map(len, before.trials.values()))
    return Improvement(
        server=server,
        score=round(mean(row.score for row in rows) or 0),
        before=sum(row.before * len(before.trials[row.name]) for row in rows) / max(count, 1),
        after=sum(row.after * len(before.trials[row.name]) for row in rows) / max(count, 1),
        queries=count,
        rivals=rivals,
        tools=tuple(rows),
        left_out=left_out,
        degraded=before.degraded or after.degraded,
    )


async def _try(
    database: Database,
    tools: ToolService,
    pool: Sequence[Tool],
    tried: Sequence[Tool],
    stage: str,
    progress: Progress,
) -> _Tried:
    """Index a pool in a temporary tenant, and search for some of its tools."""
    alone = tools.for_measuring(local=False)
    async with temporary_tenant(database, "improvement") as caller:
        await alone.import_tools(caller, pool, progress=lambda done, total: progress("Indexing", done, total))
        keys = {tool.key: tool.name for tool in tried}
        every = await alone.list_tools(caller, whole=True)
        definitions = {keys[one.tool.key]: one for one in every if one.tool.key in keys}
        trials: dict[str, Sequence[Trial]] = {}
        degraded = ""
        for place, tool in enumerate(tried, 1):
            if tool.name not in definitions:
                continue
            trials[tool.name], lack = await try_tool(alone, caller, definitions[tool.name], trial_queries(tool))
            degraded = degraded or lack
            progress(stage, place, len(tried))
    return _Tried(definitions, trials, degraded)
