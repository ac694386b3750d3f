"""The page of figures is what the results say."""

from __future__ import annotations

import pytest

from benchmarks.page import PAGE, TEMPLATE, page, results


def test_the_page_is_made_from_the_results() -> None:
    """Nobody edits a figure by hand: `python -m benchmarks page` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page(TEMPLATE.read_text(encoding="utf-8"), results())


def test_figures_are_formatted_as_the_template_says() -> None:
    """Paths lead into the results; the format is Python's own."""
    found = {"gateway": {"2026-07-28": {"p50": 1234.5}, "share": 0.25}}

    assert page("{{gateway.2026-07-28.p50|,}} and {{gateway.share|.0%}}", found) == "1,234.5 and 25%"


@pytest.mark.parametrize("place", ["{{nothing}}", "{{gateway.nothing}}", "{{gateway.share.deeper}}"])
def test_a_figure_that_is_missing_is_an_error(place: str) -> None:
    """A page with a hole would be believed."""
    with pytest.raises(KeyError, match="no result holds"):
        page(place, {"gateway": {"share": 0.25}})
