"""Guides that are built from the structure of a repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from thresher.embedding import count_tokens
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.guides.structure import guide_of, outline_of
from thresher.knowledge.documents.reading import parse

README = """# Handbook

[![build](badge.svg)](https://example.com)

## License

MIT, as are all things here, with no warranty of any kind whatsoever.

## About

This handbook says how **Acme** works, from *travel* to [leave](docs/leave.md).

See also [travel](docs/travel.md#booking) and [the site](https://example.com/docs/leave.md).
"""
LEAVE = "# Leave\n\n## Parental leave\n\nAsk early, as [travel](travel.md) says.\n\n## Sick leave\n\nStay at home.\n"
TRAVEL = "# Travel\n\n## Booking\n\nBook with the travel management company (TMC), see [leave](/docs/leave.md).\n"


def outlined(**files: str) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Path, title and outline of each file, as they are stored; `__` stands for a slash, `_md` for the ending."""
    found = list[tuple[str, str, Mapping[str, Any]]]()
    for name, text in files.items():
        path = name.replace("__", "/").replace("_", ".")
        parsed = parse(path, text.encode())
        found.append((path, parsed.title, json.loads(json.dumps(outline_of(path, parsed, chunk(parsed))))))
    return found


def test_a_guide_tells_what_is_in_a_repository() -> None:
    """First words of the README, the map, the most linked documents, and the terms."""
    guide, acronyms = guide_of("handbook", outlined(README_md=README, docs__leave_md=LEAVE, docs__travel_md=TRAVEL))

    assert guide.startswith("# handbook\n\nThis handbook says how Acme works, from travel to leave.\n")
    assert "3 documents" in guide
    assert "- docs/leave.md: Leave (" in guide
    assert "  - Parental leave; Sick leave" in guide
    assert "- docs/leave.md: Leave (2 documents lead to it)" in guide
    assert "- TMC: travel management company" in guide
    assert acronyms == {"TMC": "travel management company"}


def test_many_documents_are_shown_by_folder() -> None:
    """The largest folders first, each with its largest documents."""
    files = {
        f"{folder}__page{number}_md": f"# {folder} {number}\n\nText.\n"
        for folder in ("api", "web")
        for number in range(9)
    }

    guide, _ = guide_of("site", outlined(**files))

    assert "- api/ (9): api 0; api 1; api 2; api 3; api 4; api 5; 3 more" in guide
    assert "- web/ (9)" in guide


def test_source_code_is_shown_by_path() -> None:
    """Many files share a name, and docstrings are not prose."""
    files = {f"src__part{number}__service_py": "def run() -> None:\n    pass\n" for number in range(20)}

    guide, acronyms = guide_of("code", outlined(**files))

    assert "service.py" in guide
    assert acronyms == {}


def test_a_guide_keeps_its_budget() -> None:
    """Each section has its share, and the guide ends at the end of a line."""
    files = {f"part{number}__page_md": f"# A page of number {number}\n\nBook early." for number in range(40)}
    outlines = outlined(README_md=README, **files)

    guides = [guide_of("handbook", outlines, budget=budget)[0] for budget in (0, 20, 60, 150, 400)]

    for guide, budget in zip(guides, (0, 20, 60, 150, 400), strict=True):
        assert count_tokens(guide) <= budget
    whole = guide_of("handbook", outlines, budget=100_000)[0].splitlines()
    assert all(line in whole for guide in guides for line in guide.splitlines())
    assert len(guides[-1]) > 400


def test_an_empty_repository_has_a_guide() -> None:
    """It says that there is nothing."""
    guide, acronyms = guide_of("new", [])

    assert "0 documents" in guide
    assert acronyms == {}


def test_an_outline_stays_small() -> None:
    """It is stored with every document."""
    text = "".join(
        f"# Heading {n} {'word ' * 50}\n\n[a](page{n}.md) Long Term {n} (LT) `name_{n % 9}`.\n\n" for n in range(2_000)
    )
    parsed = parse("a.md", text.encode())

    outline = outline_of("a.md", parsed, chunk(parsed))

    assert len(json.dumps(outline)) < 10_000


@given(
    st.dictionaries(
        st.sampled_from(["README_md", "a__b_md", "a__c_py", "d_txt"]),
        st.text(max_size=200).map("x".__add__),
        max_size=4,
    )
)
def test_no_text_breaks_it(files: dict[str, str]) -> None:
    """Whatever documents contain, the guide keeps its budget, and headings stay on one line."""
    guide, _ = guide_of(
        "x", outlined(**{name: text.encode("utf-8", "replace").decode() for name, text in files.items()})
    )

    assert count_tokens(guide) <= 700
