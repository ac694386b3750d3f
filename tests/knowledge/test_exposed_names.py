"""Names that clients see."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import did_you_mean, nearest
from thresher.knowledge.tools.models import META_TOOLS
from thresher.knowledge.tools.naming import NAME_LIMIT, expose

pairs = st.lists(st.tuples(st.text(max_size=90), st.text(min_size=1, max_size=200)), unique=True, max_size=12)


def test_a_name_is_server_and_tool() -> None:
    """The usual case needs no change."""
    assert expose([("git", "git_log"), ("time-2", "convert.time")]) == ["git_git_log", "time-2_convert.time"]


def test_a_long_name_is_cut_and_stays_apart_from_its_neighbours() -> None:
    """Two names with the same first 64 characters differ after the cut."""
    names = expose([("server", "x" * 100 + "a"), ("server", "x" * 100 + "b")])

    assert [len(name) for name in names] == [NAME_LIMIT, NAME_LIMIT]
    assert names[0] != names[1]


def test_the_first_of_two_clashing_tools_keeps_the_plain_name() -> None:
    """`a` + `b c` and `a` + `b_c` clash; a new tool never renames an older one."""
    alone = expose([("a", "b c")])
    both = expose([("a", "b c"), ("a", "b_c")])

    assert alone == ["a_b_c"]
    assert both[0] == "a_b_c"
    assert re.fullmatch(r"a_b_c_[0-9a-f]{6}", both[1])


@pytest.mark.parametrize("order", [1, -1])
def test_no_tool_has_a_name_that_reads_as_another_servers(order: int) -> None:
    """`goodx` with `bank_pay` is not `pay` of `goodx_bank`, whichever came first, and whether that server has one."""
    tools = [("goodx", "bank_pay"), ("goodx", "bank_refund"), ("goodx", "rate"), ("goodx_bank", "pay")][::order]

    assert sorted(expose(tools)) == ["goodx.bank_pay", "goodx.bank_refund", "goodx_bank_pay", "goodx_rate"]


def test_a_name_that_goes_out_unchanged_does_not_read_as_another_servers_either() -> None:
    """The server's own name may begin its tools' names."""
    tools = [("notes", "notes_add"), ("notes", "bank_pay"), ("bank", "close")]

    assert expose(tools, bare=frozenset({"notes"})) == ["notes_add", "notes_bank_pay", "bank_close"]


def test_no_tool_takes_a_name_of_the_gateway() -> None:
    """A server `find` with a tool `tools` does not hide find_tools."""
    name = expose([("find", "tools")], META_TOOLS)[0]

    assert name.startswith("find_tools_")


def test_a_name_in_another_script_still_gets_a_usable_one() -> None:
    """Letters that clients refuse are replaced, and a hash keeps the names distinct."""
    names = expose([("翻訳", "日本語"), ("翻訳", "中文化")])

    assert len(set(names)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in names)


@given(pairs)
def test_names_are_valid_unique_and_always_the_same(tools: list[tuple[str, str]]) -> None:
    """Whatever the names of servers and tools."""
    names = expose(tools, META_TOOLS)

    assert names == expose(tools, META_TOOLS)
    assert len(set(names)) == len(tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in names)
    assert not set(names) & META_TOOLS


@given(pairs, st.tuples(st.text(max_size=9), st.text(min_size=1, max_size=9)))
def test_a_newcomer_renames_nobody(tools: list[tuple[str, str]], newcomer: tuple[str, str]) -> None:
    """Names do not change when a tool is added at the end, unless they began with the name of its server."""
    before, prefix = expose(tools), re.sub(r"[^A-Za-z0-9_.-]", "_", newcomer[0].partition(":")[0]) + "_"

    after = expose([*tools, newcomer])

    assert [new for old, new in zip(before, after, strict=False) if not old.startswith(prefix)] == [
        old for old in before if not old.startswith(prefix)
    ]


def test_near_names_are_found_in_ten_thousand_in_a_moment() -> None:
    """A mistyped name costs milliseconds, not a walk through all spellings."""
    known = [f"server{number % 70}_tool_number_{number}" for number in range(10_000)] + ["git_git_log"]
    started = time.thread_time()

    near = nearest("git_gitlog", known)

    assert near[0] == "git_git_log"
    assert time.thread_time() - started < 1.0


def test_nothing_near_is_said_as_such() -> None:
    """Without a similar name the hint is empty."""
    assert nearest("zzz", ["git_log"]) == ()
    assert did_you_mean(()) == ""
    assert did_you_mean(("a", "b")) == "Did you mean 'a' or 'b'?"
