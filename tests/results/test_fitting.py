"""What a large text says within a budget: valid, verbatim, within it, and with the answer."""

from __future__ import annotations

import json
import random
import threading
import time

import pytest

from thresher.embedding import count_tokens
from thresher.results import Fitted, fit, verbatim

ROWS = [
    {"id": number, "name": f"item {number}", "kind": ("red", "blue")[number % 2], "price": number * 3, "note": "n" * 20}
    for number in range(3_000)
]
TREE = {
    "packages": {
        f"lib-{number}": {
            "version": f"{number}.0.1",
            "license": "MIT",
            "files": [{"path": f"src/{number}/{part}.py", "size": part * 100} for part in range(12)],
        }
        for number in range(300)
    }
}
LOG = "\n".join(
    f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}Z "
    + ("ERROR disk /dev/sdb1 is full" if number == 1_777 else f"INFO request {number} served in {number % 90} ms")
    for number in range(4_000)
)
PROSE = "\n\n".join(
    f"# Part {number}\n\nThis part is about subject {number}. " + "Nothing else is said here. " * 12
    for number in range(300)
).replace("subject 217.", "the zebra of Lisbon, whose stripes are counted at 42.")
TABLE = "id,city,mayor\n" + "\n".join(f'{number},"Town, {number}",Name {number * 7}' for number in range(4_000))
PAGE = (
    "<!doctype html><html><head><style>p { color: red }</style><script>var x = 'zebra';</script></head><body>"
    + "".join(f"<h2>Part {n}</h2><p>Words &amp; words of {n}.</p><ul><li>one {n}</li></ul>" for n in range(900))
    + "<h2>Contact</h2><p>The <b>zebra</b> is at <a href='https://zoo.example/z'>the zoo</a>.</p></body></html>"
)
CODE = "\n\n".join(
    f'def function_{number}(value):\n    """Returns a value."""\n    total = value + {number}\n    return total'
    for number in range(900)
).replace("return total", "raise ZebraError('striped')", 1)
CASES = [
    (json.dumps(ROWS), "What does item 2345 cost?", "7035"),
    (json.dumps({"data": ROWS}, indent=2), "price of item 17", "51"),
    (json.dumps(TREE), "Which version does lib-123 have?", "123.0.1"),
    ("\n".join(map(json.dumps, ROWS)), "price of item 2000", "6000"),
    (LOG, "Which disk is full?", "/dev/sdb1"),
    (PROSE, "How many stripes has the zebra?", "42"),
    (TABLE, "Who is the mayor of Town 1234?", "Name 8638"),
    (PAGE, "Where is the zebra?", "https://zoo.example/z"),
    (CODE, "Which function raises ZebraError?", "function_0"),
]


@pytest.mark.parametrize("budget", [200, 500, 2_000])
@pytest.mark.parametrize(("text", "question", "answer"), CASES)
def test_the_answer_is_delivered_within_the_budget(text: str, question: str, answer: str, budget: int) -> None:
    """Whatever the kind; what is delivered stands in the text."""
    fitted = fit(text, budget, question)

    assert not fitted.whole
    assert fitted.tokens == count_tokens(fitted.text) <= budget
    assert answer in fitted.text
    assert all(verbatim(fitted, text))


@pytest.mark.parametrize("budget", [100, 300, 1_000])
@pytest.mark.parametrize("text", [text for text, _, _ in CASES])
def test_without_a_question_the_beginning_is_delivered(text: str, budget: int) -> None:
    """Within the budget, and JSON stays JSON."""
    fitted = fit(text, budget)

    assert fitted.tokens <= budget
    if fitted.kind == "json":
        json.loads(fitted.text)


def test_a_text_that_fits_is_the_text() -> None:
    """Byte for byte, blanks and all."""
    text = ' {"a" : 1.50}\r\n'

    assert fit(text, 100).text is text


def test_the_shape_counts() -> None:
    """Elements, the values of a field that has few, ranges; and sums where they are asked for."""
    shape = json.loads(fit(json.dumps(ROWS), 900, "What is the total price?").text)["shape"]

    assert shape.startswith("[3000 x {id: 0 … 2999")
    assert '"red" x1500 | "blue" x1500' in shape
    assert f"sum {sum(row['price'] for row in ROWS)}" in shape
    assert 'note: "nnnnnnnnnnnnnnnnnnnn" in all' in shape


@pytest.mark.parametrize(("question", "row"), [("Which item is the most expensive?", 2_999), ("the cheapest", 0)])
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_superlative_finds_its_row(question: str, row: int, kind: str) -> None:
    """Though it shares no word with the question."""
    rows = random.Random(3).sample(ROWS, len(ROWS))
    table = "id,name,price\n" + "\n".join(f"{one['id']},{one['name']},{one['price']}" for one in rows)
    fitted = fit(json.dumps(rows) if kind == "json" else table, 300, question)

    assert f"item {row}" in fitted.text


def test_repeats_in_a_log_are_counted() -> None:
    """Lines that differ in digits alone are one, with how many there are; a failure is kept unasked."""
    fitted = fit(LOG, 300)

    assert "ERROR disk /dev/sdb1 is full" in fitted.text
    assert "x3999 alike" in fitted.text
    assert "ERROR x1" in fitted.text


def test_long_strings_are_cut_around_what_answers() -> None:
    """With their length; an element's identity goes along."""
    text = json.dumps([{"id": 7, "title": "Report", "body": "blah " * 6_000 + "the zebra sleeps. " + "blah " * 6_000}])
    part = json.loads(fit(text, 400, "What does the zebra do?").text)["parts"]

    assert "the zebra sleeps" in part["/0/body"]
    assert part["/0/body"].endswith("[60,018 characters]")
    assert part["/0"]["title"] == "Report"


def test_large_integers_stay_exact() -> None:
    """More than 64 bits, too."""
    text = json.dumps([{"name": f"n{number}", "value": 10**30 + number} for number in range(900)])

    assert str(10**30 + 500) in fit(text, 300, "value of n500").text


@pytest.mark.parametrize(
    "text",
    [
        *(
            " " * 90_000,
            "\n" * 90_000,
            "[" * 90_000,
            "<" * 90_000,
            '"' * 90_000,
            "\ud800 x" * 30_000,
            "é…漢字" * 20_000,
        ),
        *("<script" * 20_000, "<pre>" * 20_000, "a,b,c\n" + '"' * 90_001, "[NaN," + "1," * 30_000 + "2]"),
        *('{"a":"' + "x" * 90_000 + '"}', "[" * 400 + "]" * 400 + " " * 90_000, "-" * 90_000, "a_" * 50_000),
    ],
)
def test_odd_texts_fit(text: str) -> None:
    """Malformed, endless lines, nesting, lone surrogates: always an answer within the budget."""
    fitted: Fitted = fit(text, 200, "what is a_b?")

    assert fitted.tokens <= 200
    assert count_tokens(fitted.text) <= 200


def test_what_all_elements_have_is_said_once() -> None:
    """In place of every element; the members that differ stay with them."""
    rows = [{"id": number, "currency": "EUR", "owner": "acme", "sum": number * 7} for number in range(2_000)]
    part = json.loads(fit(json.dumps({"bills": rows}), 400, "sum of bill 77 and of bill 78").text)

    assert part["in_all"] == {"/bills": {"currency": "EUR", "owner": "acme"}}
    assert part["parts"]["/bills/77"] == {"id": 77, "sum": 539}


def test_one_long_line_holds_no_other_thread_up() -> None:
    """An expression that runs over megabytes in one match would: none does."""
    text, waited, done = "ab cd " * 1_500_000, [0.0], threading.Event()

    def beat() -> None:
        while not done.is_set():
            before = time.perf_counter()
            done.wait(0.001)
            waited.append(time.perf_counter() - before)

    beating = threading.Thread(target=beat)
    beating.start()
    started = time.perf_counter()
    fit(text, 500, "cd")
    took = time.perf_counter() - started
    done.set()
    beating.join()

    assert max(waited) < max(took / 2, 0.1)
