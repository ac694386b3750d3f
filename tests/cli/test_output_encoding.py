"""Output and input in an encoding that lacks characters: what cannot be written is escaped, what comes is read."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tests.cli.conftest import Command

UNKNOWN = "ünï \U0001f600"
"""No tool's name, with a character of Latin-1 and one beyond the first plane."""


class Narrow(io.TextIOWrapper):
    """A standard output in ASCII."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(io.BytesIO(), encoding="ascii", errors=errors)

    @property
    def text(self) -> str:
        """What was written."""
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode("ascii")


def test_a_character_that_the_encoding_lacks_is_escaped(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has done its work, and its exit code says so."""
    output = Narrow()
    monkeypatch.setattr(sys, "stdout", output)

    ended = command("keys", "add", "ünï")
    listed = command("keys", "list")

    assert (ended.code, listed.code) == (0, 0)
    assert "\\u00fcn\\u00ef" in output.text


def test_json_in_a_narrow_encoding_is_still_exact(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program reads the same value as in UTF-8, an error included."""
    output = Narrow()
    monkeypatch.setattr(sys, "stdout", output)

    ended = command("tools", "show", UNKNOWN, "--json")

    assert ended.code == 3
    assert UNKNOWN in json.loads(output.text)["error"]["message"]


def test_a_chosen_error_handler_is_kept(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """PYTHONIOENCODING overrides the default."""
    output = Narrow("replace")
    monkeypatch.setattr(sys, "stdout", output)

    ended = command("tools", "show", UNKNOWN, "--json")

    assert ended.code == 3
    assert "?n?" in output.text


@pytest.mark.parametrize(
    ("encoding", "sent"), [("ascii", UNKNOWN.encode()), ("utf-8", b"\xff\xfe"), ("ascii", b"\xff")]
)
def test_input_that_the_encoding_lacks_is_read(
    command: Command, monkeypatch: pytest.MonkeyPatch, encoding: str, sent: bytes
) -> None:
    """As UTF-8 where the locale says nothing; what is not even that does no harm."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"say " + sent + b"\n"), encoding=encoding))

    ended = command("chat", "--json")

    assert (ended.code, ended.err) == (0, "")
