"""Builds the guide of a repository from its structure, without a model.

Invariant: pure; the same documents give the same guide; it never exceeds its budget, and is cut at the end of a line.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote

from thresher.core import one_line, shortened
from thresher.embedding import count_tokens
from thresher.knowledge.documents.guides.glossary import acronyms_of, joined, terms_of
from thresher.knowledge.documents.models import Chunked, Parsed

Outline: TypeAlias = Mapping[str, Any]
"""What the guide needs of a document, as JSON: `media` (its format), `lead` (its first words), `headings` (of its upper
levels), `links` (paths that it links to), `terms` (with counts), `acronyms` (with long forms), `tokens`."""

BUDGET: Final = 700
"""Tokens of a guide: it is read with every list of repositories, and when nothing is found."""
_SHARES: Final = {"lead": 0.2, "map": 0.45, "linked": 0.1, "terms": 0.25}
"""Shares of the budget; what one section leaves goes to the next."""
_HEADINGS: Final = 40
_LINKS: Final = 60
_ACRONYMS: Final = 60
_LEAD: Final = 600
_TITLE: Final = 80
_FEW_DOCUMENTS: Final = 12
"""Up to this many documents are listed one by one, with their headings; more are listed by folder."""
_SHOWN: Final = 6
_LOOKED_AT: Final = 300
_SAYS_SOMETHING: Final = 8
"""Blocks that are searched for the first words, and the fewest words that count."""
_MOST_LINKED: Final = 6
_MOST_TERMS: Final = 24
_PROSE: Final = frozenset({"markdown", "rst", "html", "text", "pdf", "docx"})
_ASIDE: Final = re.compile(
    r"acknowledg|licen[cs]e|copyright|contents|disclaimer|version|authors?\b|change\s?log|index|foreword|notice", re.I
)
"""Headings under which a document does not say what it is about."""
_ABOUT: Final = re.compile(r"introduction|overview|abstract|summary|preface|about|what is|purpose", re.I)
_README: Final = re.compile(r"(?:readme|index|overview|introduction|home|about)(?:\.\w+)?", re.I)
_LINK: Final = re.compile(
    r"\]\(\s*<?([^()<>\s]{1,300})|:doc:`(?:[^`<]{0,200}<)?([^`<>]{1,200})>?`|(?:href|src)=[\"']([^\"'\s]{1,300})"
)
_MARKUP: Final = re.compile(r"!?\[([^\]]{0,200})\]\([^)]{0,300}\)|[*`#|>]+|(?<!\w)_+|_+(?!\w)|<[^<>]{1,200}>")
_SCANNED: Final = 2_000_000


def outline_of(path: str, parsed: Parsed, chunked: Chunked) -> dict[str, Any]:
    """What the guide needs of a document; small, and read without the document's text.

    Args:
        path: Path inside the repository.
        parsed: The document.
        chunked: Its chunks.
    """
    prose, text = parsed.media in _PROSE, parsed.text
    return {
        "media": parsed.media,
        "lead": _lead_of(parsed),
        "headings": _headings_of(parsed),
        "links": _links_of(path, text) if prose else [],
        "terms": terms_of(text) if prose else {},
        "acronyms": dict(islice(acronyms_of(text).items(), _ACRONYMS)) if prose else {},
        "tokens": sum(chunk.tokens for chunk in chunked.chunks),
    }


def guide_of(
    name: str, outlines: Iterable[tuple[str, str, Outline]], *, budget: int = BUDGET
) -> tuple[str, dict[str, str]]:
    """The guide of a repository, Markdown, and its acronyms with their long forms.

    Args:
        name: Name of the repository.
        outlines: Path, title and outline of each document; iterated once.
        budget: Most tokens of the guide.
    """
    combined = _combined(outlines)
    acronyms = joined(combined.acronyms)
    sections = {
        "lead": [f"# {_plain(name)}", "", *([combined.lead[2], ""] if combined.lead[2] else []), _size(combined)],
        "map": ["", "## Map", *(_documents(combined) if len(combined.pages) <= _FEW_DOCUMENTS else _folders(combined))],
        "linked": _linked(combined),
        "terms": _terms(combined, acronyms),
    }
    return _fitted(sections, budget), acronyms


@dataclass(frozen=True, slots=True)
class _OutlinedDocument:
    path: str
    title: str
    media: str
    tokens: int
    headings: Sequence[tuple[int, str]]


@dataclass(slots=True)
class _Combined:
    """The outlines of all documents, combined."""

    pages: list[_OutlinedDocument] = field(default_factory=list[_OutlinedDocument])
    links: Counter[str] = field(default_factory=Counter[str])
    terms: Counter[str] = field(default_factory=Counter[str])
    spread: Counter[str] = field(default_factory=Counter[str])
    acronyms: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    lead: tuple[int, str, str] = (99, "", "")
    """Rank of the best README, its path and its first words."""


def _combined(outlines: Iterable[tuple[str, str, Outline]]) -> _Combined:
    found = _Combined()
    for path, title, outline in outlines:
        headings = cast("Sequence[tuple[int, str]]", outline.get("headings", ()))
        media = str(outline.get("media", ""))
        found.pages.append(_OutlinedDocument(path, _plain(title), media, int(outline.get("tokens", 0)), headings))
        found.links.update(set(cast("Sequence[str]", outline.get("links", ()))) - {path})
        terms = cast("Mapping[str, int]", outline.get("terms", {}))
        found.terms.update(terms)
        found.spread.update(terms.keys())
        if acronyms := cast("Mapping[str, str]", outline.get("acronyms", {})):
            found.acronyms.append(acronyms)
        if lead := str(outline.get("lead", "")):
            found.lead = min(found.lead, (_rank(path), path, lead))
    found.pages.sort(key=lambda page: page.path)
    return found


def _rank(path: str) -> int:
    """How well a document introduces the repository: a README at the top ranks best, any other document last."""
    name = posixpath.basename(path)
    if not _README.fullmatch(name):
        return 50 + path.count("/")
    return 2 * path.count("/") + (0 if name.lower().startswith("readme") else 1)


def _size(combined: _Combined) -> str:
    count, tokens = len(combined.pages), sum(page.tokens for page in combined.pages)
    return f"{count:,} document{'' if count == 1 else 's'}, {tokens:,} tokens."


def _documents(combined: _Combined) -> Iterator[str]:
    """Each document with its headings: those of the upper level first, as far as there is room."""
    for page in combined.pages:
        yield f"- {page.path}: {page.title} ({page.tokens:,} tokens)"
        upper = min((level for level, _ in page.headings), default=0)
        top = [title for level, title in page.headings if level == upper]
        if len(top) == 1:  # the document's title: the headings below it say more
            top = [title for level, title in page.headings if level == upper + 1] or top
        for start in range(0, len(top), _SHOWN):
            yield f"  - {'; '.join(top[start : start + _SHOWN])}"


def _folders(combined: _Combined) -> Iterator[str]:
    """Each folder of the two upper levels with its largest documents; the largest folders first."""
    folders: defaultdict[str, list[_OutlinedDocument]] = defaultdict(list)
    for page in combined.pages:
        folders["/".join(page.path.split("/")[:-1][:2])].append(page)
    order = sorted(folders, key=lambda folder: (folder != "", -sum(page.tokens for page in folders[folder]), folder))
    for folder in order:
        pages = sorted(folders[folder], key=lambda page: (_rank(page.path) >= 50, -page.tokens, page.path))
        # Source code is named by its path, as many of its files share a title.
        names = [one.title if one.media in _PROSE else one.path.removeprefix(f"{folder}/") for one in pages[:_SHOWN]]
        more = f"; {len(pages) - _SHOWN:,} more" if len(pages) > _SHOWN else ""
        yield f"- {folder + '/' if folder else '(top)'} ({len(pages):,}): {'; '.join(names)}{more}"


def _linked(combined: _Combined) -> list[str]:
    """The documents that most others link to."""
    titles = {page.path: page.title for page in combined.pages}
    known = Counter({path: count for path, count in combined.links.items() if path in titles and count > 1})
    most = sorted(known.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_LINKED]
    lines = [f"- {path}: {titles[path]} ({count:,} documents lead to it)" for path, count in most]
    return ["", "## Most linked", *lines] if lines else []


def _terms(combined: _Combined, acronyms: Mapping[str, str]) -> list[str]:
    """The frequent terms, and acronyms with their long forms; those that many documents use first."""
    order = sorted(combined.terms, key=lambda term: (-combined.spread[term], -combined.terms[term], term))
    frequent = [term for term in order if term not in acronyms][:_MOST_TERMS]
    rank = {term: place for place, term in enumerate(order)}
    short = sorted(acronyms, key=lambda term: (rank.get(term, len(rank)), term))
    lines = [f"- {term}: {acronyms[term]}" for term in short[:_MOST_TERMS]]
    lines = [
        *lines[: _MOST_TERMS // 2],
        *([f"- {', '.join(frequent)}"] if frequent else []),
        *lines[_MOST_TERMS // 2 :],
    ]
    return ["", "## Terms", *lines] if lines else []


def _fitted(sections: Mapping[str, Sequence[str]], budget: int) -> str:
    """The first lines of each section within its share and what earlier sections left."""
    kept: list[str] = []
    left = 0.0
    for name, lines in sections.items():
        left += _SHARES[name] * budget
        for line in lines:
            cost = count_tokens(f"{line}\n")
            if cost > left:
                break
            kept.append(line)
            left -= cost
    while (
        kept and (count_tokens("\n".join(kept)) > budget or not kept[-1] or kept[-1].startswith("#")) and len(kept) > 1
    ):
        kept.pop()
    text = "\n".join(kept)
    return text if count_tokens(text) <= budget else ""


def _lead_of(parsed: Parsed) -> str:
    """The first paragraph that says what the document is about, without markup."""
    heading, first = "", ""
    for block in parsed.blocks[:_LOOKED_AT]:
        heading = block.title if block.kind == "heading" else heading
        if block.kind != "paragraph" or _ASIDE.search(heading):
            continue
        text = _plain(parsed.text[block.start : min(block.end, block.start + 4 * _LEAD)], _LEAD)
        if len(text.split()) < _SAYS_SOMETHING:
            continue
        if _ABOUT.search(heading):
            return text
        first = first or text
    return first


def _headings_of(parsed: Parsed) -> list[list[Any]]:
    """Level and text of the headings of the upper level, and of the next levels as far as there is room, in order."""
    found = [(block.level, block.title) for block in parsed.blocks if block.title and block.kind in ("heading", "code")]
    levels = sorted({level for level, _ in found})
    order = [place for depth in levels[:3] for place, (level, _) in enumerate(found) if level == depth][:_HEADINGS]
    return [[found[place][0], _plain(found[place][1])] for place in sorted(order)]


def _links_of(path: str, text: str) -> list[str]:
    """The documents of the repository that a document links to, as paths."""
    folder = posixpath.dirname(path)
    found: dict[str, None] = {}
    for match in _LINK.finditer(text[:_SCANNED]):
        target = unquote(next(part for part in match.groups() if part)).partition("#")[0].partition("?")[0]
        if not target or "://" in target or target.startswith(("mailto:", "data:")):
            continue
        place = posixpath.normpath(target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target))
        if not place.startswith(".."):
            found[place + ".rst" if match[2] and "." not in posixpath.basename(place) else place] = None
            if len(found) >= _LINKS:
                break
    return list(found)


def _plain(text: str, limit: int = _TITLE) -> str:
    """The text on one line, without markup."""
    return shortened(one_line(_MARKUP.sub(r"\1", text[: 8 * limit]), 8 * limit), limit)
