"""The verb of results: more of a tool's result that was larger than its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.results import ResultPart
    from thresher.verbs.request import Request

RESULTS = Kind("results", "thresher.results", remote=False)


@RESULTS.verb("read")
async def read_result(
    request: Request,
    cursor: Annotated[str, Doc("As the part of the result names it")],
    focus: Annotated[str, Doc("What you want to know")] = "",
    pointer: Annotated[str, Doc("JSON pointer such as /items/3/name, or a path such as $.items[*].name")] = "",
    lines: Annotated[str, Doc("A range of lines: 120-180")] = "",
    pattern: Annotated[str, Doc("A regular expression; the lines that match are given")] = "",
    budget: Annotated[
        Annotated[int, Ge(0), Le(1_000_000)] | None,
        Doc("Most tokens, from 100; 0: all; by default THRESHER_RESULT_TOKENS"),
    ] = None,
) -> ResultPart:
    """More of a tool's result that was larger than its budget: what answers a question, a place, lines, or matches.

    Raises:
        InvalidInput: The place, the lines or the expression is not valid, or there is nothing there.
        NotFound: No result is kept for the caller under this cursor.
    """
    return await request.services.results.read(
        request.caller, cursor, focus=focus, pointer=pointer, lines=lines, pattern=pattern, budget=budget
    )
