"""Whether the tools of a catalogue can be found, and what in their definitions stands in the way.

Each tool is searched with the queries of its own definition, through the search as delivered. What the definitions
alone show - descriptions without a verb, parameters without words - is judged by rules.

Invariant: the rules are pure. A run is bounded, nothing of it is logged, and it pauses for as long as it searches, so
that other searches hardly wait.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from thresher.core import Caller, Tool, first_sentence, one_line
from thresher.knowledge.tools.models import Definition, FindResult, plain_name
from thresher.knowledge.tools.own_queries import own_queries, request_of, verb_of
from thresher.search import Progress, terms

if TYPE_CHECKING:
    from thresher.knowledge.tools.service import ToolService  # it makes proposals by the rules of this module

MOST_TOOLS: Final = 300
"""Tools of a run at most: about a minute."""
_PAUSE_SECONDS: Final = 0.02
_FEWEST_WORDS: Final = 3
_FEWEST_TERMS: Final = 2
_ENGLISH_AFTER: Final = 6
_NAMED: Final = 5
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # noqa: RUF001 - the typographic apostrophe is meant
_ENGLISH: Final = frozenset("a an the of to in on for and or with from by is are this that it as at into".split())  # noqa: SIM905 - a text is easier to read
_OTHER_VERBS: Final = frozenset(
    terms(
        """act adjust allow become browse calibrate control define determine discover do drag enhance ensure establish
        expand expose guide handle help highlight hover improve include indicate learn let log look map migrate note
        obtain perform plan process produce propose provide rebuild redirect reduce renew reorder retry scroll see
        serve support swap take tell tap think turn unpack unzip work zip"""
    )
)
"""Verbs that descriptions begin with, and that have no use in a query of another tool."""
_ARTICLES: Final = frozenset(("the", "a", "an"))
_EMPTY: Final = frozenset(
    terms(
        """act action actual allow api application basic call certain command common convenient core data do
        different easy efficient element endpoint entity execute feature function functionality general generic
        given handle handler help helper important input internal item let main make manage method misc
        miscellaneous module need new normal object operate operation option output perform please plugin possible
        powerful process project provide purpose quick quickly relate request resource result run server service
        several simple simply some something special specific specified standard stuff support system task thing
        tool useful use user using util utility value various want way work wrapper you"""
    )
)
"""Terms that tell no tool from another."""

Rule: TypeAlias = Literal[
    "not-found", "confused", "no-description", "short-description", "vague-description", "no-verb", "same-name",
    "same-description", "parameters-without-words",
]  # fmt: skip
"""What is found, the gravest first."""


_DESCRIPTIONS: Final[Mapping[Rule, str]] = {
    "no-description": "It has no description.",
    "short-description": 'Its description is too short: "{}".',
    "vague-description": 'Its description does not say what it does: "{}".',
    "no-verb": 'Its description has no verb: "{}".',
}


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """What stands in the way of a tool's being found.

    Attributes:
        rule: The rule that found it.
        tool: The tool, by the name that clients call it by.
        server: Its server.
        about: The other tools, or the parameters, that are meant.
        message: One sentence.
    """

    rule: Rule
    tool: str
    server: str
    about: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class ToolHealth:
    """Whether the tools of a catalogue can be found.

    Attributes:
        tools: The number of tools that were searched for.
        left_out: The number of further ones, which a run of their server alone covers.
        queries: The number of queries, made from the tools' definitions.
        found: The share of queries, 0 to 1, whose answer has the tool in full; None if nothing was searched.
        findings: By rule, the gravest first.
        degraded: Why the searches ran with less than both arms, or not at all; empty if they did not.
        measured_at: When the tools were searched for; of several servers, the first of them.
    """

    tools: int
    left_out: int
    queries: int
    found: float | None
    findings: tuple[HealthFinding, ...]
    degraded: str = ""
    measured_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The answer to one query of a tool.

    Attributes:
        query: The query.
        found: Whether the tool stands in the answer in full.
        rival: The first tool of the same server that does, if the tool does not; empty if none.
    """

    query: str
    found: bool
    rival: str = ""


def trial_of(definition: Definition, query: str, answer: FindResult) -> Trial:
    """Judge an answer to a query of a tool. Core tools, which are part of every answer, are no rivals."""
    in_full = [tool for tool in answer.tools if tool.form == "full"]
    if any(definition.name in (tool.name, *tool.also) for tool in in_full):
        return Trial(query, True)
    siblings = (tool.name for tool in in_full if tool.tool.server == definition.tool.server)
    chosen = {tool.name for tool in in_full if tool.why.source != "core"}
    return Trial(query, False, next((name for name in siblings if name in chosen), ""))


def findings_of_trials(definition: Definition, trials: Sequence[Trial]) -> Iterator[HealthFinding]:
    """The findings of what was searched for one tool."""
    if trials and not any(trial.found for trial in trials):
        asked = ", ".join(f'"{one_line(trial.query)}"' for trial in trials[:_NAMED])
        yield _finding("not-found", definition, (), f"None of its own queries finds it in full: {asked}.")
    rivals = Counter(trial.rival for trial in trials if trial.rival)
    for rival, times in rivals.most_common():
        query = next(trial.query for trial in trials if trial.rival == rival)
        text = f'{times} of its {len(trials)} queries find {one_line(rival)} in its place, such as "{one_line(query)}".'
        yield _finding("confused", definition, (rival,), text)


def findings_of_definition(definition: Definition) -> Iterator[HealthFinding]:
    """The findings of what one definition says."""
    if (rule := description_rule(definition.tool.description)) is not None:
        text = _DESCRIPTIONS[rule].format(one_line(first_sentence(definition.tool.description)))
        yield _finding(rule, definition, (), text)
    if bare := parameters_without_words(definition.tool):
        names = ", ".join(map(one_line, bare[:_NAMED])) + (" ..." if len(bare) > _NAMED else "")
        text = f"{len(bare)} of its parameters {'has' if len(bare) == 1 else 'have'} no description: {names}."
        yield _finding("parameters-without-words", definition, bare, text)


def description_rule(description: str) -> Rule | None:
    """Return the rule that a description breaks, the gravest; None if it breaks none."""
    sentence = first_sentence(description)
    words = _WORD.findall(sentence)
    if not description.strip():
        return "no-description"
    if not words or not sentence.isascii():
        return None
    if len(words) < _FEWEST_WORDS:
        return "short-description"
    if len({*terms(description)} - _EMPTY) < _FEWEST_TERMS:
        return "vague-description"
    return "no-verb" if _is_english(words) and not has_verb(sentence) else None


def has_verb(sentence: str) -> bool:
    """Return whether an English sentence has a verb of what tools do, or begins with a word that looks like one.

    After an article at the beginning, verbs in their base form are nouns ("The forecast of a city"), except for
    one after "to".
    """
    words = [word.lower() for word in _WORD.findall(sentence)]
    first, second = (*words, "", "")[:2]
    looks = first.endswith(("ify", "ifies", "ize", "izes", "ise", "ises", "ate", "ates"))
    takes_object = first.endswith("s") and second in _ENGLISH
    known = [(before, word, verb) for before, word in zip(["", *words], words, strict=False) if (verb := verb_of(word))]
    if first in _ARTICLES:
        known = [(before, word, verb) for before, word, verb in known if before == "to" or word != verb]
    begins = not _OTHER_VERBS.isdisjoint(terms(request_of(sentence).partition(" ")[0]))
    return looks or takes_object or begins or bool(known)


def _is_english(words: Sequence[str]) -> bool:
    """Whether a sentence may be English: a longer one has words that nearly every English sentence has."""
    return len(words) < _ENGLISH_AFTER or any(word.lower() in _ENGLISH for word in words)


def parameters_without_words(tool: Tool) -> tuple[str, ...]:
    """Return the parameters of a tool without listed values and without a description beyond their name."""
    properties = tool.input_schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(name for name, value in cast("Mapping[str, Any]", properties).items() if not _says(name, value))


def _says(name: str, value: object) -> bool:
    detail = cast("Mapping[str, Any]", value if isinstance(value, Mapping) else {})
    said = detail.get("description")
    return bool(detail.get("enum")) or (isinstance(said, str) and not {*terms(said)} <= {*terms(name)})


def findings_of_servers(definitions: Sequence[Definition]) -> Iterator[HealthFinding]:
    """The findings of names and descriptions that tools of several servers share, one for the first of them."""
    names: defaultdict[str, list[Definition]] = defaultdict(list)
    texts: defaultdict[str, list[Definition]] = defaultdict(list)
    for definition in definitions:
        names[definition.tool.name.casefold()].append(definition)
        if text := " ".join(definition.tool.description.casefold().split()):
            texts[text].append(definition)
    for groups, rule, what in ((names, "same-name", "name"), (texts, "same-description", "description")):
        for group in groups.values():
            servers = {one.tool.server for one in group}
            same_names = len({one.tool.name.casefold() for one in group}) == 1
            if len(servers) > 1 and (rule == "same-name" or not same_names):
                others = tuple(one.name for one in group[1:])
                named = ", ".join(map(one_line, others[:_NAMED])) + (" ..." if len(others) > _NAMED else "")
                text = f"It has its {what} in common with tools of other servers: {named}."
                yield _finding(cast("Rule", rule), group[0], others, text)


def _finding(rule: Rule, definition: Definition, about: tuple[str, ...], message: str) -> HealthFinding:
    return HealthFinding(rule, definition.name, plain_name(definition.tool.server), about, message)


def in_order(findings: Sequence[HealthFinding]) -> tuple[HealthFinding, ...]:
    """Return findings by rule, the gravest first, and by tool."""
    rules = get_args(Rule)
    return tuple(sorted(findings, key=lambda one: (rules.index(one.rule), one.tool, one.about)))


async def try_tool(
    tools: ToolService, caller: Caller, definition: Definition, queries: Sequence[str]
) -> tuple[list[Trial], str]:
    """Search for a tool with some queries, at the usual budget, and pause for as long as that took.

    Args:
        tools: The service, which does not log.
        caller: The tenant and user whose tools are searched.
        definition: The tool.
        queries: The queries, each a search of its own.

    Returns:
        A trial for each query, none if the search does not choose; and why a search ran with less than both arms, empty
        if none did.
    """
    started = time.perf_counter()
    answers = await asyncio.gather(*(tools.find_tools(caller, queries=[query]) for query in queries))
    await asyncio.sleep(max(_PAUSE_SECONDS, time.perf_counter() - started))
    degraded = next((answer.degraded for answer in answers if answer.degraded), "")
    if any(answer.fallback or answer.selection == "off" for answer in answers):
        return [], degraded
    return [trial_of(definition, query, answer) for query, answer in zip(queries, answers, strict=True)], degraded


async def measure_tools(
    tools: ToolService, caller: Caller, own: Sequence[Definition], progress: Progress | None = None
) -> ToolHealth:
    """Find out whether some tools are found by what their own definitions say, in competition with all others.

    Args:
        tools: The service, which does not log.
        caller: The tenant and user whose tools are searched.
        own: The tools; the first `MOST_TOOLS` are searched for.
        progress: Called after each tool: how many are done, of how many.
    """
    findings = [finding for one in own for finding in findings_of_definition(one)]
    trials: list[Trial] = []
    degraded = ""
    for done, definition in enumerate(own[:MOST_TOOLS], 1):
        tried, lack = await try_tool(tools, caller, definition, own_queries(definition.tool))
        degraded = degraded or lack
        if lack and not tried:
            break
        trials += tried
        findings += findings_of_trials(definition, tried)
        if progress is not None:
            progress(done, min(len(own), MOST_TOOLS))
    found = sum(trial.found for trial in trials) / len(trials) if trials else None
    left = max(len(own) - MOST_TOOLS, 0)
    return ToolHealth(len(own) - left, left, len(trials), found, in_order(findings), degraded, dt.datetime.now(dt.UTC))


def joined(parts: Sequence[ToolHealth], findings: Sequence[HealthFinding]) -> ToolHealth:
    """Return the health of several servers as one.

    Args:
        parts: That of each server.
        findings: Further ones, such as of tools that several servers share.
    """
    queries = sum(part.queries for part in parts)
    found = sum(part.queries * part.found for part in parts if part.found is not None)
    return ToolHealth(
        tools=sum(part.tools for part in parts),
        left_out=sum(part.left_out for part in parts),
        queries=queries,
        found=found / queries if queries else None,
        findings=in_order([*(finding for part in parts for finding in part.findings), *findings]),
        degraded=next((part.degraded for part in parts if part.degraded), ""),
        measured_at=min((part.measured_at for part in parts if part.measured_at is not None), default=None),
    )
