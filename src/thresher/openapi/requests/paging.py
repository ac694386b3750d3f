"""Finds the next page of an answer where it is evident: a Link header, a link or token in the body, pages, offsets.

Invariant: pure; there is a next page only where the answer, or the full size of this page, says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urljoin, urlsplit

from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, Operation, Parameter
from thresher.openapi.requests.arguments import argument_names
from thresher.openapi.schemas import mapped
from thresher.openapi.tips import HOLDERS, PERHAPS, SIZERS, TURNERS, plain_name

_LINKS: Final = frozenset({"next", "nextlink", "nexturl", "nextpage", "nextpageurl", "odatanextlink"})
_TOKENS: Final = frozenset(
    {"nextpagetoken", "nextcursor", "nexttoken", "continuationtoken", "nextmarker", "nextpagecursor", "continue"}
    | {"next", "nextpage", "endcursor", "cursor", "scrollid", "bookmark", "startingafter"}
)
_MORE: Final = frozenset({"hasmore", "hasnextpage", "hasnext", "morepages", "more", "truncated", "istruncated"})
_LAST: Final = frozenset({"islast", "islastpage", "last"})
_PAGES: Final = frozenset({"totalpages", "pages", "pagecount", "lastpage"})
_TOTALS: Final = frozenset({"total", "totalcount", "totalresults", "totalitems", "totalelements", "count"})
_NUMBERED: Final = frozenset({"page", "pagenumber", "pageno", "pageindex"})
_OFFSETS: Final = frozenset({"offset", "skip", "startat", "startindex", "start", "pageoffset"})


@dataclass(frozen=True, slots=True)
class NextPage:
    """How the next page is got.

    Attributes:
        arguments: Arguments that differ from those of this page; empty if a link alone leads on.
        url: The link, absolute; empty if arguments lead on.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""


def next_page(
    description: Description, operation: Operation, arguments: Mapping[str, Json], *, url: str, link: str, body: Json
) -> NextPage | None:
    """Return how the next page is got; None if there is none, or it is not evident.

    Args:
        description: Resolves references.
        operation: The operation.
        arguments: Of the page at hand, by name.
        url: Address of the page at hand.
        link: Target of `rel="next"` in its Link header; may be empty.
        body: Its JSON; None if it has another form.
    """
    turning = _Turning(description, operation, arguments)
    fields = dict(_fields(body))
    found = link or next(
        (str(fields[name]) for name in _LINKS if isinstance(fields.get(name), str) and _is_link(str(fields[name]))), ""
    )
    if found:
        return turning.by_link(url, found)
    if _says_no(fields):
        return None
    return turning.by_token(fields) or turning.by_number(fields, body)


def _fields(body: Json) -> Iterator[tuple[str, Json]]:
    """Yield plain names and values at the top of a body, and below those that hold what concerns pages."""
    inner: list[tuple[str, Json]] = []
    for name, value in mapped(body).items():
        if plain_name(name) in HOLDERS and isinstance(value, dict):
            inner += [(plain_name(each), one) for each, one in mapped(value).items()]
        elif not isinstance(value, list):
            yield plain_name(name), value
    yield from inner


def _is_link(text: str) -> bool:
    return text.startswith(("http://", "https://", "/", "?"))


def _says_no(fields: Mapping[str, Json]) -> bool:
    return any(fields.get(name) is False for name in _MORE) or any(fields.get(name) is True for name in _LAST)


def _items(body: Json) -> int | None:
    """Return how many items a page has; None if it is not evident which list they are in."""
    if isinstance(body, list):
        return len(cast("list[Json]", body))
    lists = [cast("list[Json]", one) for one in mapped(body).values() if isinstance(one, list)]
    return len(lists[0]) if len(lists) == 1 else None


class _Turning:
    def __init__(self, description: Description, operation: Operation, arguments: Mapping[str, Json]) -> None:
        self._description = description
        self._arguments = arguments
        queries = {name: one for name, one in argument_names(operation).items() if one.place == "query"}
        self._sizers = {name: one for name, one in queries.items() if plain_name(one.name) in SIZERS}
        turners = TURNERS | PERHAPS if self._sizers else TURNERS
        self._turners = {name: one for name, one in queries.items() if plain_name(one.name) in turners}
        self._known = {one.name: name for name, one in queries.items()}

    def by_link(self, url: str, link: str) -> NextPage:
        """Return the page that a link leads to: by arguments, if it differs in known ones alone."""
        target = urljoin(url, link)
        here, there = urlsplit(url), urlsplit(target)
        same = (here.scheme, here.netloc, here.path) == (there.scheme, there.netloc, there.path)
        old, new = dict(parse_qsl(here.query)), dict(parse_qsl(there.query))
        changed = {name: value for name, value in new.items() if old.get(name) != value}
        if same and changed and changed.keys() <= self._known.keys() and old.keys() <= new.keys():
            return NextPage({self._known[name]: value for name, value in changed.items()}, target)
        return NextPage(url=target)

    def by_token(self, fields: Mapping[str, Json]) -> NextPage | None:
        """Return the page that a token in the body leads to, where one parameter takes it."""
        for name in (name for name in fields if name in _TOKENS):
            value = fields[name]
            if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
                continue
            parameter = self._taking(name)
            if parameter and str(self._arguments.get(parameter, "")) != str(value):
                return NextPage({parameter: value})
        return None

    def _taking(self, field_name: str) -> str:
        """Return the parameter that takes a field of the answer: of its name, else the only one that could."""
        bare = field_name.removeprefix("next").removeprefix("end")
        for wanted in (field_name, bare):
            for name, one in self._turners.items():
                if wanted and plain_name(one.name) in (wanted, f"page{wanted}"):
                    return name
        unnumbered = [
            name
            for name, one in self._turners.items()
            if plain_name(one.name) not in _NUMBERED | _OFFSETS
            and plain_name(one.name) not in ("before", "endingbefore")
        ]
        return unnumbered[0] if len(unnumbered) == 1 else ""

    def by_number(self, fields: Mapping[str, Json], body: Json) -> NextPage | None:
        """Return the page after this one, counted in pages or items, if the answer shows that there is one."""
        items, size = _items(body), next((self._number(name, one) for name, one in self._sizers.items()), None)
        full = items is not None and size is not None and 0 < size <= items
        says = any(fields.get(name) is True for name in _MORE)
        for name, one in self._turners.items():
            plain, here = plain_name(one.name), self._number(name, one)
            if plain in _NUMBERED:
                first = here if here is not None else 1
                last = next((fields[each] for each in _PAGES if _is_number(fields.get(each))), None)
                if says or (last is not None and first < int(last)) or (last is None and full):
                    return NextPage({name: first + 1})
            elif plain in _OFFSETS and items:
                after = (here or 0) + items
                total = next((fields[each] for each in _TOTALS if _is_number(fields.get(each))), None)
                if says or (total is not None and after < int(total)) or (total is None and full):
                    return NextPage({name: after})
        return None

    def _number(self, name: str, parameter: Parameter) -> int | None:
        default = mapped(self._description.follow(parameter.schema)).get("default")
        value = self._arguments.get(name, default)
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            return None


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
