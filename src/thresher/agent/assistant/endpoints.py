"""Answers about APIs: finds operations, reads one in full, reports on use, says what descriptions lack.

A question may ask for a review of an API's description, whatever the API is called; recognising that is pure, and its
work is bounded by `READ_CHARACTERS`.

Invariant: an operation is read only if the question names it, or a search for it has found it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from thresher.agent.assistant.inquiry import SHOWN, Findings, Inquiry, Item, nonempty, record_of, rows_of, texts_of
from thresher.agent.assistant.questions import API_WORDS, READ_CHARACTERS, TABLE_WORDS, named_in, padded_words
from thresher.agent.assistant.records import AssistantCall, ResultSubject
from thresher.agent.assistant.toolbox import ToolAnswer, Toolbox

_DESCRIPTION: Final = (
    r"(?:descriptions?|docs?|documentation|specs?|specifications?|definitions?|summar(?:y|ies)|"
    r"(?:openapi|swagger)(?: (?:document|file))?)"
)
_ASSESSED: Final = re.compile(
    r"\b(?:improv\w*|enhanc\w*|wrong|problems?|flaws?|faults?|mistakes?|weak\w*|(?:issues|errors|gaps) (?:with|in|of)|"
    r"review\w*|lint\w*|audit\w*|assess\w*|criti\w+|evaluat\w*|rat(?:e|ed|ing)(?! limit)|"
    r"scor(?:e|es|ed)|grad(?:e|ed)|quality|feedback|"
    r"findings?|(?:un)?clear\w*|better|worse|bad\w*|poor\w*|(?:how|any|is|are|not) (?:well|good)|good enough|lack\w*|"
    r"miss(?:es|ing)?|(?:in)?complete\w*|fail\w*|fix\w*|"
    r"(?:hard|difficult|easy) to|confusing|check (?:the|our|my) (?:description|spec)\w*)\b"
)
"""Words that ask how good something is."""
_REVIEW_ORDERS: Final = (
    r"(?:improve|review|lint|rate|score|grade|audit|assess|evaluate|critici[sz]e|"
    r"(?:review|quality|scores?|feedback) (?:of|on|for)|(?:wrong|problems?|issues) (?:with|in|of)|"
    r"(?:suggest )?improvements? (?:of|for|to|in)|how good (?:is|are))"
)
_ORDERS: Final = frozenset({"improve", "review", "lint", "rate", "score", "grade", "audit", "assess", "evaluate"})
"""Verbs after which the name of an API alone is enough: no one says them of the weather."""
_BETWEEN: Final = (
    r"(?:of|for|from|in|on|behind|to|and|or|the|an?|our|my|your|this|that|which|s|own|has|have|apis?|rest|http|openapi|"
    r"called|named|@\w+)"
)
"""Words that may stand between an API's name and the words about it; `@` begins a name."""


def assesses(text: str) -> bool:
    """Return whether a text asks how good something is."""
    return _ASSESSED.search(padded_words(text)) is not None


def reviewed_in(text: str, names: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Return the APIs of which a text asks for a review, the first mentioned first.

    An API is meant if its name and a word for a description stand together, such as "the description of orders" or "the
    weather API's docs", and the text asks how good that is; or if it asks only for a review, such as "what is wrong
    with the orders API" or "improve tmdb". The name alone means nothing: tables have the same names.

    Args:
        text: The text.
        names: Each API with its names.
    """
    if (table := TABLE_WORDS.search(text[:READ_CHARACTERS])) is not None and not API_WORDS.search(table[0]):
        return ()
    calls = {padded: key for key, words in names for word in words if (padded := padded_words(word)).strip()}
    plain, order = padded_words(text[:READ_CHARACTERS]), list(dict.fromkeys(calls.values()))
    whole = plain
    for padded in sorted(calls, key=len, reverse=True):
        whole = whole.replace(padded, f" @{order.index(calls[padded])} ")
    places = dict.fromkeys(int(number) for number in re.findall(r"@(\d+)", whole))
    return tuple(
        order[number]
        for number in places
        if _is_all(whole, number) or (_is_described(whole, number) and _is_assessed(plain, calls, order[number]))
    )


def _is_assessed(plain: str, calls: Mapping[str, str], name: str) -> bool:
    """Return whether a text asks how good something is; an API's own name, such as `review`, does not count."""
    for padded in (one for one, key in calls.items() if key == name):
        plain = plain.replace(padded, " ", 1)
    return _ASSESSED.search(plain) is not None


def _is_described(whole: str, number: int) -> bool:
    """Return whether the text mentions a description of the API."""
    name = rf"@{number}\b"
    return bool(
        re.search(rf"\b{_DESCRIPTION} (?:{_BETWEEN} )*{name}|{name} (?:{_BETWEEN} )*{_DESCRIPTION}\b", whole)
        or re.search(rf"{name} (?:apis? )?(?:\w+ )?(?:described|documented)\b", whole)
    )


def _is_all(whole: str, number: int) -> bool:
    """Return whether a text asks only for a review of the API."""
    begins = (
        r"(?: (?:please|can|could|how|should|shall|do|does|i|we|you|would|let|us|what|whats|is|are|the|any|which|s))*"
    )
    name = rf"(?:{_BETWEEN} )*@{number}\b(?: apis?)?"
    ends = r"(?: (?:please|now|for me|have))* $"
    match = re.match(rf"{begins} ({_REVIEW_ORDERS}) {name}{ends}", whole)
    return match is not None and (" api" in whole or match[1] in _ORDERS)


SEARCH: Final = "search_api_docs"
READ: Final = "get_api_endpoint"
PROVIDERS: Final = "list_api_providers"
USAGE: Final = "analyze_api_usage"
IMPROVE: Final = "suggest_api_improvements"

EVERY_TAG: Final = "*"
"""Stands for the operations of all tags, those of a tag together."""
LISTED: Final = 25
"""Operations on a page of a list."""
READ_BUDGET: Final = 3_000
LISTABLE: Final = 0.9
"""The relevance of a provider's tags: the question asks for a list of its operations."""
LIKELY: Final = 0.25
"""Relevance from which the best operation is read if the question asks for details."""
_REVIEWED: Final = 3
"""Providers whose descriptions are reviewed if the question names none."""
_FINDINGS: Final = 10


async def find_endpoints(box: Toolbox, inquiry: Inquiry, *, limit: int = SHOWN) -> Findings:
    """Find operations for a task, of the providers that the question names, else of those that it continues."""
    arguments: dict[str, Any] = {"query": inquiry.text, "limit": limit}
    names = await _known(box)
    named = named_in(inquiry.text, names)
    if not named and (others := _carried(inquiry, names)):
        found = found_endpoints(await box.call(AssistantCall(SEARCH, {**arguments, "providers": others})))
        if found.results:
            return found
    outcome = await box.call(AssistantCall(SEARCH, arguments))
    if outcome.data.get("mode") == "browse" and rows_of(outcome.data, "endpoints") and outcome.data.get("cursor"):
        outcome = await box.call(AssistantCall(SEARCH, {**arguments, "limit": LISTED}))  # a list has longer pages
    return replace(found_endpoints(outcome), named=bool(named))


def found_endpoints(outcome: ToolAnswer) -> Findings:
    """Return the answer of `search_api_docs`."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    data = outcome.data
    rows = {str(row.get("id")): row for row in rows_of(data, "endpoints")}
    items = [_endpoint(row) for row in rows.values()] or [_tag(row) for row in rows_of(data, "tags")]
    if data.get("mode") == "browse":
        items = [item | nonempty({"group": next(iter(texts_of(item, "tags")), "")}) for item in items]
    cursor = data.get("cursor")
    degraded = data.get("degraded")
    return Findings(
        results=tuple(items),
        total=max(int(data.get("total") or 0), len(items)),
        relevance=max((float(item.get("relevance") or LISTABLE) for item in items), default=0.0),
        filters=nonempty({name: list(texts_of(data, name)) for name in ("providers", "methods")}),
        notes=(*texts_of(data, "notes"), *((f"limited search: {degraded}",) if degraded else ())),
        more=replace(outcome.call, arguments={**outcome.call.arguments, "cursor": cursor}) if cursor else None,
        subjects=tuple(map(_subject, items)),
        sources=tuple(dict.fromkeys(str(item["provider"]) for item in items)),
        page=int(outcome.call.arguments.get("limit") or SHOWN),
    )


async def read_named(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Return the operation that the question names by its id, or by method and path."""
    call = _named(inquiry)
    return Findings() if call is None else read(await box.call(call))


async def read_best(box: Toolbox, inquiry: Inquiry, found: Findings) -> Findings:
    """Return the findings; tags with their operations, and the best operation in full if the question asks for it."""
    if found.results and found.results[0]["kind"] == "tag":
        return await _list_operations(box, found)
    if inquiry.type not in ("endpoint_info", "tutorial"):
        return found
    if (call := _named(inquiry)) is not None and not (named := read(await box.call(call))).problems:
        return named
    if not found.results or found.relevance < LIKELY:
        return found
    details = read(await box.call(found.subjects[0].read))
    return _joined(details, found)


async def _list_operations(box: Toolbox, found: Findings) -> Findings:
    """Return the operations of the providers whose tags were found, tag by tag, page by page."""
    arguments = {"query": "", "providers": list(found.sources), "tags": [EVERY_TAG], "limit": LISTED}
    listed = found_endpoints(await box.call(AssistantCall(SEARCH, arguments)))
    return replace(listed, relevance=found.relevance, named=found.named) if listed.results else found


def read(outcome: ToolAnswer) -> Findings:
    """Return the answer of `get_api_endpoint`."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    data = outcome.data
    item = {**_endpoint(record_of(data, "endpoint")), "kind": "endpoint_details", "tool": READ}
    item.pop("next", None)
    item |= nonempty({name: data.get(name) for name in _DETAILS})
    provider = str(item.get("provider") or "")
    return Findings(
        (item,), 1, 1.0, nonempty({"providers": [provider]}), subjects=(_subject(item),), sources=(provider,)
    )


async def reviews_wanted(box: Toolbox, inquiry: Inquiry) -> tuple[str, ...]:
    """Return the names of providers of whose descriptions the question wants a review."""
    if PROVIDERS not in box or not assesses(inquiry.text):
        return ()
    return reviewed_in(inquiry.text, _names(rows_of((await box.call(AssistantCall(PROVIDERS))).data, "providers")))


async def report_usage(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Return figures of use, or a review of descriptions."""
    if inquiry.reviewed:
        return await _review(box, inquiry, inquiry.reviewed)
    known = rows_of((await box.call(AssistantCall(PROVIDERS))).data, "providers")
    named = named_in(inquiry.text, _names(known))
    if inquiry.cues.improving:
        return await _review(box, inquiry, named or tuple(str(one.get("name")) for one in known if one.get("active")))
    arguments = nonempty({"provider": named[0] if len(named) == 1 else "", "time_range": inquiry.cues.time_range})
    if inquiry.cues.metrics:
        arguments["metrics"] = [*inquiry.cues.metrics, "searches", "reads"]
    outcome = await box.call(AssistantCall(USAGE, arguments))
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    item = {**outcome.data, "kind": "usage", "tool": USAGE}
    filters = {"providers": list(named[:1]) if "provider" in arguments else [], "metrics": list(inquiry.cues.metrics)}
    return Findings((item,), 1, 1.0, nonempty({**filters, "time_range": outcome.data.get("time_range")}))


async def _review(box: Toolbox, inquiry: Inquiry, providers: Sequence[str]) -> Findings:
    """Return the flaws of some descriptions, or of one operation's."""
    wanted = nonempty({"feedback_type": inquiry.cues.feedback, "limit": _FINDINGS})
    subject = inquiry.asked.subject
    endpoint = inquiry.cues.endpoint_id or (subject.read.arguments.get("endpoint_id") if subject else "")
    about = (
        [nonempty({"endpoint_id": endpoint})] if endpoint else [{"provider": name} for name in providers[:_REVIEWED]]
    )
    parts = [
        reviewed(one)
        for one in await asyncio.gather(*(box.call(AssistantCall(IMPROVE, one | wanted)) for one in about))
    ]
    left = len(providers) - _REVIEWED
    names = [item["provider"] for part in parts for item in part.results if item["kind"] == "score"]
    return Findings(
        results=tuple(item for part in parts for item in part.results),
        total=sum(part.total for part in parts),
        relevance=1.0,
        filters=nonempty({"providers": names, "feedback_type": inquiry.cues.feedback}),
        notes=(f"{left} more providers: name the one that you mean",) if left > 0 and not endpoint else (),
        problems=tuple(problem for part in parts for problem in part.problems),
        more=parts[0].more if len(parts) == 1 else None,
        page=_FINDINGS + len(names),
    )


def reviewed(outcome: ToolAnswer) -> Findings:
    """Return the answer of `suggest_api_improvements`."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    cursor = outcome.data.get("cursor")
    more = replace(outcome.call, arguments={**outcome.call.arguments, "cursor": cursor}) if cursor else None
    results, total = tuple(_reviewed(outcome.data)), int(outcome.data.get("total") or 0)
    return Findings(results, total, 1.0, more=more, page=len(results))


def _reviewed(data: Mapping[str, Any]) -> list[Item]:
    about = {"provider": data.get("provider"), "version": data.get("version")}
    score: Item = {
        "kind": "score",
        "tool": IMPROVE,
        **about,
        "by_rule": data.get("by_rule"),
        "total": data.get("total"),
    }
    told = record_of(data, "score")
    score |= nonempty({"score": told.get("value"), "formula": told.get("formula")})
    findings = rows_of(data, "findings")
    return [
        score,
        *({**row, **about, "feedback": row.get("kind"), "kind": "finding", "tool": IMPROVE} for row in findings),
    ]


async def _known(box: Toolbox) -> list[tuple[str, tuple[str, ...]]]:
    """Return the active providers, each with its names."""
    if PROVIDERS not in box:
        return []
    return _names(
        [one for one in rows_of((await box.call(AssistantCall(PROVIDERS))).data, "providers") if one.get("active")]
    )


def _carried(inquiry: Inquiry, names: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    """Return where to search for a question that does not say so: the source of the last answer, or the context."""
    there = {name for name, _ in names}
    carried = [name for name in inquiry.asked.sources if name in there]
    return carried or list(named_in(inquiry.context, names))


def _names(providers: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (str(one.get("name")), (str(one.get("name")), str(one.get("display_name") or ""), *texts_of(one, "aliases")))
        for one in providers
    ]


def _named(inquiry: Inquiry) -> AssistantCall | None:
    """Return the call that reads the named operation; None if the question names none."""
    cues = inquiry.cues
    if cues.endpoint_id:
        return AssistantCall(READ, {"endpoint_id": cues.endpoint_id, "budget": READ_BUDGET})
    provider = inquiry.asked.sources[:1]
    where: dict[str, Any] = {"provider": provider[0], "budget": READ_BUDGET} if provider else {"budget": READ_BUDGET}
    if cues.path:
        return AssistantCall(READ, {"method": cues.method, "path": cues.path, **where})
    return AssistantCall(READ, {"operation_id": cues.names[0], **where}) if cues.names else None


def _joined(details: Findings, found: Findings) -> Findings:
    """Return an operation in full, and the others found with it."""
    if details.problems:
        return replace(found, problems=(*found.problems, *details.problems))
    others = tuple(zip(found.results[1:4], found.subjects[1:4], strict=True))
    return replace(
        found,
        results=(*details.results, *(item for item, _ in others)),
        total=1 + len(others),
        subjects=(*details.subjects, *(subject for _, subject in others)),
        more=None,
    )


def _endpoint(row: Mapping[str, Any]) -> Item:
    names = ("id", "title", "description", "provider", "version", "method", "path", "operation_id", "tags", "tips")
    item: Item = {"kind": "endpoint", "tool": SEARCH, **nonempty({name: row.get(name) for name in names})}
    item["relevance"] = row.get("relevance")
    item |= {"deprecated": True} if row.get("deprecated") else {}
    return item | {"next": {"tool": READ, "arguments": {"endpoint_id": row.get("id")}}}


def _tag(row: Mapping[str, Any]) -> Item:
    names = ("provider", "tag", "description", "operations")
    item: Item = {"kind": "tag", "tool": SEARCH, **nonempty({name: row.get(name) for name in names})}
    arguments = {"query": "", "providers": [row.get("provider")], "tags": [row.get("tag")]}
    return item | {"next": {"tool": SEARCH, "arguments": arguments}}


def _subject(item: Mapping[str, Any]) -> ResultSubject:
    provider = str(item.get("provider") or "")
    if item["kind"] == "tag":
        call = AssistantCall(SEARCH, {"query": "", "providers": [provider], "tags": [item.get("tag")], "limit": SHOWN})
        return ResultSubject("tag", f"{item.get('tag')} ({provider})", call, (provider,))
    name = f"{item.get('method')} {item.get('path')} ({provider})"
    return ResultSubject(
        "endpoint", name, AssistantCall(READ, {"endpoint_id": item.get("id"), "budget": READ_BUDGET}), (provider,)
    )


_DETAILS: Final = ("content", "parameters", "request", "responses", "auth", "schemas", "samples", "left_out")
