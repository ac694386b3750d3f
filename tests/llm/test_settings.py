"""Which model the settings name."""

from __future__ import annotations

import pytest

from thresher.core import ConfigurationError, load_settings
from thresher.llm import open_chat


def test_without_an_address_there_is_no_model() -> None:
    """The usual case."""
    assert open_chat(load_settings(llm_model="gpt-5")) is None


async def test_a_model_is_named_by_its_service() -> None:
    """Names repeat between services."""
    chat = open_chat(load_settings(llm_url="http://127.0.0.1:11434/v1/", llm_model="qwen3:8b"))

    assert chat is not None
    assert chat.name == "qwen3:8b@127.0.0.1:11434"
    await chat.close()


@pytest.mark.parametrize(
    ("url", "model", "words"),
    [
        ("http://127.0.0.1/v1", None, "THRESHER_LLM_MODEL"),
        ("not an address", "m", "not a valid service address"),
        ("ftp://example.org", "m", "not a valid service address"),
        ("http://", "m", "not a valid service address"),
        ("http://[::1", "m", "not a valid service address"),
        ("https://ana:secret@example.org/v1", "m", "THRESHER_LLM_KEY"),
    ],
)
def test_what_cannot_be_used_stops_the_start(url: str, model: str | None, words: str) -> None:
    """With the variable to change, and without the password."""
    with pytest.raises(ConfigurationError, match=words) as refused:
        open_chat(load_settings(llm_url=url, llm_model=model))

    assert "secret" not in str(refused.value)
