"""JSON-RPC messages as servers write them."""

from __future__ import annotations

import json

import pytest

from thresher.upstream.transport.messages import decoded

EMOJI = json.dumps("\N{PILE OF POO}")[1:-1]
HIGH, LOW = EMOJI[:6], EMOJI[6:]


def text_of(escaped: str) -> object:
    """The text that a server sends in this form, as it is read."""
    message = decoded(f'{{"jsonrpc": "2.0", "id": 1, "result": {{"text": "{escaped}"}}}}')
    return message and message["result"]["text"]


@pytest.mark.parametrize(
    ("escaped", "read"),
    [
        (f"cut {HIGH}", "cut \ufffd"),
        (f"{LOW} first", "\ufffd first"),
        (f"{HIGH}{HIGH}{LOW}", "\ufffd\N{PILE OF POO}"),
        (f"{HIGH.upper().replace('U', 'u')}.", "\ufffd."),
        (f"\\\\{HIGH[1:]} {HIGH}", f"\\{HIGH[1:]} \ufffd"),
        (EMOJI, "\N{PILE OF POO}"),
    ],
)
def test_half_of_an_emoji_is_read(escaped: str, read: str) -> None:
    """Programs that cut texts by UTF-16 units write it, and JSON allows it."""
    assert text_of(escaped) == read


@pytest.mark.parametrize("broken", ["{", '{"jsonrpc": "2.0", "id": 1, "result": \\ud83d}', "[" * 100_000, "\\ud83d"])
def test_what_is_no_message_is_none(broken: str) -> None:
    """However broken."""
    assert decoded(broken) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc": "2.0", "id": 7, "result": DEEP}',
        '{"id":7,"jsonrpc":"2.0","result":DEEP}',
        '{"jsonrpc":"2.0","result":{"a":DEEP},"id":7}',
        '{"result":{"a":DEEP},"id":7,"jsonrpc":"2.0"}',
        '{"error":{"data":DEEP},"jsonrpc":"2.0","id":7}',
    ],
)
def test_an_answer_nested_too_deeply_ends_the_wait_for_it(text: str) -> None:
    """The waiting caller gets an error at once."""
    message = decoded(text.replace("DEEP", "[" * 5_000 + "]" * 5_000))

    assert message is not None
    assert message["id"] == 7
    assert "nested too deeply" in message["error"]["message"]


def test_commas_in_a_text_are_no_values() -> None:
    """A table as text may be as long as a message."""
    assert text_of(r"\"," * 1_200_000) == '",' * 1_200_000
