"""How a page is declared: a function of a visit, with its method and path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from starlette.responses import Response

from thresher.console.visit import Visit

Show: TypeAlias = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or a change that a form asks for.

    Attributes:
        method: `GET` shows, `POST` changes.
        path: Its path, with parameters in braces.
        show: Answers a visit.
        is_open: Whether it is shown to somebody who has not signed in.
    """

    method: str
    path: str
    show: Show
    is_open: bool


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of one part of the console, in the order of their declaration."""

    _pages: list[Page] = field(default_factory=list[Page])

    def get(self, path: str, *, is_open: bool = False) -> Callable[[Show], Show]:
        """Declare a function that shows a page."""
        return self._declare("GET", path, is_open=is_open)

    def post(self, path: str, *, is_open: bool = False) -> Callable[[Show], Show]:
        """Declare a function that does what a form asks for."""
        return self._declare("POST", path, is_open=is_open)

    def _declare(self, method: str, path: str, *, is_open: bool) -> Callable[[Show], Show]:
        def declare(show: Show) -> Show:
            self._pages.append(Page(method, path, show, is_open))
            return show

        return declare

    def __iter__(self) -> Iterator[Page]:
        return iter(self._pages)
