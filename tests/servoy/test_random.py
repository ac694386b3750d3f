"""Random values, changes and bytes."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher.core import BrokenFile
from thresher.servoy import (
    REMOVED,
    CustomValue,
    Dialect,
    Document,
    Number,
    Value,
    custom_values,
    custom_values_text,
    new_document,
    read_document,
    with_changes,
)
from thresher.servoy.edits import same, with_value
from thresher.servoy.writer import quoted, unquoted

DIALECTS: tuple[Dialect, ...] = ("classic", "json")
TEXTS = st.text(max_size=12) | st.text('\\"/<>\r\n\t\u2028\ud83d\ue000 {}[],:|a', max_size=12)
KEYS = st.text(min_size=1, max_size=6) | st.sampled_from(["items", "uuid", "typeid", "name", "users", "usergroups"])
NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False).map(repr).map(Number)
    | st.sampled_from(["1.50", "-0", "1E+9"]).map(Number)
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.just(23),
    lambda one: st.lists(one, max_size=4) | st.dictionaries(KEYS, one, max_size=4),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=6)
FORMS = st.sampled_from(["classic", "json", "crlf", "blanks"])
RANDOM = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(value: Value, form: str) -> bytes:
    """A file that says a value, in one of the dialects or made by hand."""
    data = new_document(value, "json" if form in ("json", "blanks") else "classic")
    if form == "crlf":
        return data.replace(b"\n", b"\r\n")
    return data if form != "blanks" else b"\n" + data.replace(b"\n    ", b"\n  ").replace(b",\n", b" ,\n") + b"\n\n"


@RANDOM
@given(OBJECTS | st.lists(OBJECTS, max_size=3), st.sampled_from(DIALECTS))
def test_what_is_written_is_read_and_written_again(value: Value, dialect: Dialect) -> None:
    """The same values, the same bytes, in both dialects."""
    data = new_document(value, dialect)
    document = read_document(data)

    assert same(document.value, value)
    assert document.rendered() == data


BLANKS = st.text(" \t\n", max_size=8).filter(lambda blanks: bool(blanks.strip("\n")))


@RANDOM
@given(st.sampled_from(DIALECTS), st.sampled_from(["{}", "[]"]), BLANKS, st.sampled_from(["\n", "\r\n"]))
def test_blanks_between_brackets_of_nothing_come_back(dialect: Dialect, of: str, blanks: str, newline: str) -> None:
    """Whatever a person's editor left there; a change of another line leaves them alone."""
    inner: Value = {"d": "NOTHING", "e": 1}
    text = new_document({"a": 1, "b": "NOTHING", "c": inner}, dialect).decode()
    data = text.replace('"NOTHING"', of[0] + blanks + of[1]).replace("\n", newline).encode()
    document = read_document(data)

    assert document.rendered() == data
    assert with_changes(document, {("a",): 2}) == data.replace(b":1", b":2", 1)


@RANDOM
@given(TEXTS)
def test_texts_survive_their_quotation_marks(text: str) -> None:
    """Half a surrogate pair, too; two halves that meet become one character."""
    meant = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    assert unquoted(quoted(text)[1:-1]) == meant
    quoted(text).encode()


@RANDOM
@given(OBJECTS, OBJECTS, FORMS)
def test_any_value_can_become_any_other(before: Value, after: Value, form: str) -> None:
    """Whatever stands between them."""
    document = read_document(written(before, form))

    assert same(read_document(with_value(document, after)).value, after)


@RANDOM
@given(OBJECTS, FORMS, st.data())
def test_a_change_anywhere_keeps_every_line_that_it_does_not_mean(value: Value, form: str, data: st.DataObject) -> None:
    """Those before the place, and those behind what stood there; a comma may come or go on one beside it."""
    old = written(value, form)
    document = read_document(old)
    path = data.draw(st.sampled_from(list(_paths(value))))
    new: Value | object = data.draw(VALUES | st.just(REMOVED))
    if new is REMOVED and len(path) == 1 and len(value) == 1:
        return
    after = with_changes(document, {path: new})  # type: ignore[dict-item]
    first, last = _lines_of(document, path)
    lines = old.split(b"\n")

    assert after.split(b"\n")[: max(first - 2, 0)] == lines[: max(first - 2, 0)]
    behind = len(lines) - last - 1
    assert behind <= 0 or after.split(b"\n")[-behind:] == lines[-behind:]


def _lines_of(document: Document, path: tuple[str | int, ...]) -> tuple[int, int]:
    """First and last line of a value, from 1."""
    node = document.root
    for part in path:
        node = node.members[part][1] if isinstance(part, str) else node.elements[part]
    first = document.line_of(*path)
    return first, document.text.count("\n", 0, node.end) + 1


def _paths(value: Value, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [one for part, held in members for one in _paths(held, (*path, part))]


@RANDOM
@given(OBJECTS, FORMS)
def test_a_value_set_to_itself_changes_no_byte(value: Value, form: str) -> None:
    """Wherever it stands."""
    data = written(value, form)
    document = read_document(data)

    assert all(with_changes(document, {path: document.get(*path)}) == data for path in _paths(value)[:20])


@RANDOM
@given(st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "replace")))
def test_random_bytes_are_read_or_refused_with_a_place(data: bytes) -> None:
    """Nothing else ever happens."""
    _read_or_refused(data)


@RANDOM
@given(OBJECTS, FORMS, st.data())
def test_files_that_were_cut_or_overwritten_are_read_or_refused(value: Value, form: str, data: st.DataObject) -> None:
    """A byte changed, a part lost, a part twice: as disks and merges leave them."""
    whole = written(value, form)
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    noise = data.draw(st.sampled_from([b"", b'"', b"{", b"]", b",", b"\\", b"\x00", b"\xff", b"\r", whole[first:last]]))

    _read_or_refused(whole[:first] + noise + whole[last:])
    _read_or_refused(whole[:first] + noise + whole[first:])


def _read_or_refused(data: bytes) -> None:
    read = _read(data)
    if isinstance(read, BrokenFile):
        assert all((read.message, read.hint, read.line >= 1, read.column >= 1))
    else:
        assert same(read_document(read.rendered()).value, read.value)


def _read(data: bytes) -> Document | BrokenFile:
    try:
        return read_document(data)
    except BrokenFile as broken:
        return broken


LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=8)


@RANDOM
@given(st.lists(st.tuples(LINES, LINES), max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_custom_values_with_real_ones_survive_their_text(values: list[tuple[str, str]], newline: str) -> None:
    """Bars and backslashes in both."""
    held = tuple(CustomValue(display, real) for display, real in values if display != "\\-")

    assert custom_values(custom_values_text(held, newline)) == held


def test_a_change_deep_in_a_large_form_touches_two_lines() -> None:
    """One removed, one added, of thousands."""
    items: list[Value] = [{"typeid": 47, "uuid": f"{n:08X}", "json": {"text": f"t{n}", "n": n}} for n in range(3000)]
    for dialect in DIALECTS:
        data = new_document({"items": items, "typeid": 3}, dialect)
        after = with_changes(read_document(data), {("items", 1500, "json", "text"): "other"})
        pairs = [(old, new) for old, new in zip(data.split(b"\n"), after.split(b"\n"), strict=True) if old != new]

        assert len(pairs) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_members_may_come_go_and_move_at_once(dialect: Dialect) -> None:
    """Those that stay in their order keep their lines."""
    items = [{"typeid": 47, "uuid": one, "name": f"name {one}"} for one in "ABCDEFGH"]
    data = new_document({"items": [*items]}, dialect)
    wanted: list[Value] = [items[3], {"typeid": 47, "uuid": "X"}, items[0], items[4] | {"name": "new"}, items[7]]
    after = with_changes(read_document(data), {("items",): wanted})

    assert after == new_document({"items": wanted}, dialect)
    kept = difflib.SequenceMatcher(None, data.split(b"\n"), after.split(b"\n"), autojunk=False)
    assert sum(block.size for block in kept.get_matching_blocks()) >= 10
