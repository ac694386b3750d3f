"""Structured lines with a trace id and without secrets."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import pytest

from thresher.core import CallerText, configure_logging, current_trace, event, mask, mask_text, traced

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


def test_what_callers_said_is_withheld_unless_texts_are_logged() -> None:
    """A field that may quote them, and the words of an error that happened while one was served."""
    withheld, kept = io.StringIO(), io.StringIO()
    for stream, text in ((withheld, False), (kept, True)):
        configure_logging("DEBUG", stream, text=text)
        with traced():
            event(logger, "refused", code="x", message=CallerText("their words"))
            _fail("their words")

    assert "their words" not in withheld.getvalue()
    assert json.loads(withheld.getvalue().splitlines()[0])["message"].startswith("not logged")
    assert json.loads(withheld.getvalue().splitlines()[1])["error"].endswith("KeyError\n" + _frame("LookupError"))
    assert kept.getvalue().count("their words") == 3


def _fail(words: str) -> None:
    try:
        try:
            raise KeyError(words)
        except KeyError as error:
            raise LookupError(words) from error
    except LookupError:
        logger.exception("failed")


def _frame(kind: str) -> str:
    line = "            raise LookupError(words) from error"
    number = Path(__file__).read_text(encoding="utf-8").splitlines().index(line) + 1
    return f'  File "{__file__}", line {number}, in _fail\n    raise LookupError(words) from error\n{kind}'


def test_an_error_outside_a_request_keeps_its_words(stream: io.StringIO) -> None:
    """Nobody is quoted there, and somebody has to mend it."""
    _fail("no such file")

    assert "no such file" in stream.getvalue()


def test_libraries_log_by_the_same_rules(stream: io.StringIO) -> None:
    """From warnings upwards, as JSON, without the words of errors, and through no handler of their own."""
    library = logging.getLogger("some.library")
    library.addHandler(logging.StreamHandler(own := io.StringIO()))
    library.setLevel("DEBUG")
    configure_logging("DEBUG", stream)

    library.info("body: their words")
    library.warning("slow; token=hunter2hunter2")
    words = "body: their words".removeprefix("body: ")  # a traceback shows lines of code
    try:
        raise ValueError(words)
    except ValueError:
        library.exception("failed")

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["slow; token=***", "failed"]
    assert lines[1]["error"].endswith("ValueError")
    assert "their words" not in stream.getvalue()
    assert own.getvalue() == ""


@pytest.mark.parametrize(
    "secret",
    [
        "password=hunter2hunter2",
        '"api_key": "hunter2hunter2"',
        "x-auth-token: hunter2hunter2",
        "thr_hunter2hunter2hunter2hunter2hunter2hunter2",
        "github_pat_hunter2hunter2hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nhunter2 and no end",
    ],
)
def test_mask_text_hides_what_shows_by_its_form(secret: str) -> None:
    """The words around it stay."""
    masked = mask_text(f"use {secret}")

    assert "hunter2" not in masked
    assert masked.startswith("use ")
    assert "***" in masked


def test_mask_text_hides_credentials_in_addresses() -> None:
    """The user's name and password go, the host stays."""
    assert mask_text("see https://u:p@h/x") == "see https://***@h/x"
