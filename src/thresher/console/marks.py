"""Texts of others with marks: what the scanner quotes of them, and what has changed in them.

Invariant: everything is escaped, and every invisible character is shown and marked. The work is bounded, whatever the
texts are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from markupsafe import Markup, escape

from thresher.foreign import visible

_UNSEEN: Final = re.compile(r"(?:<U\+[0-9A-F]{4,6}>)+")
_WORD: Final = re.compile(r"\S+\s*|\s+")
_LONGEST: Final = 100_000
"""Characters of a text in which quotations are looked for."""
_MOST_WORDS: Final = 4_000
"""Words that are compared one by one; longer texts are compared by lines, and as a whole if these are as many."""


def marked(text: str, quoted: Iterable[str] = ()) -> Markup:
    """A text in visible characters, with marks on invisible ones and on what is quoted from it.

    Args:
        text: Any text.
        quoted: Quotations, in visible characters, blanks joined, cut at an ellipsis. One whose words are not found in
            the text, invisible characters aside, is not marked: it was hidden in another way.
    """
    shown = visible(text, breaks=True)
    unseen = [found.span() for found in _UNSEEN.finditer(shown)]
    spans = [*unseen]
    # Where each character of the text without its invisible ones stands in what is shown.
    hidden = {at for start, end in unseen for at in range(start, end)}
    places = [at for at in range(min(len(shown), _LONGEST)) if at not in hidden]
    plain = "".join(shown[at] for at in places)
    for quotation in quoted:
        words = _UNSEEN.sub("", quotation.strip("…")).split()
        if words and (found := re.search(r"\s+".join(map(re.escape, words)), plain, re.IGNORECASE)):
            spans.append((places[found.start()], places[found.end() - 1] + 1))
    parts: list[str] = []
    at = 0
    for start, end in _merged(spans):
        parts += [escape(shown[at:start]), Markup("<mark>{}</mark>").format(shown[start:end])]
        at = end
    return Markup("").join([*parts, escape(shown[at:])])


def changed_words(old: str, new: str) -> Markup:
    """A new text with what was taken out of the old one, and what was put in, marked word by word."""
    before, after = visible(old, breaks=True), visible(new, breaks=True)
    words = _WORD.findall(before), _WORD.findall(after)
    if max(map(len, words)) > _MOST_WORDS:
        words = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(map(len, words)) > _MOST_WORDS:
        words = [before], [after]
    return Markup("").join(_changes(*words))


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Markup]:
    # Words that are very frequent are no anchors for it, which also bounds its work.
    for kind, start, end, begin, stop in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            yield escape("".join(new[begin:stop]))
            continue
        if end > start:
            yield Markup("<del>{}</del>").format("".join(old[start:end]))
        if stop > begin:
            yield Markup("<ins>{}</ins>").format("".join(new[begin:stop]))


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, end in sorted(spans):
        if last is None:
            last = start, end
        elif start <= last[1]:
            last = last[0], max(last[1], end)
        else:
            yield last
            last = start, end
    if last is not None:
        yield last
