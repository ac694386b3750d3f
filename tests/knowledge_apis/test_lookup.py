"""Which operation a path means, in linear time whatever a description and a caller write."""

from __future__ import annotations

import pytest

from thresher.core import NotFound
from thresher.knowledge.apis.cache import LocatedOperation
from thresher.knowledge.apis.endpoints import by_path
from thresher.knowledge.apis.heads import Brief, ProviderHead, VersionHead

PATHS = ["/f/{name}", "/f/{name}.json", "/f/readme", "/a/{b}:restore", "/x/{a}{b}{c}{d}{e}{f}{g}{h}z"]


def located(*paths: str) -> list[LocatedOperation]:
    """Operations with these paths."""
    version = VersionHead(1, "v1", 1, "digest", len(paths), servers=("https://shop.example/api",))
    provider = ProviderHead(1, None, "shop", "Shop", (), "", True, (version,))
    return [
        LocatedOperation(
            provider,
            version,
            Brief(number, f"op_{number}", "GET", path, "", "", "", (), (), "", (), False, "", number, ""),
        )
        for number, path in enumerate(paths)
    ]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/f/a", "/f/{name}"),
        ("/f/a.json", "/f/{name}.json"),
        ("/f/.json", "/f/{name}"),
        ("/f/README", "/f/readme"),
        ("/a/b:restore", "/a/{b}:restore"),
        ("https://shop.example/api/f/a?x=1#y", "/f/{name}"),
        ("https://[::1/f/a", "/f/{name}"),
        ("/x/12345678z", "/x/{a}{b}{c}{d}{e}{f}{g}{h}z"),
    ],
)
def test_the_most_specific_template_is_meant(path: str, meant: str) -> None:
    """Of several matching templates, the one with more literal characters."""
    assert by_path(located(*PATHS), "GET", path).brief.path == meant


def test_a_path_that_almost_matches_is_refused_at_once() -> None:
    """Neither a description nor a caller can cause backtracking."""
    with pytest.raises(NotFound):
        by_path(located("/x/" + "{p}a" * 40 + "b"), "GET", "/x/" + "a" * 5_000)
