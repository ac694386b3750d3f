"""The reference page lists what reading reports."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import get_args

from tests.architecture.source import ROOT
from thresher.openapi import LIMITS
from thresher.openapi.reader.problems import Code

PAGE = (ROOT / "docs" / "reference" / "api-descriptions.md").read_text(encoding="utf-8")


def test_the_page_lists_the_codes_of_problems() -> None:
    """Each with its meaning, in order."""
    listed = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)

    assert listed == sorted(get_args(Code))


def test_the_page_tells_the_limits() -> None:
    """With their values."""
    told = {**asdict(LIMITS), "octets": f"{LIMITS.octets // 1024**2} MB"}

    assert [
        name for name, value in told.items() if (f"{value:,}" if isinstance(value, int) else value) not in PAGE
    ] == []
