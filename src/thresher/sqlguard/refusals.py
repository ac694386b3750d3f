"""How a reader of a dialect says no: a rule, a sentence, a hint and a place in characters.

Invariant: pure; a refusal becomes a verdict in one spot, so that all dialects answer in the same form.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.sqlguard.records import Place, Rule, Verdict

_WORD: Final = re.compile(r'[\w."$]+|[-+*/<>=~!@#%^&|`?:]+')
SHOWN: Final = 80
"""Characters of the part that a place quotes."""


class Refused(Exception):
    """A statement may not run.

    Args:
        rule: What it broke.
        reason: The same in one sentence.
        hint: What to write instead.
        offset: Characters before the part that is meant; None: the whole statement.
        text: The part; empty: the word at the offset.
        kind: What kind of statement was recognised.
    """

    def __init__(
        self, rule: Rule, reason: str, *, hint: str = "", offset: int | None = None, text: str = "", kind: str = ""
    ) -> None:
        super().__init__(reason)
        self.rule: Rule = rule
        self.reason = reason
        self.hint = hint
        self.offset = offset
        self.text = text
        self.kind = kind

    def verdict(self, sql: str) -> Verdict:
        """The refusal of this text."""
        place = None if self.offset is None else place_at(sql, self.offset, self.text)
        return Verdict(False, self.rule, self.reason, self.hint, place, self.kind)


def place_at(sql: str, offset: int, text: str = "") -> Place:
    """The place of a part of the text.

    Args:
        sql: The whole text.
        offset: Characters before the part; moved inside the text where it is not.
        text: The part; empty: the text from the offset to the end of its word.
    """
    offset = max(0, min(offset, len(sql)))
    before = sql[:offset]
    shown = text or _word(sql[offset : offset + SHOWN])
    return Place(offset, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, shown[:SHOWN])


def _word(text: str) -> str:
    """The word or the operator that the text begins with, or its first line where it begins with neither."""
    line = text.split("\n", 1)[0].rstrip()
    found = _WORD.match(line)
    return found[0] if found else line
