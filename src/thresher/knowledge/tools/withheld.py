"""Names the held tools that an answer would have held, so that nobody wonders where they went.

Invariant: a held tool takes no place from another: they are searched apart, and only where some tool is held.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from thresher.core import Caller, ThresherError
from thresher.knowledge.tools.catalogue import Catalogue
from thresher.knowledge.tools.choice import Choice
from thresher.knowledge.tools.facets import facets_of
from thresher.knowledge.tools.models import KIND
from thresher.knowledge.tools.question import Question
from thresher.knowledge.tools.trust import REJECTED
from thresher.search import Filter, SearchIndex


async def withheld(
    index: SearchIndex,
    caller: Caller,
    catalogue: Catalogue,
    question: Question,
    scope: Collection[int] | None,
    chosen: Sequence[Choice],
) -> tuple[str, ...]:
    """The exposed names of held tools that fit at least as well as the last tool that was chosen, best first.

    A rejected tool is not named: a person has decided about it.
    """
    undecided = (tool for tool in catalogue.held.values() if tool.row.held != REJECTED)
    waiting = {tool.row.id: tool for tool in undecided if tool.row.enabled}
    servers = {tool.row.server_id for tool in waiting.values() if scope is None or tool.row.server_id in scope}
    if not servers:
        return ()
    try:
        found = await index.search(
            caller,
            KIND,
            question.texts,
            limit=question.limit,
            filter=Filter(facets=facets_of(servers, held=True)),
            threshold=question.threshold,
            split=question.split,
        )
    except ThresherError:
        return ()  # the answer itself already says that the search does not work
    bar = min((choice.score for choice in chosen if choice.why.source not in ("core", "fallback")), default=0.0)
    hits = () if found.abstained else found.hits
    return tuple(waiting[hit.id].name for hit in hits if hit.id in waiting and hit.score >= bar)
