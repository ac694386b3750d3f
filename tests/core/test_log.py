"""Structured lines with a trace id and without secrets."""

from __future__ import annotations

import io
import json
import logging

import pytest

from thresher.core import configure_logging, current_trace, event, mask, mask_text, traced

logger = logging.getLogger("thresher.test")


@pytest.fixture
def stream() -> io.StringIO:
    """A stream that receives the lines."""
    stream = io.StringIO()
    configure_logging("DEBUG", stream)
    return stream


def test_an_event_is_one_line_of_json_with_its_fields(stream: io.StringIO) -> None:
    """Name, fields, level, logger and trace stand in one object."""
    with traced("abc"):
        event(logger, "tools found", chosen=[1, 2], ms=1.5)

    (line,) = stream.getvalue().splitlines()
    record = json.loads(line)
    assert {key: record[key] for key in ("event", "chosen", "ms", "trace", "level", "logger")} == {
        "event": "tools found",
        "chosen": [1, 2],
        "ms": 1.5,
        "trace": "abc",
        "level": "info",
        "logger": "thresher.test",
    }


def test_line_breaks_cannot_forge_a_second_line(stream: io.StringIO) -> None:
    """Other people's text stays inside its line."""
    event(logger, 'x\n{"level":"error"}', text="a\nb")

    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize(
    "secret",
    [
        {"password": "hunter2"},
        {"headers": {"Authorization": "Bearer hunter2hunter2"}},
        {"env": [{"API_KEY": "hunter2"}]},
        {"GITHUB_TOKEN": "hunter2"},
        {"url": "postgresql://bob:hunter2@host/db"},
        {"text": "Authorization: Bearer hunter2hunter2"},
    ],
)
def test_secrets_are_masked_at_any_depth(stream: io.StringIO, secret: dict[str, object]) -> None:
    """A secret reaches no handler, by key or by shape."""
    event(logger, "started", **secret)

    assert "hunter2" not in stream.getvalue()
    assert "***" in stream.getvalue()


def test_masking_leaves_ordinary_words_alone() -> None:
    """Counts of tokens are no secrets."""
    value = {"tokens_sent": 5, "keyboard": "x", "note": "the password is long"}

    assert mask(value) == value


def test_a_traceback_is_masked_too(stream: io.StringIO) -> None:
    """An address with a password inside an exception is hidden."""
    try:
        raise ValueError("cannot reach https://bob:hunter2@host/")
    except ValueError:
        logger.exception("failed")

    assert "ValueError" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


def test_nested_work_keeps_the_outer_trace() -> None:
    """One request has one trace id, and none outlives it."""
    with traced() as outer, traced() as inner:
        assert inner == outer == current_trace()

    assert current_trace() == ""


def test_an_explicit_trace_wins_and_is_taken_back() -> None:
    """A caller's own id holds inside its block only."""
    with traced("outer"):
        with traced("inner"):
            assert current_trace() == "inner"

        assert current_trace() == "outer"


def test_configuring_twice_prints_each_line_once(stream: io.StringIO) -> None:
    """The handler is replaced, never doubled."""
    configure_logging("INFO", stream)

    logger.debug("hidden")
    logger.info("shown")

    assert len(stream.getvalue().splitlines()) == 1


def test_mask_text_hides_credentials_in_addresses() -> None:
    """The user's name and password go, the host stays."""
    assert mask_text("see https://u:p@h/x") == "see https://***@h/x"
