"""More of a kept result: another question, the value at a place, some lines, or what matches an expression.

Invariant: pure. An expression has a time limit, and whatever is asked for fits the budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, cast

import regex

from thresher.core import InvalidInput
from thresher.embedding import count_tokens
from thresher.results.fitting import ROOMY, Fitted, fit, fits, lines_of_json
from thresher.results.formats import kind_of
from thresher.results.hypertext import text_of
from thresher.results.json_parts import pointer_text, read_json, write_json
from thresher.results.parts import estimated_tokens

PATTERN_SECONDS: Final = 0.5
_WINDOW: Final = 600
_ROWS: Final = 5
"""Most characters of a line that are delivered around a match; fewer where not so many matches would have room."""
_LONGEST_PATTERN: Final = 500
_LINES: Final = re.compile(r"\s*(\d{1,9})\s*(?:(?:-|\.\.|to|:)\s*(\d{1,9})?)?\s*")
_STEP: Final = re.compile(
    r"\.?(?:(?P<name>[\w$-]+)|(?P<any>\*))|\[(?:(?P<index>-?\d+)|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<all>\*))\]"
)
_INDEX: Final = re.compile(r"-?[0-9]{1,9}")
ANY: Final = "*"
_MOST: Final = 100_000
_STEPS: Final = 500
"""Values that a path with `*` gives at most, and steps that it has."""


def read_on(
    text: str,
    budget: int,
    *,
    mime: str = "",
    focus: str = "",
    pointer: str = "",
    lines: str = "",
    pattern: str = "",
    more: str = "",
) -> Fitted:
    """Read more of a result.

    Args:
        text: The whole result.
        budget: Most tokens of the answer.
        mime: Its media type; empty if it is not known.
        focus: Another question.
        pointer: JSON pointer such as `/items/3/name`, or a path such as `$.items[3].name`; `*` is every member.
        lines: `120-180`, or one line.
        pattern: A regular expression; the lines that match are delivered. Lines of a page are those of its text.
        more: How to get the rest, as the answer says it.

    Raises:
        InvalidInput: The place, the lines or the expression is not valid, or there is nothing there.
    """
    given = [bool(pointer), bool(lines), bool(pattern)]
    if sum(given) > 1:
        raise InvalidInput("Give one of pointer, lines and pattern.", hint="A focus may go with pointer or lines.")
    if pointer:
        return _at(text, pointer, budget, focus, more)
    if (lines or pattern) and kind_of(text, mime)[0] == "html":
        text = text_of(text)  # whose lines the answers have named
    if lines:
        return _lines(text, lines, budget, focus, more)
    if pattern:
        return _matching(text, pattern, budget, more)
    return fit(text, budget, focus, mime, more)


def _at(text: str, pointer: str, budget: int, focus: str, more: str) -> Fitted:
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        if (value := lines_of_json(text)) is None:
            raise InvalidInput(
                "This result is not JSON, so it has no pointers.", hint="Use lines, pattern or focus."
            ) from None
    keys = _keys(pointer)
    if len(keys) > _STEPS:
        raise InvalidInput(f"The pointer has {len(keys):,} steps.", hint=f"Give up to {_STEPS}.")
    found = list(islice(_found(value, keys, ()), _MOST + 1))
    if not found:
        raise InvalidInput(f"There is nothing at {pointer[:200]}.", hint=_near(value, keys))
    if ANY not in keys:
        place, one = found[0]
        return fit(write_json(one), budget, focus, "application/json", more, pointer=pointer_text(place))
    if len(found) > _MOST:
        more = f"the first {_MOST:,} values alone{more and '; '}{more}"
    several = {pointer_text(place): one for place, one in found[:_MOST]}
    return fit(write_json(several), budget, focus, "application/json", more)


def _keys(pointer: str) -> list[str]:
    pointer = pointer.strip()
    if pointer.startswith("/"):
        return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
    place = 1 if pointer.startswith("$") else 0
    keys: list[str] = []
    while place < len(pointer):
        step = _STEP.match(pointer, place)
        if step is None or step.end() == place:
            raise InvalidInput(
                f"'{pointer[:200]}' is neither a JSON pointer nor a path.",
                hint="Write /items/3/name or $.items[*].name.",
            )
        keys.append(next((one for one in step.group("name", "index", "single", "double") if one is not None), ANY))
        place = step.end()
    return keys


def _found(value: Any, keys: list[str], place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if not keys:
        yield place, value
        return
    key, rest = keys[0], keys[1:]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        for name in members if key == ANY and ANY not in members else (key,):
            if name in members:
                yield from _found(members[name], rest, (*place, name))
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        if key == ANY:
            for number, item in enumerate(items):
                yield from _found(item, rest, (*place, number))
        elif _INDEX.fullmatch(key) and -len(items) <= int(key) < len(items):
            yield from _found(items[int(key)], rest, (*place, int(key) % len(items)))


def _near(value: Any, keys: list[str]) -> str:
    """What there is where a path ends."""
    place: list[str | int] = []
    for key in keys:
        step = next(iter(_found(value, [key], ())), None)
        if step is None:
            break
        place.append(step[0][0])
        value = step[1]
    where = pointer_text(tuple(place)) or "the root"
    if isinstance(value, dict):
        names = list(cast("dict[str, Any]", value))
        return f"{where} has {len(names):,} members: {', '.join(names[:12])}{' ...' if len(names) > 12 else ''}"[:400]
    if isinstance(value, list):
        last = len(cast("list[Any]", value)) - 1
        return f"{where} is a list: its elements are 0 to {last}, and * is all of them."
    return f"{where} is a value without members."


def _lines(text: str, lines: str, budget: int, focus: str, more: str) -> Fitted:
    match = _LINES.fullmatch(lines)
    every = text.split("\n")
    if match is None:
        raise InvalidInput(f"'{lines}' is no range of lines.", hint=f"Write 120-180; there are {len(every):,} lines.")
    first = int(match[1])
    last = int(match[2]) if match[2] else (len(every) if re.search(r"\D\s*$", lines.strip()) else first)
    if not 1 <= first <= last or first > len(every):
        raise InvalidInput(f"There are no lines {lines}.", hint=f"There are {len(every):,} lines, from 1.")
    part = "\n".join(every[first - 1 : last])
    if focus:
        return fit(part, budget, focus, "text/plain", more, line=first)
    return _first_lines(part.split("\n"), first, budget, more)


def _first_lines(lines: list[str], first: int, budget: int, more: str) -> Fitted:
    """Lines from the first on, as many as fit; of a line that alone is too long the beginning."""
    whole = "\n".join(lines)
    if fits(whole, budget):
        return Fitted(whole, tokens := count_tokens(whole), "text", whole=True, whole_tokens=tokens)
    tail = f"\n[lines {first:,} to {{last:,}} of {first + len(lines) - 1:,}{more and '; '}{more}]"
    room = budget - count_tokens(tail) - 12
    low, high = 0, min(len(lines), whole.count("\n", 0, ROOMY * budget) + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens("\n".join(lines[:middle])) <= room else (low, middle - 1)
    kept = "\n".join(lines[:low])
    if not low:
        kept = lines[0][: ROOMY * budget]
        while kept and count_tokens(kept) > room - 8:
            kept = kept[: len(kept) * 3 // 4]
        kept = f"{kept}… [{len(lines[0]):,} characters]"
    text = kept + tail.format(last=first + max(low, 1) - 1)
    return Fitted(text, count_tokens(text), "text", whole=False, whole_tokens=estimated_tokens(whole), passages=(kept,))


def _spans(text: str, pattern: str) -> tuple[list[tuple[int, int]], bool]:
    """Where a pattern matches, and whether that is all: of many matches those found in time count."""
    if len(pattern) > _LONGEST_PATTERN:
        raise InvalidInput(f"The pattern has {len(pattern):,} characters.", hint=f"Give up to {_LONGEST_PATTERN}.")
    spans: list[tuple[int, int]] = []
    try:
        compiled = regex.compile(pattern, regex.MULTILINE)
        for match in compiled.finditer(text, timeout=PATTERN_SECONDS):
            spans.append(match.span())  # noqa: PERF401 - they are there when the time is up
    except regex.error as error:
        raise InvalidInput(
            f"The pattern is not valid: {error}.", hint="Write a regular expression as Python has them."
        ) from None
    except TimeoutError:
        if not spans:
            raise InvalidInput(
                f"The pattern took longer than {PATTERN_SECONDS:g} s.", hint="Write one without nested repeats."
            ) from None
        return spans, False
    if not spans:
        raise InvalidInput("Nothing matches the pattern.", hint="Try (?i) for any case, or a focus in place of it.")
    return spans, True


def _matching(text: str, pattern: str, budget: int, more: str) -> Fitted:
    spans, is_all = _spans(text, pattern)
    passages: list[str] = []
    lines: list[str] = []
    head = f"[{'' if is_all else 'over '}{len(spans):,} matches; the first {{count:,}} follow{more and '; '}{more}]"
    room = budget - count_tokens(head) - 8
    window = max(min(_WINDOW, 3 * room // min(len(spans), _ROWS)), 1)
    number, read, last_end = 1, 0, -1
    for start, end in spans:
        if start <= last_end:  # it stands in what was delivered
            continue
        first = text.rfind("\n", last_end + 1, start) + 1 or last_end + 1
        last = text.find("\n", end)
        last = len(text) if last < 0 else last
        number += text.count("\n", read, first)
        read = first
        begin = first if last - first <= window else max(first, start - window // 3)
        last_end = min(last, begin + window)
        line = text[begin:last_end]
        cut = "…" if begin and text[begin - 1] != "\n" else ""
        row = f"[{number}] {cut}{line}{'…' if last_end < last else ''}"
        cost = count_tokens(row) + 1
        if cost > room:
            break
        room -= cost
        lines.append(row)
        passages.append(line)
    text_out = "\n".join([head.format(count=len(lines)), *lines])
    return Fitted(
        text_out, count_tokens(text_out), "text", whole=False, whole_tokens=estimated_tokens(text), passages=passages
    )
