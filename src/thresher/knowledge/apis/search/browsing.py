"""Lists the tags of providers and the operations of a tag, where nothing is searched.

Invariant: pure; pages follow each other without gaps or repeats while the descriptions stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.core import InvalidInput, NotFound, did_you_mean, nearest
from thresher.knowledge.apis.cache import LocatedOperation
from thresher.knowledge.apis.heads import Brief, Operations, ProviderHead, VersionHead
from thresher.knowledge.apis.ingestion.paths import literals, squeezed
from thresher.knowledge.apis.models import TagCount
from thresher.knowledge.apis.search.query import METHODS, CleanedQuery, distinct_terms, named_providers, query_words

EVERY_TAG: Final = "*"
"""Stands for all tags."""

VersionOperations = tuple[ProviderHead, VersionHead, Operations]
"""The operations of one version."""


_GROUPS: Final = ("tag", "categor")


@dataclass(frozen=True, slots=True)
class Browse:
    """What to list.

    Attributes:
        providers: Ids of the providers.
        tags: Lower-case names of the tags whose operations to list, `*` for all; empty to list the tags.
    """

    providers: frozenset[int]
    tags: frozenset[str] = frozenset()


def browse_of(cleaned: CleanedQuery, parts: Sequence[VersionOperations], tags: Sequence[str]) -> Browse | None:
    """Return what a query asks to list; None if it asks to search.

    An empty query lists tags, and so does "list apis" and "list NAME tags". "list NAME apis" lists the operations of a
    provider by tag, "list NAME TAG apis" those of one tag. "list endpoints" is a search if the API is about endpoints.
    """
    all_of_them = frozenset(provider.id for provider, _, _ in parts)
    if not cleaned.text:
        return Browse(all_of_them, _folded(tags))
    if cleaned.names is None or _acts_on(cleaned.noun, parts):
        return None
    heads = {provider.id: provider for provider, _, _ in parts}
    named = named_providers(cleaned.names, heads.values())
    rest = _without(cleaned.names, named)
    if not rest:
        plain = cleaned.noun.startswith("api")
        if not named:
            return Browse(all_of_them, _folded(tags)) if plain else None
        whole = frozenset[str]() if cleaned.noun.startswith(_GROUPS) else frozenset({EVERY_TAG})
        return Browse(frozenset(head.id for head in named), _folded(tags) or whole)
    wanted = distinct_terms(" ".join(rest))
    chosen = frozenset(head.id for head in named) or all_of_them
    found = {tag for provider, _, held in parts if provider.id in chosen for one in held.briefs for tag in tags_of(one)}
    matching = frozenset(tag.lower() for tag in found if distinct_terms(tag) == wanted)
    return Browse(chosen, matching) if matching and not tags else None


def tags_of(brief: Brief) -> tuple[str, ...]:
    """Return the tags of an operation, or the first word of its path if it has none."""
    return brief.tags or literals(brief.path)[:1] or ("-",)


def list_tags(parts: Iterable[VersionOperations], browse: Browse) -> list[TagCount]:
    """Return the tags of providers in the order of their descriptions; spellings that differ in case are one tag."""
    counts: dict[tuple[str, str], int] = {}
    descriptions: dict[tuple[str, str], str] = {}
    spelled: dict[tuple[str, str], str] = {}
    for provider, _, held in parts:
        if provider.id not in browse.providers:
            continue
        for tag in held.tags:
            descriptions.setdefault((provider.name, tag.name.lower()), tag.description)
            spelled.setdefault((provider.name, tag.name.lower()), tag.name)
        for brief in held.briefs:
            for key in dict.fromkeys((provider.name, tag.lower()) for tag in tags_of(brief)):
                counts[key] = counts.get(key, 0) + 1
        for brief in sorted(held.briefs, key=lambda brief: not brief.tags):  # a tag's own spelling before a path's
            for tag in tags_of(brief):
                spelled.setdefault((provider.name, tag.lower()), tag)
    return [TagCount(key[0], spelled[key], descriptions.get(key, ""), count) for key, count in counts.items()]


def list_operations(
    parts: Iterable[VersionOperations], browse: Browse, methods: Sequence[str]
) -> list[LocatedOperation]:
    """Return the operations of some tags in the order of their descriptions; of all tags, grouped by tag."""
    listed = [
        LocatedOperation(provider, version, brief)
        for provider, version, held in parts
        if provider.id in browse.providers
        for brief in held.briefs
        if has_tag(brief, browse.tags) and (not methods or brief.method in methods)
    ]
    if EVERY_TAG not in browse.tags:
        return listed
    places: dict[tuple[int, str], int] = {}
    for one in listed:
        places.setdefault((one.provider.id, tags_of(one.brief)[0].lower()), len(places))
    return sorted(listed, key=lambda one: places[one.provider.id, tags_of(one.brief)[0].lower()])


def has_tag(brief: Brief, tags: frozenset[str]) -> bool:
    """Return whether an operation has one of some lower-case tags."""
    return EVERY_TAG in tags or any(tag.lower() in tags for tag in tags_of(brief))


def checked_tags(tags: Sequence[str], parts: Iterable[VersionOperations]) -> tuple[str, ...]:
    """Return the tags to filter by.

    Raises:
        NotFound: No operation has one of them; the hint suggests similar ones.
    """
    wanted = tuple(tag.strip() for tag in tags if tag.strip())
    if not wanted:
        return ()
    known = {tag.lower(): tag for _, _, held in parts for brief in held.briefs for tag in tags_of(brief)}
    for tag in wanted:
        if tag != EVERY_TAG and tag.lower() not in known:
            near = did_you_mean(nearest(tag, known.values()))
            raise NotFound(
                f"No operation has the tag '{tag[:80]}'.",
                hint=near or "Search with an empty query and a provider to list its tags.",
            )
    return wanted


def checked_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the HTTP methods to filter by, in capitals.

    Raises:
        InvalidInput: One is not an HTTP method.
    """
    wanted = tuple(dict.fromkeys(method.strip().upper() for method in methods if method.strip()))
    for method in wanted:
        if method not in METHODS:
            raise InvalidInput(f"'{method[:40]}' is not an HTTP method.", hint=f"Choose one of {', '.join(METHODS)}.")
    return wanted


def _acts_on(noun: str, parts: Iterable[VersionOperations]) -> bool:
    """Return whether operations act on what a list asks for: in some APIs `endpoints` are things."""
    if noun.startswith("api"):
        return False
    wanted = squeezed(noun)
    return any(
        squeezed(segment) == wanted for _, _, held in parts for one in held.briefs for segment in literals(one.path)
    )


def _folded(tags: Sequence[str]) -> frozenset[str]:
    return frozenset(tag.lower() for tag in tags)


def _without(text: str, named: Iterable[ProviderHead]) -> list[str]:
    """Return the words of a text that are not part of a provider's name."""
    known = {
        word for head in named for name in (head.name, head.display_name, *head.aliases) for word in query_words(name)
    }
    return [word for word in query_words(text) if word not in known]
