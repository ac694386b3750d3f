"""More of a kept result: places are those of the whole, and nothing that is asked for takes long."""

from __future__ import annotations

import json
import time

import pytest

from thresher.core import InvalidInput
from thresher.embedding import count_tokens
from thresher.results import fit, fits, read_on

ROWS = [{"id": number, "name": f"item {number}", "note": "n" * 30} for number in range(4_000)]
WHOLE = json.dumps({"rows": ROWS})


def test_pointers_and_lines_of_a_piece_are_those_of_the_whole() -> None:
    """So they lead on."""
    part = json.loads(read_on(WHOLE, 300, pointer="/rows", focus="item 1234").text)["parts"]
    text = "\n".join(f"line {number}" for number in range(1, 9_000))
    lines = read_on(text, 300, lines="5000-8999", focus="line 7000").text
    at = int(lines.partition("\n[")[2].partition("]")[0])

    assert "/rows/1234" in part
    assert all(json.loads(read_on(WHOLE, 300, pointer=pointer).text)["id"] is not None for pointer in part)
    assert f"ine {at}\n" in lines  # its beginning may be cut


def test_lines_of_a_page_are_those_that_its_part_has_named() -> None:
    """They are lines of its text, not of its markup."""
    rows = "".join(f"<p\n class=a>This is row {number}.</p>\n<script>x()</script>\n" for number in range(2_000))
    page = f"<html><body>{rows}<p>The zebra.</p></body></html>"
    part = fit(page, 300, "zebra").text
    near = int(part.rpartition("\n[")[2].partition("]")[0])
    matched = read_on(page, 300, pattern="zebra").text
    number = matched.rpartition("\n[")[2].partition("]")[0]

    assert "zebra" in read_on(page, 300, lines=f"{near}-").text
    assert read_on(page, 300, lines=number).text == "The zebra."


def test_every_match_in_one_long_line_is_delivered() -> None:
    """JSON is often one line; what is cut from a line is marked."""
    part = read_on(WHOLE, 500, pattern=r'"item \d*99"').text

    assert "40 matches" in part
    assert part.count('99"') >= 2
    assert "…" in part
    assert count_tokens(part) <= 500


@pytest.mark.parametrize("pattern", ["(?P<a>a)(?P<a>a)", "a{1,100}", "."])
def test_many_matches_take_no_time_each(pattern: str) -> None:
    """A line of megabytes is not searched again for each of them."""
    started = time.process_time()
    part = read_on("a" * 4_000_000, 500, pattern=pattern)

    assert part.tokens <= 500
    assert " matches; the first " in part.text
    assert time.process_time() - started < 10


def test_a_path_gives_all_values() -> None:
    """The shape of what it finds is not that of the first ones."""
    assert "4000 members" in read_on(WHOLE, 500, pointer="$.rows[*].id").text


@pytest.mark.parametrize("pointer", ["/rows/--1", "/rows/" + "9" * 5_000, "/rows" + "/0" * 5_000, "/rows/٣"])
def test_a_place_that_cannot_be_is_refused(pointer: str) -> None:
    """Whatever stands there."""
    with pytest.raises(InvalidInput) as refused:
        read_on(WHOLE, 500, pointer=pointer)

    assert len(refused.value.message) < 400


def test_json_with_a_byte_order_mark_is_json() -> None:
    """As some servers write it."""
    assert json.loads(fit("\ufeff" + WHOLE, 300).text)["parts"]


def test_a_text_of_long_tokens_fits() -> None:
    """A token may have 128 characters."""
    blanks = " " * 600_000

    assert count_tokens(blanks) <= 8_000
    assert fits(blanks, 8_000)


def test_a_table_with_lines_in_its_cells_is_a_table() -> None:
    """Quotes are closed before lines are counted."""
    table = "a,b,c\n" + "".join(f'{number},"x ""y""\nnew, line",{number * 2}\n' for number in range(3_000))

    assert fit(table, 300, "1234").kind == "csv"
