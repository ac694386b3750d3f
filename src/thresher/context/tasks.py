"""The tasks of a message, for searches of several kinds.

`search.clauses` cuts a message where it is safe for tools, which all compete with each other. Here the halves of "look
up what the speech says and mail it to Lisa" belong to two kinds, and neither is found by the whole: so a joint is also
one where the second half begins like an order.

Invariant: pure; the tasks are parts of the message, in order.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.search import clauses

MAX_TASKS: Final = 4
"""Tasks that are searched for one by one."""
_LEAST_WORDS: Final = 3
_LONGEST: Final = 1_000
"""Characters of a message that is looked at for joints; a longer one is no order but material."""
_LONGEST_CUT: Final = 20_000
"""Characters of a message that is cut at all: the search for tools reads no more of one."""
_JOINT: Final = re.compile(
    r"(?:[,;.:?]\s+(?:and\s+)?(?:then\s+|also\s+|afterwards\s+)?|\s+and\s+(?:then\s+|also\s+)?|\s+then\s+)(?=[a-z]+\s)",
    re.I,
)
_ORDERS: Final = frozenset(
    """add append archive assign attach block book build calculate cancel check close comment commit compare convert
    copy create cut delete deploy download draft draw email enter escalate export extract file fill find forward
    get give list look mail make mark merge move mute note open paste plot post print pull push put read record
    remember remind remove rename reply report run save say schedule search send set show store sum summarise
    summarize tell translate turn update upload use what when where which who write""".split()  # noqa: SIM905 - a text is easier to read
)
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def tasks_of(message: str) -> tuple[str, ...]:
    """Return the message as texts to search for, one for each of its tasks; the message alone if it has one."""
    if len(message) > _LONGEST_CUT:
        return (message,)
    cut = clauses(message)[1:]
    tasks = cut or (_halves(message) if len(message) <= _LONGEST else [])
    return tuple(tasks[:MAX_TASKS]) if len(tasks) > 1 else (message,)


def _halves(message: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for joint in _JOINT.finditer(message):
        left, right = message[start : joint.start()], message[joint.end() :]
        words = _WORD.findall(right.lower())
        begins = len(words) >= _LEAST_WORDS and words[0] in _ORDERS
        if begins and len(_WORD.findall(left)) >= _LEAST_WORDS:
            parts.append(left.strip())
            start = joint.end()
    return [*parts, message[start:].strip()] if parts else []
