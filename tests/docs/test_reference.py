"""The reference pages name what exists, and nothing else."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT
from thresher.core import Settings

SETTINGS_PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")


def test_every_setting_is_described() -> None:
    """The page's variables are exactly the settings."""
    described = set(re.findall(r"^\| `THRESHER_(\w+)`", SETTINGS_PAGE, re.MULTILINE))

    assert described == {name.upper() for name in Settings.model_fields}


def test_stated_defaults_are_the_real_ones() -> None:
    """A default written as a value equals the one in the code."""
    stated = dict(re.findall(r"^\| `THRESHER_(\w+)` \| `([^`]+)` \|", SETTINGS_PAGE, re.MULTILINE))

    real = {name.upper(): str(field.default) for name, field in Settings.model_fields.items()}

    assert {name: value.lower() for name, value in stated.items()} == {
        name: real[name].removesuffix(".0").lower() for name in stated
    }


def test_links_between_pages_lead_somewhere() -> None:
    """A relative link in any Markdown page names a file that exists."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]

    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []
