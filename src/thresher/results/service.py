"""Answers of tools within a budget: what fits passes as it is, of what does not the part that answers is delivered.

Invariant: an answer within its budget is the very object that the tool gave; a failure is never cut; what is larger is
kept before a part of it is delivered, and the part says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from thresher.core import JSON, Caller, InvalidInput, Settings
from thresher.embedding import count_tokens
from thresher.results.fitting import LEAST_BUDGET, fit, fits
from thresher.results.formats import kind_of
from thresher.results.json_parts import write_json
from thresher.results.keeping import LARGEST, Keeper, KeptResult
from thresher.results.parts import estimated_tokens
from thresher.results.reading import read_on
from thresher.store import Database, SecretBox

WHOLE_META: Final = "thresher/result"
"""In the `_meta` of a request: `"whole"` has the result pass as it is; a number is the budget."""
MOST_BUDGET: Final = 1_000_000
CLIENT_LIMITS: Final[Mapping[str, int]] = {"claude-code": 25_000, "claude code": 25_000, "codex": 10_000}
"""Tokens of a result from which clients, by the beginnings of their names, cut or refuse it by default. Sources: the
documentation of Claude Code (`MAX_MCP_OUTPUT_TOKENS`) and of Codex (`tool_output_token_limit`)."""
_SLOW: Final = 100_000
"""Characters from which a result is counted in a thread, so that other calls go on."""
_ALIKE: Final = 1.05
_SURELY: Final = 1.5
_MARGIN: Final = 1.1
"""Characters of a token that any result in ASCII has on the whole, and by how much an estimate may be wrong."""
_ASIDE: Final = 0.25
"""Most of a budget for lines about blocks that are no text."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a result is wanted.

    Attributes:
        tool: The name that the tool was called by.
        server: The server that it belongs to; empty if none.
        budget: Most tokens; None: those of the setting; 0: all of it.
        focus: What the caller wants to know.
        client: Name of the client.
        schema: Whether the tool has an output schema, which a part would not fit.
        direct: Whether the client called the tool itself, and so checks the answer against that schema.
    """

    tool: str
    server: str = ""
    budget: int | None = None
    focus: str = ""
    client: str = ""
    schema: bool = False
    direct: bool = False


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A part of a result.

    Attributes:
        text: What is delivered.
        tokens: Its tokens.
        whole: Whether it is all that was asked for.
        whole_tokens: About how many tokens that has.
    """

    text: str
    tokens: int
    whole: bool
    whole_tokens: int


class Results:
    """Delivers results within budgets, and more of those that were larger.

    Args:
        database: Where larger ones are kept.
        secrets: Seals them.
        settings: The default budget, and what is exempt.
    """

    def __init__(self, database: Database, secrets: SecretBox, settings: Settings) -> None:
        self._keeper = Keeper(database, secrets, settings)
        self._tokens = settings.result_tokens
        self._exempt = frozenset(settings.result_exempt)
        self._days = settings.result_hours / 24

    def budget(self, delivery: Delivery) -> int:
        """The most tokens of a result; 0 for no limit.

        Raises:
            InvalidInput: The budget that was asked for is out of bounds.
        """
        if delivery.budget is not None:
            return checked_budget(delivery.budget)
        if not self._tokens or not self._exempt.isdisjoint((delivery.tool, delivery.server)):
            return 0
        name = delivery.client.lower()
        limits = [limit for start, limit in CLIENT_LIMITS.items() if name.startswith(start)]
        return min([self._tokens, *limits])

    async def deliver(self, caller: Caller, answer: JSON, delivery: Delivery) -> JSON:
        """Return an answer within its budget.

        Args:
            caller: For whom the tool was called.
            answer: The whole result as MCP writes it: `content`, `structuredContent`, `isError`, `_meta`.
            delivery: How it is wanted.

        Returns:
            The same object if it fits, or is a failure; else one whose text is a part, with the cursor of the rest.

        Raises:
            InvalidInput: The budget is out of bounds.
        """
        budget = self.budget(delivery)
        if not budget or answer.get("isError"):
            return answer
        blocks = cast("Sequence[Mapping[str, Any]]", answer.get("content") or ())
        structured: Any = answer.get("structuredContent")
        text, mime = _text_of(blocks)
        written = "" if structured is None else write_json(structured)
        asked = delivery.budget is not None
        text_fits = await _off(text, _passes, budget, exact=asked)
        alike = not asked and len(written) <= _ALIKE * len(text)  # the text is mostly the same again
        if text_fits and (alike or await _off(written, _passes, budget, exact=asked)):
            return answer
        large = written if text_fits else text
        mime = mime if large is text else "application/json"
        is_cut = not await _off(written, fits, budget) and not (delivery.schema and delivery.direct)
        cursor = self._keeper.keep(caller, KeptResult(delivery.tool, large, mime))
        more = _more(cursor, large)
        if is_cut and large is text and kind_of(text, mime)[0] != "json":
            more += "; its structured content: only with budget 0"
        aside = _aside(blocks, int(_ASIDE * budget))
        room = budget - sum(map(count_tokens, aside))
        first = "" if large is text or not text.strip() or not fits(text, room // 2) else text
        fitted = await asyncio.to_thread(fit, large, room // 2 if first else room, delivery.focus, mime, more)
        part = [{"type": "text", "text": one} for one in (first, *aside, fitted.text) if one]
        others = [dict(block) for block in blocks if not _is_text(block)]
        cut: dict[str, Any] = {**answer, "content": [*part, *others]}
        if is_cut:
            cut.pop("structuredContent", None)
            if fitted.structured is not None and not delivery.schema:
                cut["structuredContent"] = fitted.structured
        return cut

    async def read(
        self,
        caller: Caller,
        cursor: str,
        *,
        focus: str = "",
        pointer: str = "",
        lines: str = "",
        pattern: str = "",
        budget: int | None = None,
        client: str = "",
    ) -> ResultPart:
        """Read more of a result that was larger than its budget.

        Args:
            caller: For whom the tool was called.
            cursor: As the part names it.
            focus: Another question.
            pointer: JSON pointer, or a path such as `$.items[*].name`.
            lines: `120-180`.
            pattern: A regular expression.
            budget: Most tokens; by default those of the setting.
            client: Name of the client.

        Raises:
            InvalidInput: The place or the expression is not valid, or there is nothing there.
            NotFound: The result is not kept for this caller, or not any more.
        """
        kept = await self._keeper.read(caller, cursor)
        most = self.budget(Delivery(kept.tool, budget=budget, client=client)) or MOST_BUDGET
        given = {"focus": focus, "pointer": pointer, "lines": lines, "pattern": pattern}
        part = await asyncio.to_thread(
            lambda: read_on(kept.text, most, mime=kept.mime, more=_more(cursor.strip(), kept.text), **given)
        )
        return ResultPart(part.text, part.tokens, part.whole, part.whole_tokens)

    async def keep(self, caller: Caller, kept: KeptResult) -> str:
        """Keep something of a caller as results are kept; returns its cursor once every replica can read it."""
        cursor = self._keeper.keep(caller, kept)
        await self._keeper.settle()
        return cursor

    async def kept(self, caller: Caller, cursor: str) -> KeptResult:
        """Return what is kept.

        Raises:
            NotFound: None of this caller is kept under this cursor, or none is kept any more.
        """
        return await self._keeper.read(caller, cursor)

    async def take(self, caller: Caller, cursor: str) -> bool:
        """Delete what is kept; returns whether it was there: of several who ask, one takes it."""
        return await self._keeper.take(caller, cursor)

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Delete kept results of a caller; returns how many.

        Args:
            caller: The owner of the results.
            older_than: Their age in days; by default that up to which they are kept.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        return await self._keeper.purge(caller, self._days if older_than is None else older_than)

    async def settle(self) -> None:
        """Wait until everything that is to be kept is written."""
        await self._keeper.settle()


def checked_budget(budget: int) -> int:
    """Return a budget of a result; 0 is no limit.

    Raises:
        InvalidInput: It is out of bounds.
    """
    if budget and not LEAST_BUDGET <= budget <= MOST_BUDGET:
        raise InvalidInput(
            f"{budget} is not a valid budget.", hint=f"Give {LEAST_BUDGET} to {MOST_BUDGET:,} tokens, or 0 for all."
        )
    return budget


def _passes(text: str, budget: int, *, exact: bool) -> bool:
    """Whether a text fits a budget; counted exactly where the budget was asked for, or it is a close thing.

    The default is no promise to the token, and counting every result would slow down every call.
    """
    if not exact and len(text) <= _SURELY * budget and text.isascii():
        return True
    if not exact and estimated_tokens(text) * _MARGIN <= budget:
        return True
    return fits(text, budget)


async def _off(text: str, work: Callable[..., T], *given: Any, **more: Any) -> T:
    """Do something with a text; in a thread if it is long."""
    if len(text) < _SLOW:
        return work(text, *given, **more)
    return await asyncio.to_thread(work, text, *given, **more)


def _more(cursor: str, text: str) -> str:
    cut = f"; kept of it: the first {LARGEST:,} characters" if len(text) > LARGEST else ""
    return f"more: read_result, cursor {cursor}{cut}"


def _is_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" or _resource_text(block) is not None


def _resource_text(block: Mapping[str, Any]) -> str | None:
    resource: Any = block.get("resource") if block.get("type") == "resource" else None
    text = cast("Mapping[str, Any]", resource).get("text") if isinstance(resource, Mapping) else None
    return text if isinstance(text, str) else None


def _text_of(blocks: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The text of an answer and its media type; several blocks of JSON are one list."""
    texts: list[str] = []
    mime = ""
    for block in blocks:
        if block.get("type") == "text":
            texts.append(str(block.get("text", "")))
        elif (text := _resource_text(block)) is not None:
            texts.append(text)
            mime = str(cast("Mapping[str, Any]", block["resource"]).get("mimeType") or "")
    if len(texts) < 2:
        return "".join(texts), mime
    if all(text.startswith(("{", "[")) and text.endswith(("}", "]")) for text in texts):
        return "[" + ",\n".join(texts) + "]", "application/json"
    return "\n\n".join(texts), ""


def _aside(blocks: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    """What else an answer holds, with its size: as many lines as so many tokens have room for."""
    lines: list[str] = []
    for block in blocks:
        if not _is_text(block):
            resource = cast("Mapping[str, Any]", block.get("resource") or {})
            data = str(block.get("data") or resource.get("blob") or "")
            kind = str(block.get("mimeType") or resource.get("mimeType") or "")[:60]
            where = str(block.get("uri") or resource.get("uri") or "")[:200]
            size = f"{len(data) * 3 // 4:,} bytes" if data else ""
            line = f"[{', '.join(one for one in (str(block.get('type')), kind, size, where) if one)}]"
            if (most := most - count_tokens(line)) < 0:
                break
            lines.append(line)
    return lines
