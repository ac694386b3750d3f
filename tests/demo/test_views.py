"""What the demo prints, and its JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable

import pytest
from rich.console import Console, RenderableType

from tests.demo.answers import answer, consulted, found, guided, report, result
from thresher.core import dumps
from thresher.demo import views
from thresher.demo.messages import DemoMessage, LocalCall
from thresher.demo.report import CallRecord, IndexingResult, ToolsResult, report_json
from thresher.gateway import clients


def printed(*parts: RenderableType, width: int = views.WIDTH) -> str:
    """The text of renderables, without colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(*parts, sep="\n")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def everything() -> Iterable[RenderableType]:
    """All parts, with names and words as long as they come."""
    long = "server_" + "very_long_name_" * 5
    entry = answer(
        found(long[:64], terms=12),
        found("core_tool", source="core"),
        found("b", query=1),
        clauses=("first task", "second task"),
    )
    yield views.heading("A title")
    yield views.guided(1, guided("git", "a-pack-with-a-very-long-name-of-sixty-four-characters-in-all-of-it"))
    yield views.server_table(report().servers, report().left_out)
    yield views.indexing_line(report().indexing, "bge-small-en-v1.5")
    yield views.answer(1, entry)
    yield views.answer(2, answer(abstained=True, probability=0.04))
    yield views.answer(3, answer(degraded="no encoder", fallback=True))
    yield views.call(
        CallRecord(LocalCall("git", "git_log", {"repo_path": "/x" * 80}), "a\n" + "b" * 200, failed=False, ms=3)
    )
    yield views.consulted(1, consulted("[a/very/long/path.md, lines 1-2 | One > Two]\n" + "word " * 60))
    yield views.consulted(2, consulted(found=False))
    yield views.summary(report())


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal_and_none_is_blankly_wrapped(width: int) -> None:
    """At 100 and at 80 columns every line fits."""
    lines = printed(*everything(), width=width).splitlines()

    assert max(len(line) for line in lines) <= width


def test_a_picked_tool_shows_its_reasons() -> None:
    """Name, probability, ranks of both arms, matched words."""
    text = printed(views.answer(1, answer(found("time_convert_time", 0.971))))

    row = next(line.split() for line in text.splitlines() if "time_convert_time" in line)
    assert row == ["✓", "time_convert_time", "0.97", "#1", "-", "term0,", "term1"]


@pytest.mark.parametrize(("share", "text"), [(0.99977, "99.9%"), (1.0, "100.0%"), (0.998, "99.8%"), (0.0, "0.0%")])
def test_a_saving_is_rounded_down(share: float, text: str) -> None:
    """Never 100% when something is sent."""
    assert views.percent(share) == text


def test_tokens_and_time_stand_below_each_message() -> None:
    """All definitions against what is sent."""
    text = printed(views.answer(1, answer(found("time_convert_time"))))

    assert "200,000 in all 750 definitions, 400 sent (99.8% less)" in text
    assert "6.5 ms, 4.0 ms of them embedding" in text


def test_parts_of_one_message_are_told_apart() -> None:
    """Each clause is shown, and each tool names the part that it is for."""
    text = printed(views.answer(1, answer(found("a"), found("b", query=1), clauses=("text Ann", "add a task"))))

    assert "part 1: text Ann" in text
    assert next(line.split() for line in text.splitlines() if line.split()[:1] == ["b"])[4] == "2"


def test_an_abstention_says_so() -> None:
    """No table, the probability, and that nothing is sent."""
    text = printed(views.answer(8, answer(abstained=True, probability=0.04, tokens_sent=0)))

    assert "No tool fits (probability that any does: 0.04)" in text
    assert "meaning" not in text


def test_a_wanted_tool_that_was_not_picked_is_named() -> None:
    """The demo does not hide its misses."""
    assert "missed: time_convert_time" in printed(views.answer(1, answer(found("another"))))
    assert "missed" not in printed(views.answer(1, answer(found("time_convert_time"))))


def test_an_answer_is_right_when_it_picks_what_is_wanted_or_rightly_nothing() -> None:
    """All wanted tools, or an abstention where none is wanted."""
    haiku = DemoMessage("Write a haiku", "nothing fits")

    assert answer(found("time_convert_time"), found("b")).right
    assert not answer(found("b")).right
    assert ToolsResult(haiku, result(abstained=True)).right
    assert not ToolsResult(haiku, result(found("b"))).right


def test_rules_show_their_pack_and_nearest_line() -> None:
    """And a message that no rules fit says that it passes, with the best score."""
    fits, passes = printed(views.guided(1, guided("git"))), printed(views.guided(2, guided()))

    assert "✓  rules of git  0.90, like the line “commit it”" in fits
    assert "1,200" in fits
    assert "PASS_THROUGH: no rules fit (the best scores 0.10)." in passes


def test_rules_are_right_when_they_are_just_the_wanted_ones() -> None:
    """One pack too many is as wrong as one too few."""
    assert [guided(*packs).right for packs in ((), ("git",), ("git", "tools"))] == [False, True, False]


def test_a_passage_stands_under_its_question_with_its_cost() -> None:
    """If nothing fits, the view says so."""
    fits = printed(views.consulted(1, consulted()))
    nothing = printed(views.consulted(2, consulted("# rules", found=False)))

    assert "✓  git/SKILL.md, verbatim:" in fits
    assert "Never stage a secret." in fits
    assert "20 of at most 300; the document has 1,800" in fits
    assert "Nothing fits: a model gets the guide" in nothing


def test_a_passage_is_right_when_it_holds_what_is_wanted() -> None:
    """Another passage, or none, is a miss."""
    answers = (consulted(), consulted("Stage it."), consulted(found=False))

    assert [entry.right for entry in answers] == [True, False, False]


def test_core_tools_show_no_probability() -> None:
    """They are there by the owner's choice."""
    text = printed(views.answer(1, answer(found("clock_now", source="core"))))

    assert next(line.split()[1] for line in text.splitlines() if line.split()[:1] == ["clock_now"]) == "core"


def test_a_degraded_search_is_not_hidden() -> None:
    """The reason is above the tools."""
    assert "degraded: no encoder" in printed(views.answer(1, answer(found("a"), degraded="no encoder")))


@pytest.mark.parametrize(
    ("indexing", "words"),
    [
        (IndexingResult(750, 750, 0, 5.0), "750 tools embedded and stored in 5.0 s (150 a second"),
        (IndexingResult(750, 0, 750, 0.4), "Nothing embedded: all 750 tools are unchanged since the last run"),
        (IndexingResult(750, 20, 730, 0.5), "730 kept from the last run"),
    ],
)
def test_indexing_says_what_was_embedded(indexing: IndexingResult, words: str) -> None:
    """A second run embeds nothing and says so."""
    assert words in printed(views.indexing_line(indexing, "model"))


def test_a_missing_server_is_named_with_the_way_to_get_it() -> None:
    """Left out, not silently absent."""
    text = printed(views.server_table(report().servers, report().left_out))

    assert "memory      left out  npx is not on the PATH - install Node.js" in text
    assert "slow        left out  It said:" in text
    assert "1 tool " in text


def test_the_summary_counts_what_a_client_always_carries() -> None:
    """The saving is stated with Thresher's own definitions on top of the answer."""
    text = printed(views.summary(report()))

    assert "2,200 with Thresher (98.9% less)" in text
    assert "1 of 2 messages got the tools" in text
    assert "8.0 ms for a median message" in text
    assert "150 tools a second (bge-small-en-v1.5)" in text


def test_the_summary_of_a_second_run_boasts_no_rate() -> None:
    """Nothing embedded, no tools a second."""
    text = printed(views.summary(report(indexing=IndexingResult(750, 0, 750, 0.4))))

    assert "no tool is embedded twice" in text


def test_commands_to_copy_are_never_broken() -> None:
    """Each text is on one line, however long."""
    command = "/a/very/long/path" * 9

    lines = [line.plain for line in views.connections(clients(command))]

    assert any(line.strip() == f"claude mcp add --scope user thresher -- {command} stdio" for line in lines)


def test_a_report_without_answers_divides_by_nothing() -> None:
    """Zeros, not an error."""
    empty = report(answers=(), indexing=IndexingResult(0, 0, 0, 0.0))

    assert (empty.saved, empty.median_ms, empty.tokens_each, empty.indexing.rate) == (0.0, 0.0, 0, 0.0)
    assert answer(tokens_all=0).saved == 0.0


def test_json_holds_every_answer_with_its_reasons() -> None:
    """Shares are 0 to 1, counts integers."""
    document = json.loads(dumps(report_json(report())))

    assert document["messages"][0]["tools"][0]["dense_rank"] == 1
    assert document["messages"][1]["abstained"] is True
    assert document["summary"]["tokens_saved"] == pytest.approx(1 - 2_200 / 200_000)
    assert document["indexing"]["tools_per_second"] == 150.0
    assert document["left_out"][0]["name"] == "memory"
    assert document["calls"][0]["tool"] == "time/convert_time"
