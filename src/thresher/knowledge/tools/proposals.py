"""Descriptions that would let tools be found, made from their definitions by rules, and the queries that try them.

A proposal begins with a verb and an object, adds a verb of the same meaning, says what the tool takes, in words, and
what it takes that its nearest sibling does not. What the old description says is kept, if it says anything.

Invariant: pure. Queries of a trial are made of the name, the parameters and other words of the same meaning than those
of proposals, so a proposal cannot answer a question that was copied from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from thresher.core import Tool, first_sentence
from thresher.knowledge.tools.findability import description_rule, has_verb, parameters_without_words
from thresher.knowledge.tools.models import plain_name
from thresher.knowledge.tools.own_queries import (
    action_of,
    distinct,
    parameter_words,
    request_of,
    verb_of,
    verb_synonyms,
)
from thresher.search import split_name, terms

_PARAMETERS: Final = 4
_PARAMETER_WORDS: Final = 8
_DIFFERENT: Final = 3
_NOUNS: Final = """
account: profile
article: text, paper
branch: line of development
calendar: schedule, diary
cell: field
channel: chat room
city: town
code: source, program
column: field
comment: remark, note
commit: check-in
contact: person
content: text
customer: client
data: information
database: data store
date: day
diff: changes
directory: folder
document: paper, file
email: mail, message
entity: thing, node
error: problem, failure
event: appointment
file: document
folder: directory
forecast: outlook
graph: network
history: past
image: picture, photo
invoice: bill
issue: ticket, bug
item: entry
label: tag
log: history
message: note, text
meeting: appointment
memory: what is remembered
node: point
note: memo
order: purchase
page: site
path: location
photo: picture
post: article
price: cost
product: article
project: undertaking
relation: connection, link
repository: repo, code base
row: record, line
schedule: timetable
sheet: tab
status: state
table: grid
tag: label
task: to-do
team: group
text: words
ticket: issue
time: clock
transaction: payment
url: link, address
user: person, account
video: film, clip
weather: climate
worksheet: tab
"""
"""Nouns of tools, each with others of the same meaning, which only trials use."""


@cache
def _nouns() -> Mapping[str, str]:
    """Another word by the index term of a noun."""
    lines = (line.partition(": ") for line in _NOUNS.strip().splitlines())
    return {terms(noun)[0]: others.split(", ")[0] for noun, _, others in lines if terms(noun)}


def _in_other_words(words: str) -> str:
    """Words with the first noun that has another one of the same meaning replaced; empty if none has."""
    parts = words.split()
    for place, word in enumerate(parts):
        if other := _nouns().get(next(iter(terms(word)), "")):
            return " ".join((*parts[:place], other, *parts[place + 1 :]))
    return ""


def trial_queries(tool: Tool) -> tuple[str, ...]:
    """Return queries that do not depend on a tool's description: of its name, its parameters, and other words.

    The server's name is part of the one with parameters, as people say what they are talking about.
    """
    action = action_of(tool)
    server = split_name(plain_name(tool.server)).lower()
    thing = action.object or server
    held_out = verb_synonyms(action.verb)[_shown(action.verb) :]
    parameters = " and ".join(parameter_words(tool.input_schema)[:2])
    other = _in_other_words(thing)
    return distinct(
        (
            action.words,
            *(f"{verb} {thing}" for verb in held_out[:1]),
            f"{action.verb} {other}" if other and action.verb else other,
            f"{held_out[0]} {other}" if other and held_out else "",
            f"{action.verb} {thing} by {parameters} in {server}" if parameters else "",
        )
    )


def _shown(verb: str) -> int:
    """How many verbs of the same meaning a proposal shows; the others are kept for trials."""
    return max(len(verb_synonyms(verb)) - 1, 0)


def propose(tool: Tool, siblings: Sequence[Tool]) -> str:
    """Return a description of a tool.

    Args:
        tool: Its definition.
        siblings: The other tools of its server.
    """
    action = action_of(tool)
    server = split_name(plain_name(tool.server))
    sentences = " ".join(tool.description.split())
    first = first_sentence(tool.description)
    rule = description_rule(tool.description)
    if rule in ("no-description", "short-description", "vague-description"):
        verb = action.verb or ("show" if tool.annotations.get("readOnlyHint") is not False else "run")
        head, rest = f"{verb} {_with_article(action.object) if action.object else ''}".strip(), ""
    else:
        request = request_of(first)
        known = verb_of(request.partition(" ")[0]) or has_verb(first)
        head = request if known else f"{action.verb or 'get'} {request}"
        rest = sentences[len(first) :].strip() if sentences.startswith(first) else ""
    if not {*terms(server)} & {*terms(head)}:
        head = f"{head} in {server}" if " in " not in head else f"{head} ({server})"
    leading = verb_of(head.partition(" ")[0])
    same = [one for one in verb_synonyms(leading)[: _shown(leading)] if one not in head]
    meaning = (
        f" That is, {' or '.join(same)} {_with_article(action.object) if action.object else 'it'}." if same else ""
    )
    takes = _takes(tool)
    alone = _alone(tool, siblings)
    text = f"{head[:1].upper()}{head[1:].rstrip('.')}.{meaning}{takes}{alone}"
    return f"{text} {rest}".strip()


def _with_article(words: str) -> str:
    """A noun with its article: a plural has none."""
    return words if words.endswith("s") or words.startswith(("the ", "all ")) else f"the {words}"


def _takes(tool: Tool) -> str:
    """What a tool takes, in words: names of its parameters, and the first words of what is said of each."""
    properties = tool.input_schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return ""
    listed = tool.input_schema.get("required")
    required = {*cast("list[Any]", listed)} if isinstance(listed, list) else set[Any]()
    entries = cast("Mapping[str, Any]", properties)
    chosen = sorted(entries, key=lambda name: name not in required)[:_PARAMETERS]
    silent = parameters_without_words(tool)
    said = [split_name(name).lower() + ("" if name in silent else _said(entries[name])) for name in chosen]
    return f" Takes {', '.join(said)}."


def _said(parameter: Any) -> str:
    """The first words of a parameter's description, or its listed values, in brackets."""
    detail = cast("Mapping[str, Any]", parameter if isinstance(parameter, Mapping) else {})
    description, values = detail.get("description"), detail.get("enum")
    text = first_sentence(description) if isinstance(description, str) else ""
    words = re.sub(r"[()\[\].]", " ", text).split()[:_PARAMETER_WORDS]
    if not words and isinstance(values, list):
        words = ["or".join(f" {value} " for value in cast("list[Any]", values)[:_PARAMETERS]).strip()]
    return f" ({' '.join(words)})" if words else ""


def _alone(tool: Tool, siblings: Sequence[Tool]) -> str:
    """What tells a tool from the sibling that shares most of its words: parameters that only it has."""
    own = {*terms(split_name(tool.name))}
    near = max(siblings, key=lambda one: (len(own & {*terms(split_name(one.name))}), one.name), default=None)
    if near is None or len(own & {*terms(split_name(near.name))}) < 2:
        return ""
    theirs = {*parameter_words(near.input_schema)}
    different = [words for words in parameter_words(tool.input_schema) if words not in theirs][:_DIFFERENT]
    return f" Unlike {near.name}, it takes {' and '.join(different)}." if different else ""
