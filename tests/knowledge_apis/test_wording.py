"""What an operation is called where its description does not name it."""

from __future__ import annotations

import pytest

from thresher.knowledge.apis.ingestion.wording import title_of

LONG = "It is done in the background, and may take a while. " * 20


@pytest.mark.parametrize(
    ("summary", "description", "title"),
    [
        ("List pods", "Anything.", "List pods"),
        ("", "delete a Pod", "delete a Pod"),
        ("", f"delete a Pod\n\n{LONG}", "delete a Pod"),
        ("", f"Deletes a `Pod` with it. {LONG}", "Deletes a Pod with it."),
        ("", "x" * 500, "delete Core V1 Pod"),
        ("", "\n\n", "delete Core V1 Pod"),
    ],
)
def test_a_title_is_the_summary_or_how_the_description_begins(summary: str, description: str, title: str) -> None:
    """However long the description grows; else the id in words."""
    assert title_of("DELETE", "/pods/{name}", "deleteCoreV1Pod", summary, description) == title
