"""Matches column names against keys, with a weight for how plainly the name means the key.

Invariant: a column costs a bounded number of lookups, whatever the size of the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thresher.connectors import Column
from thresher.knowledge.databases.relations.keys import PLAIN, NameForm, ParentIndex
from thresher.knowledge.databases.relations.lexicon import (
    AMOUNT_JOINTS,
    AMOUNTS,
    ATTRIBUTES,
    BY_SOMEBODY,
    MEASURES,
    NOT_KEYS,
    PERSONS,
    PREPOSITIONS,
    PURELY_UPWARD,
    QUALIFIERS,
    ROLES,
    UPWARD,
)
from thresher.knowledge.databases.relations.names import shortens, split, stem
from thresher.knowledge.databases.relations.records import ColumnName, NameMatch

SAME_NAME = 3.4
DECLARED = 4.0
LOOSE_LOSS = 0.6
CONTEXT = 3.9
CONTEXT_TAIL_LOSS = 0.4
ROLE_LOSS = 0.9
GLUED_ROLE_LOSS = 1.3
QUALIFIED_LOSS = 1.2
SHORT = 3.2
SHORT_ROLE_LOSS = 0.6
LEXICAL_ROLE = 3.0
LEXICAL_STEP = 0.04
LATER = 0.25
END = 2.6
BESIDE = 0.6
"""For a table that another column of the same table names: a match's winner is one of its teams."""
ONLY_ONE = 2.8

UPWARD_PURE = 3.6
UPWARD_ELSE = 2.0
VERB = 3.0
ALONE = 0.5
"""For the last words of a table's name if no other table ends with them."""
GLUED_LOSS = 0.2
NO_KEY_WORD_LOSS = 0.9
MEASURE_LOSS = 1.8
_LEAST_GLUED_ROLE = 4
_LEAST_VERB = 4
_LEAST_GLUED_PREPOSITION = 3
"""Letters: shorter ones are the ending of too many unrelated words."""
_LONGEST_SHORT = 7
_MOST_SHORT_WORDS = 4_000
"""Maximum distinct words that are compared with all names; beyond it only lookups are used."""
_LEAST_QUALITY = 0.3


@dataclass(frozen=True, slots=True)
class ChildColumn:
    """A column whose parent is searched for.

    Attributes:
        table: Its table's number.
        schema: Its table's schema.
        entity: Stems of its table's name.
        column: The column.
        names: The readings of its name.
        beside: What the table's columns name, each in one word.
        keyed: Whether the table has a single-column key.
    """

    table: int
    schema: str
    entity: tuple[str, ...]
    column: Column
    names: tuple[ColumnName, ...]
    beside: frozenset[str] = frozenset()
    keyed: bool = False


class Matcher:
    """Matches names against the keys of one schema; matches of a name alone are cached.

    Args:
        index: The keys.
    """

    def __init__(self, index: ParentIndex) -> None:
        self._index = index
        self._plain: dict[tuple[str, ColumnName], tuple[NameMatch, ...]] = {}
        self._shortened: dict[tuple[str, str], tuple[tuple[NameForm, float], ...]] = {}

    def matches(self, child: ChildColumn) -> dict[int, NameMatch]:
        """The best match for each key that the column may point to, by the key's number."""
        best: dict[int, NameMatch] = {}
        if _is_plural(child):
            return best
        for name in child.names:
            loss = GLUED_LOSS if name.glued else 0.0
            plain = self._of_name(child.schema, name)
            sure = any(match.whole and match.weight >= PLAIN for match in plain)
            for match in (*plain, *self._of_place(child, name, sure=sure)):
                known = best.get(match.key)
                if known is None or match.weight - loss > known.weight:
                    same = match.same or (known is not None and known.same)
                    best[match.key] = _less(match, loss, same=same) if loss or same != match.same else match
        return best

    def _of_name(self, schema: str, name: ColumnName) -> tuple[NameMatch, ...]:
        known = self._plain.get((schema, name))
        if known is None:
            known = self._plain[schema, name] = tuple(self._plainly(schema, name))
        return known

    def _plainly(self, schema: str, name: ColumnName) -> Iterator[NameMatch]:
        if (declared := self._index.declared.get(name.whole)) is not None:
            yield NameMatch(declared, DECLARED, "called like a column with a declared key to it", whole=True)
        if name.whole not in NOT_KEYS and name.core:
            for key in self._index.called(schema, name.whole):
                yield NameMatch(key, SAME_NAME, "named like the key", whole=True, same=True)
        if not name.core:
            return
        if not _names_something(name):
            yield from self._measured(schema, name)
            return
        loss = 0.0 if name.kind else NO_KEY_WORD_LOSS
        whole = tuple(self._whole(schema, name))
        yield from _lessened(whole, loss)
        if any(match.weight >= PLAIN for match in whole):
            return
        yield from _lessened(self._roles(schema, name), loss)
        if name.kind:
            yield from self._qualified(schema, name)
            yield from self._short(schema, name)
            if not whole and len(ends := self._index.ends.get((schema, name.joined), ())) == 1:
                yield NameMatch(ends[0].key, END, "the table's name ends with it")

    def _measured(self, schema: str, name: ColumnName) -> Iterator[NameMatch]:
        """`area` and `begin_area`: the word is that of a measure, but a table is called so."""
        *before, last = name.core
        if set(before) & (AMOUNTS | AMOUNT_JOINTS):
            return
        role = ROLE_LOSS if before else 0.0
        for form in self._index.named(schema, last):
            if form.own and self._index.keys[form.key].column.family == "integer":
                yield NameMatch(form.key, form.weight - role - MEASURE_LOSS, "a table has this name", whole=not role)

    def _whole(self, schema: str, name: ColumnName) -> Iterator[NameMatch]:
        joined = name.joined
        forms = self._index.named(schema, joined)
        alone = ALONE if len(forms) == 1 else 0.0
        for form in forms:
            text = "names the table" if form.own else "names the end of the table's name"
            yield NameMatch(form.key, form.weight + (0.0 if form.own else alone), text, whole=form.own)
        for form in self._index.loosely(schema, joined):
            yield NameMatch(form.key, form.weight - LOOSE_LOSS, "names the table in another form", whole=True)

    def _roles(self, schema: str, name: ColumnName) -> Iterator[NameMatch]:
        """`billing_address_id`: the last words name the table, and the words before them the role."""
        core = name.core
        for start in range(1, len(core)):
            rest, role = "".join(core[start:]), " ".join(core[:start])
            if start == len(core) - 1 and rest in ATTRIBUTES and not self._index.named(schema, rest):
                continue
            for form in self._index.named(schema, rest):
                yield NameMatch(form.key, form.weight - ROLE_LOSS, f"names the table in the role '{role}'")
            for form in self._index.loosely(schema, rest):
                yield NameMatch(form.key, form.weight - ROLE_LOSS - LOOSE_LOSS, f"role '{role}' of the table")
        if len(core) == 1:
            least = _LEAST_GLUED_ROLE if name.kind else _LEAST_GLUED_ROLE + 1
            yield from self._glued_roles(schema, core[0], least)

    def _glued_roles(self, schema: str, word: str, least: int) -> Iterator[NameMatch]:
        for start in range(2, len(word) - least + 1):
            if _is_amount(word[:start]):
                continue
            for form in self._index.forms.get((schema, stem(word[start:])), ())[:4]:
                if form.own:
                    text = f"ends with the table's name, '{word[:start]}' before it"
                    yield NameMatch(form.key, form.weight - GLUED_ROLE_LOSS, text)

    def _qualified(self, schema: str, name: ColumnName) -> Iterator[NameMatch]:
        """`airport_from_id`: the first words name the table."""
        core = name.core
        for end in range(len(core) - 1, 0, -1):
            if not set(core[end:]) <= QUALIFIERS:
                break
            for form in self._index.named(schema, "".join(core[:end])):
                yield NameMatch(form.key, form.weight - QUALIFIED_LOSS, f"the table, '{' '.join(core[end:])}'")

    def _short(self, schema: str, name: ColumnName) -> Iterator[NameMatch]:
        for form, quality in self._shortenings(schema, name.joined):
            yield NameMatch(form.key, SHORT * quality - _own_loss(form), f"'{name.joined}' shortens the table's name")
        if len(name.core) > 1:
            for form, quality in self._shortenings(schema, name.core[-1]):
                text = f"'{name.core[-1]}' shortens the table's name, in the role '{' '.join(name.core[:-1])}'"
                yield NameMatch(form.key, SHORT * quality - SHORT_ROLE_LOSS - _own_loss(form), text)

    def _shortenings(self, schema: str, word: str) -> tuple[tuple[NameForm, float], ...]:
        known = self._shortened.get((schema, word))
        if known is None:
            known = () if len(self._shortened) > _MOST_SHORT_WORDS or not word else self._shorten(schema, word)
            self._shortened[schema, word] = known
        return known

    def _shorten(self, schema: str, word: str) -> tuple[tuple[NameForm, float], ...]:
        found: list[tuple[NameForm, float]] = []
        for form in self._index.beginning(schema, word[0]):
            quality = _quality(word, form.words)
            if quality >= _LEAST_QUALITY:
                found.append((form, quality))
        found.sort(key=lambda pair: (-pair[1], sum(map(len, pair[0].words)), pair[0].key))
        return tuple(found[:6])

    def _of_place(self, child: ChildColumn, name: ColumnName, *, sure: bool) -> Iterator[NameMatch]:
        """Matches that depend on the column's own table: a part of it, a parent row, a role of a table's rows.

        If the name alone is certain, only a match with the table's name is as likely.
        """
        if not name.core:
            yield from self._bare(child, name)
        if not name.core or not _names_something(name):
            return
        loss = 0.0 if name.kind else NO_KEY_WORD_LOSS
        if name.kind and name.joined:
            yield from self._context(child, name)
        elif name.joined in ATTRIBUTES and child.column.family == "integer":
            yield from _lessened(self._context(child, name), loss)
        if sure:
            return
        yield from self._upward(child, name)
        yield from _lessened(self._lexical(child, name), loss)
        if not name.kind:
            yield from self._verb(child, name)

    def _bare(self, child: ChildColumn, name: ColumnName) -> Iterator[NameMatch]:
        """`uuid`, or `id` in a table without a key, if one table alone has a key that is called so."""
        keys = self._index.called(child.schema, name.whole)
        if (
            len(keys) == 1
            and self._index.keys[keys[0]].table != child.table
            and (name.whole != "id" or not child.keyed)
        ):
            yield NameMatch(keys[0], ONLY_ONE, "named like the key of one table alone", whole=True, same=True)

    def _context(self, child: ChildColumn, name: ColumnName) -> Iterator[NameMatch]:
        """`orders.status_id` matches `order_status`; a part of the table's own name is enough."""
        for start in range(len(child.entity)):
            for end in range(len(child.entity), start, -1):
                whole = "".join(child.entity[start:end]) + name.joined
                lost = CONTEXT_TAIL_LOSS * (start + len(child.entity) - end)
                for form in self._index.forms.get((child.schema, whole), ())[:4]:
                    if form.own and self._index.keys[form.key].table != child.table:
                        yield NameMatch(form.key, CONTEXT - lost, "with its own table's name it names the table")

    def _upward(self, child: ChildColumn, name: ColumnName) -> Iterator[NameMatch]:
        glued = name.joined
        pure = glued in PURELY_UPWARD or name.core[0] in PURELY_UPWARD
        if not pure and glued not in UPWARD and name.core[-1] not in UPWARD:
            return
        plain = len(name.core) == 1 or name.core[-1] in UPWARD or glued in UPWARD
        if not plain and "".join(name.core[1:]) not in ("".join(child.entity), child.entity[-1]):
            return
        for key in self._index.of_table.get(child.table, ())[:1]:
            yield NameMatch(key, UPWARD_PURE if pure else UPWARD_ELSE, "names another row of its own table")

    def _lexical(self, child: ChildColumn, name: ColumnName) -> Iterator[NameMatch]:
        role = name.joined if name.joined in ROLES else name.core[-1]
        if role not in ROLES and name.core[-1] in PREPOSITIONS:
            role = name.core[0]
        somebody = name.core[-1] in ("by", "von") and role not in ROLES
        if not name.kind and name.core[-1].endswith("ed") and name.core[-1] == role:
            return  # an adjective: `approved`
        there = 0
        for place, table in enumerate(BY_SOMEBODY if somebody else ROLES.get(role, ())):
            forms = [form for form in self._index.named(child.schema, stem(table))[:3] if self._plays(child, form)]
            for form in forms:
                late = LEXICAL_STEP * place + LATER * there
                beside = BESIDE if table in child.beside else 0.0
                weight = LEXICAL_ROLE + beside - late - 0.25 * (BOTH - min(form.weight, BOTH))
                yield NameMatch(form.key, weight, f"'{' '.join(name.core)}' is a role of the table's rows")
            there += bool(forms)

    def _plays(self, child: ChildColumn, form: NameForm) -> bool:
        """Whether rows of a table may have a role in the column's table; in their own table only if they are people."""
        return self._index.keys[form.key].table != child.table or child.entity[-1] in PERSONS

    def _verb(self, child: ChildColumn, name: ColumnName) -> Iterator[NameMatch]:
        """`ship_via` and `shipvia` match `shippers`; `taught_by` does not match."""
        verb, _, preposition = " ".join(_parted(name.core)).partition(" ")
        if preposition not in PREPOSITIONS or len(verb) < _LEAST_VERB:
            return
        verb = verb.removesuffix("ed")
        for form in self._index.beginning(child.schema, verb[0]):
            if len(form.words) == 1 and form.words[0] != verb and form.words[0].startswith(verb):
                yield NameMatch(form.key, VERB, f"'{verb}' is the verb of the table's name")


BOTH = 4.5


def _is_plural(child: ChildColumn) -> bool:
    """Whether a column without a key word counts or lists rows: `pages`, `up_votes`."""
    last = split(child.column.name)[-1:]
    return bool(last) and stem(last[0]) != last[0] and not any(name.kind for name in child.names)


def _names_something(name: ColumnName) -> bool:
    """Whether a column's name may be that of a reference: without a key word it must not be named like a measure."""
    if name.kind:
        return True
    if set(name.core[1:-1]) & AMOUNT_JOINTS or set(name.core[:-1]) & AMOUNTS:
        return False
    return name.core[-1] not in MEASURES or name.core[-1] in ROLES


def _parted(core: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name; a single word that ends with a longer preposition (`shipvia`) is split."""
    if len(core) != 1:
        return core
    ends = (end for end in sorted(PREPOSITIONS) if len(end) >= _LEAST_GLUED_PREPOSITION and core[0].endswith(end))
    end = next(ends, "")
    return (core[0].removesuffix(end), end) if end else core


def _is_amount(role: str) -> bool:
    """Whether the letters before a table's name make it a measure: `unitsonorder`."""
    if stem(role) in AMOUNTS:
        return True
    ends = (joint for joint in sorted(AMOUNT_JOINTS) if role.endswith(joint))
    return any(stem(role.removesuffix(joint)) in AMOUNTS for joint in ends)


def _lessened(matches: Iterable[NameMatch], loss: float) -> Iterable[NameMatch]:
    return (_less(match, loss, same=match.same) for match in matches) if loss else matches


def _less(match: NameMatch, loss: float, *, same: bool) -> NameMatch:
    return NameMatch(match.key, match.weight - loss, match.text, match.whole, same)


def _own_loss(form: NameForm) -> float:
    """The loss for an abbreviation of a name that is itself only a part."""
    return max(0.0, 0.5 * (BOTH - 0.6 - form.weight))


def _quality(word: str, name: tuple[str, ...]) -> float:
    """How well a word may abbreviate a name, 0 to 1."""
    if len(word) > _LONGEST_SHORT and len(name) == 1:
        return 0.9 if name[0].startswith(word) else 0.0
    if len(name) == 1:
        return shortens(word, name[0])
    if len(word) == len(name) and word == "".join(part[0] for part in name):
        return 0.75
    return _joined_quality(word, name)


def _joined_quality(word: str, name: tuple[str, ...]) -> float:
    """`custord` and `customer_order`: a prefix of each word in turn."""
    worst, rest = 1.0, word
    for number, part in enumerate(name):
        size = next((n for n in range(min(len(part), len(rest)), 0, -1) if part.startswith(rest[:n])), 0)
        if size < 2:
            return 0.0
        size = len(rest) if number == len(name) - 1 and part.startswith(rest) else size
        worst, rest = min(worst, 0.8 if size >= 3 or size == len(part) else 0.5), rest[size:]
    return worst if not rest else 0.0
