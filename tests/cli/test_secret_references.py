"""Secrets that option values refer to."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from thresher.cli.arguments import filled


def test_variables_and_files_take_the_place_of_references(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Anywhere in the value; the line end of a file is not part of the secret."""
    monkeypatch.setenv("TOKEN", "s3cret$")
    secret = tmp_path / "token"
    secret.write_text("from file\n")

    assert filled("--header", "Bearer ${TOKEN}") == "Bearer s3cret$"
    assert filled("--header", "${env:TOKEN}/${TOKEN}") == "s3cret$/s3cret$"
    assert filled("--env", f"${{file:{secret}}}") == "from file"
    assert filled("--env", "plain $TOKEN {x} $") == "plain $TOKEN {x} $"


@pytest.mark.parametrize("value", ["${THRESHER_NO_SUCH}", "${file:/nowhere/at/all}", "${file:/}"])
def test_a_reference_to_nothing_is_an_error(value: str) -> None:
    """An empty secret would only fail later, at the server."""
    with pytest.raises(typer.BadParameter, match="--header"):
        filled("--header", value)
