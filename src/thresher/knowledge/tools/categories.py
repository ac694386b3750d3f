"""Categories of tools: clusters of their vectors, named by their words, which an owner may name and fill otherwise.

Invariant: a tool has one category at most; the owner's choice comes before what was derived, and no derivation changes
it. Categories exist only after an owner had them derived or chose one; then tools of servers that are listed later get
one, too. Clusters and names are pure: the same tools always give the same.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.core import Caller, InvalidInput, NotFound, did_you_mean, nearest, one_line
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue
from thresher.knowledge.tools.indexer import Indexer, LocalServers
from thresher.knowledge.tools.models import KIND, ToolCategory, plain_name
from thresher.knowledge.tools.queries import CATEGORY, DERIVED, ToolKey
from thresher.knowledge.tools.servers import checked_owner
from thresher.search import Floats, SearchIndex, split_name, terms
from thresher.store import Database, clean, run_retrying

NAME_CHARACTERS: Final = 40
_ROUNDS: Final = 30
_NAME_WORDS: Final = 2
_WORD_CHARACTERS: Final = 16
"""Of one word of a name: scripts without spaces make words of whole sentences."""
_WORD: Final = re.compile(r"[^\W\d_][\w'-]+")


class Categories:
    """The categories of all tenants; one per process."""

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        indexer: Indexer,
        catalogues: CatalogueCache,
        local: LocalServers,
    ) -> None:
        self._database = database
        self._index = index
        self._indexer = indexer
        self._catalogues = catalogues
        self._local = local

    async def categories(self, caller: Caller) -> tuple[ToolCategory, ...]:
        """Return the categories of the enabled tools that the caller sees, the largest first."""
        catalogue = await self._current(caller)
        texts = await self._texts(caller)
        found = [_category(catalogue, name, texts) for name in catalogue.categories]
        return tuple(sorted(found, key=lambda one: (-len(one.tools), one.name)))

    async def derive(self, caller: Caller, *, again: bool = False) -> tuple[ToolCategory, ...]:
        """Give the caller's own tools that have no category one: a near category, or a new one with others.

        Args:
            caller: The owner of the tools.
            again: Whether tools get another category that have a derived one; what the owner chose stays.

        Returns:
            All categories, as `categories` returns them.
        """
        catalogue = await self._current(caller)
        texts = await self._texts(caller)
        servers = {row.id for row in catalogue.servers.values() if row.owner == caller.user and row.enabled}
        own = {number: tool for number, tool in catalogue.by_id.items() if tool.row.server_id in servers}
        ids, vectors = await self._index.vectors(caller.tenant, KIND, list(own))
        tools = [own[int(number)] for number in ids]
        keys = [catalogue.key_of(tool) for tool in tools]
        given = [texts.get(key, queries.NO_TEXTS) for key in keys]
        before = [one.chosen if again else one.category for one in given]
        made = await asyncio.to_thread(derived_categories, vectors, [_words_of(tool) for tool in tools], before)
        fresh = {key: new for key, new, old in zip(keys, made, before, strict=True) if not old}
        await self._write(caller, fresh, DERIVED, {tool.row.server for tool in tools})
        return await self.categories(caller)

    async def follow(self, caller: Caller) -> None:
        """Give tools without a category one, if the caller has categories."""
        if (await self._catalogues.current(caller)).categories:
            await self.derive(caller)

    async def choose(self, caller: Caller, category: str, names: Sequence[str]) -> ToolCategory:
        """Put tools into a category, a new one or one that exists, until the owner decides otherwise.

        Raises:
            InvalidInput: The name is too long or has no word; no tool is named.
            NotFound: No tool has one of the names.
            NotAllowed: A server belongs to the tenant, and the caller is one of its users.
        """
        category = checked_category(category)
        if not names:
            raise InvalidInput("Name the tools.", hint="`thresher tools list` shows them.")
        catalogue = await self._current(caller)
        tools = [catalogue.known(name) for name in dict.fromkeys(names)]
        await self._choose(caller, catalogue, category, tools)
        return await self._named(caller, category)

    async def rename(self, caller: Caller, name: str, to: str) -> ToolCategory:
        """Give a category another name; its tools stay in it until the owner decides otherwise.

        Raises:
            InvalidInput: The new name is too long or has no word.
            NotFound: There is no such category.
            NotAllowed: A server belongs to the tenant, and the caller is one of its users.
        """
        to = checked_category(to)
        catalogue = await self._current(caller)
        await self._choose(caller, catalogue, to, _tools_of(catalogue, name))
        return await self._named(caller, to)

    async def remove(self, caller: Caller, name: str) -> str:
        """Remove a category: its tools have none, until some are derived again. Returns its name.

        Raises:
            NotFound: There is no such category.
            NotAllowed: A server belongs to the tenant, and the caller is one of its users.
        """
        catalogue = await self._current(caller)
        tools = _tools_of(catalogue, name)
        for kind in (CATEGORY, DERIVED):
            await self._choose(caller, catalogue, "", tools, kind)
        return name

    async def _current(self, caller: Caller) -> ToolCatalogue:
        await self._local.ready(caller, searching=False)
        return await self._catalogues.current(caller)

    async def _texts(self, caller: Caller) -> Mapping[ToolKey, queries.ToolTexts]:
        async with self._database.transaction(caller.tenant) as connection:
            return await queries.texts(connection, caller)

    async def _named(self, caller: Caller, name: str) -> ToolCategory:
        return _category(await self._catalogues.current(caller), name, await self._texts(caller))

    async def _choose(
        self,
        caller: Caller,
        catalogue: ToolCatalogue,
        category: str,
        tools: Sequence[NamedTool],
        kind: str = CATEGORY,
    ) -> None:
        servers = {tool.row.server for tool in tools}
        for server in servers:
            checked_owner(caller, catalogue.servers[server])
        await self._write(caller, {catalogue.key_of(tool): category for tool in tools}, kind, servers)

    async def _write(self, caller: Caller, found: Mapping[ToolKey, str], kind: str, servers: Collection[str]) -> None:
        """Write categories, then index the servers' tools again, whose texts and vectors stay."""
        if not found:
            return
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.put_categories(connection, caller.tenant, found, kind),
        )
        self._catalogues.changed(caller.tenant.id)
        catalogue = await self._catalogues.current(caller)
        rows = [row for name in servers if (row := catalogue.servers.get(name)) is not None and row.enabled]
        await self._indexer.index(caller, rows)


def checked_category(name: str) -> str:
    """Return the name of a category without surrounding white space.

    Raises:
        InvalidInput: It is too long, has no word, or contains control characters.
    """
    text = " ".join(clean(name).split())
    if len(text) > NAME_CHARACTERS or _WORD.search(text) is None or not text.isprintable():
        raise InvalidInput(
            f"'{one_line(text, NAME_CHARACTERS)}' is not a name of a category.",
            hint=f"Give a word of two letters or more, or several; {NAME_CHARACTERS} characters at most.",
        )
    return text


def _tools_of(catalogue: ToolCatalogue, name: str) -> list[NamedTool]:
    if name not in catalogue.categories:
        near = did_you_mean(nearest(name, catalogue.categories))
        raise NotFound(f"There is no category '{name}'.", hint=near or "`thresher tools categories list` shows them.")
    return [catalogue.by_id[number] for number in sorted(catalogue.categories[name])]


def _category(catalogue: ToolCatalogue, name: str, texts: Mapping[ToolKey, queries.ToolTexts]) -> ToolCategory:
    tools = [catalogue.by_id[number] for number in catalogue.categories.get(name, ())]
    chosen = sum(texts.get(catalogue.key_of(tool), queries.NO_TEXTS).chosen == name for tool in tools)
    servers = sorted({plain_name(tool.row.server) for tool in tools})
    return ToolCategory(name, tuple(sorted(tool.name for tool in tools)), tuple(servers), chosen)


def _words_of(tool: NamedTool) -> str:
    """What a category may be named by: the words of the names of server and tool, and what the tool does."""
    does = tool.row.line.partition(") - ")[2]
    return f"{split_name(tool.row.name)} {split_name(plain_name(tool.row.server))} {does}"


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text: its index term, and how it is written."""

    term: str
    text: str


def derived_categories(vectors: Floats, texts: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return a category for every tool.

    A tool without one joins the nearest category if it is as near to its middle as its tools are in the mean. The
    others are divided into about as many clusters as the square root of their number.

    Args:
        vectors: float32 (tools, dimension), the tools' vectors.
        texts: Their words.
        before: The category that each has; empty if it has none.
    """
    found = list(before)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9) if len(vectors) else vectors
    open_ones = [place for place, name in enumerate(found) if not name]
    for place, name in _joined(units, before, open_ones).items():
        found[place] = name
    left = np.array([place for place in open_ones if not found[place]], np.int64)
    if not len(left):
        return found
    labels = clusters(units[left], round(math.sqrt(len(left))) or 1)
    words = [[_Word(term, word) for word in _words(text) for term in terms(word)[:1]] for text in texts]
    everywhere = Counter(term for text in words for term in {word.term for word in text})
    taken = {name.casefold() for name in found if name}
    for label in sorted(set[int](labels.tolist()), key=lambda label: (-int((labels == label).sum()), label)):
        members: list[int] = left[labels == label].tolist()
        name = _name_of([words[place] for place in members], everywhere, len(texts), taken)
        taken.add(name.casefold())
        for place in members:
            found[place] = name
    return found


def _words(text: str) -> Iterable[str]:
    return (word for word in _WORD.findall(text.lower()) if len(word) <= _WORD_CHARACTERS)


def _joined(units: Floats, before: Sequence[str], open_ones: Sequence[int]) -> dict[int, str]:
    """The categories that exist for those of some tools that are near enough to one."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(before):
        if name:
            members[name].append(place)
    if not members or not open_ones:
        return {}
    names = list(members)
    middles = np.stack([_unit(units[members[name]].sum(axis=0)) for name in names])
    bars = np.array([(units[members[name]] @ middles[n]).mean() for n, name in enumerate(names)])
    near = units[list(open_ones)] @ middles.T
    best = near.argmax(axis=1)
    return {
        place: names[column]
        for place, column, values in zip(open_ones, best.tolist(), near, strict=True)
        if values[column] >= bars[column]
    }


def clusters(units: Floats, count: int) -> NDArray[np.int64]:
    """Divide unit vectors into clusters: spherical k-means from middles that lie far apart.

    Args:
        units: float32 (n, dimension), n > 0.
        count: The number of clusters, at most n.

    Returns:
        int64 (n,), the cluster of each; some numbers may be left out.
    """
    chosen = [int((units @ _unit(units.mean(axis=0))).argmax())]
    near = units @ units[chosen[0]]
    while len(chosen) < count:
        chosen.append(int(near.argmin()))
        near = np.maximum(near, units @ units[chosen[-1]])
    middles = units[chosen].copy()
    labels = (units @ middles.T).argmax(axis=1)
    for _ in range(_ROUNDS):
        for number in range(count):
            if len(members := units[labels == number]):
                middles[number] = _unit(members.sum(axis=0))
        moved = (units @ middles.T).argmax(axis=1)
        if (moved == labels).all():
            break
        labels = moved
    return labels


def _unit(vector: Floats) -> Floats:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def _name_of(
    members: Sequence[Sequence[_Word]], everywhere: Mapping[str, int], tools: int, taken: Collection[str]
) -> str:
    """The words that most of a cluster's tools have and few others; a number behind them if the name is taken."""
    inside = Counter(term for words in members for term in {word.term for word in words})
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words in members:
        for word in words:
            forms[word.term][word.text] += 1
    size = len(members)

    def tells(term: str) -> float:
        share, outside = inside[term] / size, (everywhere[term] - inside[term] + 0.5) / (tools - size + 1)
        return share * math.log(share / outside)

    common = [term for term in inside if inside[term] > 1 or size == 1] or list(inside)
    best = sorted(common, key=lambda term: (-tells(term), term))[:_NAME_WORDS]
    name = " ".join(min(forms[term], key=lambda text: (-forms[term][text], text)) for term in best) or "tools"
    names = itertools.chain([name], (f"{name} {number}" for number in itertools.count(2)))
    return next(one for one in names if one.casefold() not in taken)
