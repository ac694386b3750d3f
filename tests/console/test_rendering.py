"""What others wrote is shown and never obeyed; numbers and times are as people write them."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import Any

import pytest

from thresher.console.charts import bars_of, columns_of, lines_of
from thresher.console.downloads import csv_file
from thresher.console.rendering import ago, link, markdown, milliseconds, page_of, percent, size, templates

NOW = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:x)",
    "[a](//evil.example/x)",
    "![a](https://evil.example/pixel.png)",
    "![a](javascript:alert(1))",
    "<https://evil.example/'onclick='alert(1)>",
    '[a](https://evil.example/"onclick="alert(1))',
    '[a](https://evil.example "x\\" onclick=\\"alert(1)")',
    "<a href='javascript:alert(1)'>a</a>",
    "<iframe src=https://evil.example></iframe>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content=0;url=https://evil.example>",
    "<base href=https://evil.example>",
    "<form action=https://evil.example><input name=key>",
    "`<script>alert(1)</script>`",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "```<script>\nx\n```",
    "| <script> |\n|---|\n| <img src=x onerror=y> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#106;avascript:alert(1)",
    "[a](&#106;avascript:alert(1))",
    "<!-- --><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "\u202e<script>\u202c",
    "{{ 7 * 7 }}{% for x in y %}",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_of_others_makes_no_active_element(text: str) -> None:
    """Only elements of text, only web links, no attribute but ours."""
    from bs4 import BeautifulSoup

    page = BeautifulSoup(str(markdown(text)), "html.parser")

    allowed = {"p", "a", "span", "code", "pre", "em", "strong", "ul", "ol", "li", "blockquote", "hr", "br", "s"}
    allowed |= {"div", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6"}
    for element in page.find_all():
        assert element.name in allowed
        assert set(element.attrs) <= {"href", "rel", "title", "class", "start", "tabindex", "role", "aria-label"}
        assert str(element.get("href", "https://")).startswith(("https://", "http://"))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_in_a_template_is_text(text: str) -> None:
    """Escaped, and with its invisible characters shown."""
    shown = templates().from_string('<p title="{{ value }}">{{ value }}</p>').render(value=text)

    assert shown.count("<") == 2
    assert "\u202e" not in shown


def test_a_link_names_its_host_and_an_image_is_not_loaded() -> None:
    """A reader sees where a link leads."""
    made = str(markdown("[docs](https://example.org/a) ![logo](https://evil.example/x.png)"))

    assert '<a href="https://example.org/a" rel="noopener nofollow">docs</a> <span class="host">(example.org)' in made
    assert "<img" not in made
    assert "(image, evil.example)" in made


def test_numbers_of_passages_are_links_to_them() -> None:
    """Only known ones, and none inside another link."""
    made = str(markdown("As said [1, 3; 2]. [[1]](https://example.org) `[1]`", {1: "/a?b&c", 2: '/"x"'}))

    assert 'As said [<a class="cite" href="/a?b&amp;c">1</a>, 3; <a class="cite" href="/&#34;x&#34;">2</a>].' in made
    assert made.count("cite") == 2
    assert str(markdown("[1]")) == "<p>[1]</p>\n"


def test_cells_are_aligned_without_a_style() -> None:
    """The policy of the console allows no style in a page."""
    made = str(markdown("| a | b |\n|--:|:-:|\n| 1 | 2 |"))

    assert '<td class="end">1</td>' in made
    assert '<td class="middle">2</td>' in made
    assert "style" not in made


@pytest.mark.parametrize("text", ["a" * 200_001, "*a" * 10_000, "[" * 10_000])
def test_what_would_take_long_to_be_read_as_markdown_is_shown_as_it_is(text: str) -> None:
    """With its characters escaped."""
    assert str(markdown(f"{text}<b>")) == f'<pre class="wrap">{text}&lt;b&gt;</pre>'


def test_a_value_that_comes_back_is_unchanged() -> None:
    """A hidden field holds the name itself, invisible characters and all."""
    shown = templates().from_string("{{ name|exact }}").render(name='a\u200b"b')

    assert shown == "a\u200b&#34;b"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (5, "5 s ago"), (65, "1 min ago"), (7_200, "2 h ago"), (86_400, "1 day ago"), (-90, "in 1 min")],
)
def test_times_are_relative_with_the_exact_one_beside_them(seconds: int, said: str) -> None:
    """And years ago are dates."""
    made = str(ago(NOW - dt.timedelta(seconds=seconds), NOW))

    assert f">{said}<" in made
    assert 'title="2026-05-0' in made
    assert ">04 May 2020<" in str(ago(dt.datetime(2020, 5, 4, tzinfo=dt.UTC), NOW))
    assert ago(None) == "never"


def test_sizes_and_durations_have_units() -> None:
    """Thousands of bytes, milliseconds, seconds."""
    assert [size(one) for one in (0, 999, 1_500, 2_000_000, 3e9)] == ["0 B", "999 B", "1.5 kB", "2.0 MB", "3.0 GB"]
    assert [milliseconds(one) for one in (0.25, 12.3, 2_345, 12_345)] == ["0.2 ms", "12 ms", "2,345 ms", "12.3 s"]


def test_links_hold_names_of_any_characters() -> None:
    """Empty parameters are left out."""
    assert page_of("/tools", "a/b ?#%") == "/tools/a%2Fb%20%3F%23%25"
    assert link("/x", path="a b", none=None, empty="", many=["1", "2"]) == "/x?path=a+b&many=1&many=2"


def test_bars_are_shares_of_the_longest() -> None:
    """Of nothing there is nothing to divide by."""
    assert [one.share for one in bars_of([("a", 2.0), ("b", 4.0), ("c", 0.0)]).bars] == [0.5, 1.0, 0.0]
    assert [one.share for one in bars_of([("a", 0.0)]).bars] == [0.0]


def test_lines_end_at_a_round_number_and_have_gaps() -> None:
    """A day without a value breaks a line; a day alone is a point; all share one scale."""
    days = ["1", "2", "3", "4"]
    plot = lines_of(days, [("half", "a", [36.0, 54.0, None, 9.0]), ("most", "b", [None, 90.0, None, None])], "ms")

    assert (plot.top, plot.names, plot.is_empty) == (100.0, ("1", "4"), False)
    assert plot.lines == [("a", "M90.0 115.2h0L270.0 82.8M630.0 163.8h0"), ("b", "M270.0 18.0h0")]
    assert [said for _, _, said in plot.steps] == [
        "1: half 36 ms",
        "2: half 54 ms, most 90 ms",
        "3: nothing",
        "4: half 9 ms",
    ]
    assert lines_of([], []).is_empty
    assert lines_of(["1"], [("half", "a", [None])]).is_empty


def test_columns_are_stacked_and_say_their_values() -> None:
    """Of nothing there is no column."""
    plot = columns_of(["1", "2"], [("worked", "good", [3, 0]), ("failed", "bad", [1, 0])])

    assert plot.top == 5.0
    assert [(one.kind, one.y, one.height) for one in plot.segments] == [("good", 72.0, 108.0), ("bad", 36.0, 36.0)]
    assert plot.steps[0] == (0.0, 360.0, "1: worked 3, failed 1")
    assert columns_of(["1"], [("worked", "good", [0])]).is_empty


def test_shares_that_are_nearly_all_are_not_rounded_to_all() -> None:
    """Nor those that are nearly nothing."""
    assert [percent(share) for share in (0, 0.004, 0.42, 0.996, 1, None)] == [
        "0 %",
        "0.4 %",
        "42 %",
        "99.6 %",
        "100 %",
        "",
    ]


def shown(value: Any) -> str:
    """A value as pages show any."""
    page = '{% import "pieces.html" as pieces %}{{ pieces.value(value) }}'
    return templates().from_string(page).render(value=value)


@pytest.mark.parametrize(
    "value", [[{"a": 1}, {"b": "x"}], [{"a": 1}, "x"], [{"a": 1}, None], {"a": [[{"a": 1}, {"b": "x"}]]}]
)
def test_a_list_whose_items_differ_is_shown(value: Any) -> None:
    """Servers answer with any JSON; a page shows it, whatever the first item is."""
    assert "1" in shown(value)


@pytest.mark.parametrize("name", ["list", "object"])
def test_a_value_that_nests_without_end_is_shown(name: str) -> None:
    """As far as that goes."""
    value: Any = 1
    for _ in range(900):
        value = [value] if name == "list" else {"a": value}

    assert "too deeply" in shown(value)


def test_a_table_that_is_larger_than_its_text_is_shown_as_it_is() -> None:
    """A row has as many cells as the first one: a short text could become a million elements."""
    text = f"|{'a|' * 400}\n|{'-|' * 400}\n" + "a\n" * 1_000

    assert markdown(text).startswith("<pre")
    assert "<table>" in markdown("a|b\n-|-\n" + "1|2\n" * 2_000)
    assert markdown("# a\n" * 20_000).startswith("<pre")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "\uff1d1+1", "\uff0b1"])
def test_a_cell_of_a_file_is_no_formula(cell: str) -> None:
    """A spreadsheet shows it as text, also in the line of names."""
    file = csv_file('a"\r\nx: y', [cell], [[cell]])

    written = list(csv.reader(io.StringIO(bytes(file.body).decode(), newline="")))
    assert written == [[f"'{cell}"], [f"'{cell}"]]
    assert file.headers["content-disposition"] == 'attachment; filename="a---x--y.csv"'
