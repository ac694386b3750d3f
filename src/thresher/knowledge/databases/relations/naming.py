"""Names of a whole schema: what its tables are called without the marks that all of them carry, and its columns.

Invariant: pure and linear in the number of tables and columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from thresher.connectors import Table
from thresher.knowledge.databases.relations.lexicon import (
    GLUED_KEYS,
    KEY_WORDS,
    LEADING_KEYS,
    NOT_GLUED,
    OUTER_MARKS,
    TABLE_MARKS,
    KeyKind,
)
from thresher.knowledge.databases.relations.records import ColumnName
from thresher.knowledge.databases.relations.words import split, stem

_FEW_TABLES = 4
_SHARED = 0.6
_SHARED_COLUMNS = 0.7
_SHORT_MARK = 3
_GLUED_MARK = 2
_LEAST_GLUED_CORE = 2


def table_words(tables: Sequence[Table]) -> list[tuple[str, ...]]:
    """The stems of each table's name, without marks like `tbl_` and prefixes that a schema's tables share."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        groups[table.schema].append(number)
    found: list[tuple[str, ...]] = [()] * len(tables)
    for numbers in groups.values():
        named = _without_glued_mark([split(tables[number].name) for number in numbers])
        shared = _shared_marks(named)
        for number, words in zip(numbers, named, strict=True):
            found[number] = tuple(stem(word) for word in _unmarked(words, shared)) or (tables[number].name.lower(),)
    return found


def _unmarked(words: tuple[str, ...], shared: frozenset[str]) -> tuple[str, ...]:
    while len(words) > 1 and (words[0] in TABLE_MARKS or words[0] in shared or words[0].isdigit()):
        words = words[1:]
    return words


def _shared_marks(named: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """First words that most tables share, or short ones that some share, where no table is called so itself."""
    first = Counter(words[0] for words in named if len(words) > 1)
    alone = {stem(words[0]) for words in named if len(words) == 1}
    return frozenset(
        word
        for word, count in first.items()
        if stem(word) not in alone
        and (
            (count >= _FEW_TABLES and count > _SHARED * len(named))
            or (count >= _FEW_TABLES and len(word) <= _SHORT_MARK and count > len(named) / 5)
        )
    )


def _without_glued_mark(named: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Names like `tblkunden`, where all of a schema's tables begin with the same letters."""
    whole = [words[0] if words else "" for words in named]
    mark = _beginning(min(whole), max(whole)) if len(named) >= _FEW_TABLES else ""
    if len(mark) < _GLUED_MARK or any(word == mark for word in whole):
        return list(named)
    return [(words[0][len(mark) :], *words[1:]) for words in named]


def _beginning(first: str, last: str) -> str:
    """What the first and the last of sorted words share, and so all of them."""
    size = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:size]


def column_prefix(table: Table) -> str:
    """The word that nearly all columns of a table begin with, such as `l` in `l_orderkey`; empty without one."""
    named = [split(column.name) for column in table.columns]
    first = Counter(words[0] for words in named if len(words) > 1)
    if not first or len(named) < 2:
        return ""
    word, count = first.most_common(1)[0]
    return word if count >= max(2, _SHARED_COLUMNS * len(named)) and word not in LEADING_KEYS else ""


@lru_cache(maxsize=65_536)
def read_column(name: str, prefix: str = "") -> tuple[ColumnName, ...]:
    """The ways to read a column's name, the plainest first; at least one.

    Args:
        name: As the catalog has it.
        prefix: What `column_prefix` found for its table.
    """
    words = split(name)
    readings = dict.fromkeys(_readings(words))
    if prefix and len(words) > 1 and words[0] == prefix:
        readings |= dict.fromkeys(_readings(words[1:]))
    return tuple(readings) or (ColumnName((), "", name.lower()),)


def _readings(words: tuple[str, ...]) -> Iterator[ColumnName]:
    if not words:
        return
    whole = "".join(stem(word) for word in words)
    core, kind = _without_key_words(words)
    yield ColumnName(_stems(core), kind, whole)
    if not kind and (glued := _unglued(words)):
        yield ColumnName(_stems(glued[0]), glued[1], whole, glued=True)


def _without_key_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], KeyKind]:
    core, kind = words, ""
    while len(core) > 1 and core[-1].isdigit():
        core = core[:-1]
    while core and core[-1] in KEY_WORDS:
        kind, last, core = KEY_WORDS[core[-1]], core[-1], core[:-1]
        if last not in OUTER_MARKS:
            break
    while len(core) > 1 and (core[0] in OUTER_MARKS or (not kind and core[0] in LEADING_KEYS)):
        kind = kind or KEY_WORDS.get(core[0], "id")
        core = core[1:]
    if len(core) == 1 and core[0] in LEADING_KEYS and kind:
        core = ()
    return core, kind


def _unglued(words: tuple[str, ...]) -> tuple[tuple[str, ...], KeyKind] | None:
    last = words[-1]
    if last in NOT_GLUED:
        return None
    for ending in GLUED_KEYS:
        if last.endswith(ending) and len(last) - len(ending) >= _LEAST_GLUED_CORE:
            return (*words[:-1], last[: -len(ending)]), KEY_WORDS[ending]
    for beginning in ("id", "fk"):
        if len(words) == 1 and last.startswith(beginning) and len(last) - len(beginning) > _LEAST_GLUED_CORE:
            return (last[len(beginning) :],), "id"
    return None


def _stems(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(stem(word) for word in words if not word.isdigit())
