"""Tools that interfere with other tools: they steer, replace or imitate those of another server.

Invariant: a server may say anything about its own tools; only tools of another server and tools in general count.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from thresher.scanner.lexicon import SEND, words
from thresher.scanner.records import PeerTools
from thresher.scanner.sentences import Reason, Sentence

_NAME: Final = re.compile(
    r"(?<![\w./-])[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)+(?![\w/-])|(?<![\w./-])[a-z]+[A-Z]\w+(?![\w/-])"
)
_OTHER: Final = words(
    r"""\b(?:any|all|every|other|another|each)\s+(?:of\s+the\s+)?(?:\w+\s+){0,2}?(?:tools?|functions?)\b
    |\b(?:the|an?)\s+[`'"]?(?!same\b|current\b|following\b|given\b|tool\b|function\b|other\b)[\w-]+[`'"]?\s+(?:tool|function)\b"""
)
_STEERS: Final = words(
    r"""\b(?:modif(?:y|ies)|chang(?:e|es)|alter(?:s)?|affect(?:s)?|overrid(?:e|es)|intercept(?:s)?|hijack(?:s)?|redirect(?:s)?|rerout(?:e|es)|wrap(?:s)?)\s+(?:\w+\s+){0,2}?
      (?:behaviou?r|outputs?|arguments?|parameters?|results?|recipients?|calls?|usage|requests?)\s+(?:\w+\s+){0,3}?(?:of|to|for|from|made\s+by)\b
    |\b(?:replac|discard|ignor|overwrit|substitut)(?:e|es|ing)\s+(?:its|their|that|the)\s+(?:outputs?|results?|responses?|values?|data|answers?)\b[^.]{0,40}\bthis\b"""
)
_REPLACES: Final = words(
    r"\b(?:supersed(?:e|es)|takes?\s+precedence\s+over|takes?\s+the\s+place\s+of|shadows?|hijacks?|intercepts?|overrides?|replaces?|impersonates?)\b"
)
_OUTRIGHT: Final = words(r"(?:supersed|takes|hijack|intercept|impersonat)\w*")
_WHEN: Final = words(
    r"""\b(?:when(?:ever)?|every\s+time|each\s+time|if|before|after|once|any\s+time)\b[^.;]{0,60}?\b(?:is|are|gets?|was|being)\s+(?:\w+\s+)?(?:called|invoked|used|run|executed|triggered|requested)\b"""
)
_EFFECT: Final = words(
    rf"""\b(?:first|instead|must|always|silently|secretly|automatically|also)\b|\b(?:rerout|redirect|bcc|cc|replac|substitut|chang|modif|append|add|insert|swap|intercept|divert)\w*'?d?\b|{SEND}"""
)
_AVOIDS: Final = words(
    r"""\b(?:never|do\s+not|don't|must\s+not|stop|avoid)\s+(?:ever\s+)?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|trust(?:ing)?)\b|\binstead\s+of\b|\bin\s+place\s+of\b|\brather\s+than\b"""
)
_CALLS: Final = words(r"\b(?:call|invok|run|execut|trigger|us)(?:e|es|s|ing)?\b")
_MUST: Final = words(
    r"\b(?:must|should|shall|always|first|required|mandatory|instead|never|whenever|every\s+time|before|after|have\s+to|need\s+to)\b"
)
_ROUTES: Final = words(
    r"""\b(?:rout|redirect|direct|proxy|funnel|forward|divert|tunnel)\w*\s+(?:all|every|any|each)\s+(?:\w+\s+){0,4}?(?:requests?|calls?|operations?|traffic|queries|messages?|emails?|payments?|transfers?)\b[^.]{0,30}\b(?:here|(?:through|via|to)\s+(?:this|it|me|our))\b"""
)
_DISGRACES: Final = words(
    r"\b(?:is|are|has\s+been|was)\s+(?:now\s+)?(?:deprecated|insecure|unsafe|broken|obsolete|compromised|unreliable|malicious|disabled|untrusted|vulnerable)\b"
    r"|\b(?:returns|gives|produces|has)\s+(?:incomplete|wrong|stale|inaccurate|incorrect|corrupt\w*|false|outdated|bad)\b"
)
_AVOIDS_ALL: Final = words(
    r"""\b(?:always|only|instead|must)\b[^.]{0,40}\bthis\s+(?:tool|one|function)\b
    |\bthis\s+(?:tool|one|function)\b[^.]{0,40}\binstead\b"""
)
_OUTRANKS: Final = words(
    r"""\b(?:before|prior\s+to|instead\s+of|in\s+place\s+of|over|rather\s+than|ahead\s+of)\s+(?:\w+ing\s+)?(?:any|all|every|the)\s+(?:other\s+)(?:\w+\s+)?(?:tools?|functions?|servers?)\b"""
)
_ALIKE: Final = 0.9
_LEAST_NAME: Final = 6


def crossing(sentence: Sentence, peers: PeerTools, name: str) -> Iterator[Reason]:
    """Yield what a sentence does to other tools."""
    text = sentence.text
    if sentence.watches:
        return
    foreign = [found for found in _NAME.finditer(text) if is_foreign(found[0], peers, name)]
    known = [found for found in foreign if found[0] in peers.others]
    if (foreign or _OTHER.search(text)) and steers(sentence, peers):
        yield "override", "danger", "It changes what another tool does."
    elif (found := _WHEN.search(text)) and _other_in(found[0], peers, name) and _EFFECT.search(text[found.end() :]):
        if not sentence.mentions(found.start()):
            yield "override", "danger", "It adds something to the calls of another tool."
    elif (found := _ROUTES.search(text)) and not sentence.mentions(found.start()):
        yield "override", "danger", "It redirects calls of other tools to itself."
    elif foreign and (found := _DISGRACES.search(text)) and _AVOIDS_ALL.search(sentence.pair):
        yield "override", "warning", "It disparages another tool and recommends itself instead."
    elif known and _CALLS.search(text) and _MUST.search(text):
        yield "override", "warning", f"It tells the model when to call '{known[0][0]}', a tool of another server."
    elif known and _AVOIDS.search(text):
        yield "override", "warning", f"It tells the model not to use '{known[0][0]}', a tool of another server."
    elif (found := _OUTRANKS.search(text)) and _MUST.search(text) and not sentence.mentions(found.start()):
        yield "override", "warning", "It claims precedence over all other tools."


def imitates(name: str, summary: str, peers: PeerTools) -> Iterator[Reason]:
    """Report a tool that has the name of another server's tool and nearly the same summary."""
    ours = _plain(summary)
    for peer in peers.others.get(name, ()):
        theirs = _plain(peer.summary)
        if len(ours) < _LEAST_NAME or summary == peer.summary:
            continue
        if difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio() >= _ALIKE:
            yield (
                "override",
                "warning",
                f"It has the name and nearly the description of a tool of server '{peer.server}'.",
            )
            return


def poses(server: str, name: str, peers: PeerTools) -> Iterator[Reason]:
    """Report a name that, prefixed by its server's, reads as another server's tool: `good` with `x_pay`, `good_x`."""
    full = f"{server}_{name}"
    for found in re.finditer("_", full):
        if found.start() > len(server) and full[: found.start()] in peers.servers:
            yield (
                "override",
                "warning",
                f"With its server's name in front it reads as a tool of server '{full[: found.start()]}'.",
            )
            return


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))[:200]


def tool_names(text: str) -> Iterator[str]:
    """Yield tool names and words that look like them."""
    return (found[0] for found in _NAME.finditer(text))


def is_foreign(found: str, peers: PeerTools, name: str) -> bool:
    """Return whether a name belongs neither to the tool nor to its server."""
    return found != name and found not in peers.own


def steers(sentence: Sentence, peers: PeerTools) -> bool:
    """Return whether a sentence changes, replaces or shadows what another tool does."""
    text = sentence.text
    if (found := _STEERS.search(text)) and not sentence.mentions(found.start()):
        rest = text[found.end() :]
        return "this" in found[0] or bool(_NAME.search(rest) or _OTHER.search(rest))
    found = _REPLACES.search(text)
    if found is None or sentence.mentions(found.start()):
        return False
    before, after = text[: found.start()], text[found.end() : found.end() + 60].lstrip(" `'\"")
    if before.strip() and not re.search(r"\b(?:this\s+(?:tool|function|server)|it)\b", before, re.I):
        return False
    target = _NAME.match(after)
    known = target is not None and (target[0] in peers.others or _OUTRIGHT.match(found[0]))
    return bool(known) or _OTHER.match(after) is not None


def _other_in(clause: str, peers: PeerTools, name: str) -> bool:
    """Return whether a clause is about a call of another tool."""
    if re.search(r"\bthis\s+(?:tool|function)\b|\bit\s+(?:is|gets|was)\b", clause, re.I):
        return False
    named = any(is_foreign(found[0], peers, name) for found in _NAME.finditer(clause))
    return named or _OTHER.search(clause) is not None
