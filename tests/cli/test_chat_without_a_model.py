"""`thresher chat` where no model is configured."""

from __future__ import annotations

from tests.cli.conftest import Command


def test_an_answer_without_a_model_says_how_to_have_one(command: Command) -> None:
    """Beside the assistant's answer."""
    ended = command("chat", "hello")

    assert ended.code == 0
    assert "No model is configured" in ended.err
    for step in ("THRESHER_LLM_URL", "THRESHER_LLM_MODEL", "thresher stop", "thresher models add"):
        assert step in ended.err
