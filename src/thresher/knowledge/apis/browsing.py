"""Lists what there is where nothing is searched: the tags of providers, and the operations of a tag.

Invariant: pure; pages follow each other without gaps and repeats while the descriptions stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.core import InvalidInput, NotFound, did_you_mean, nearest
from thresher.knowledge.apis.cleaning import Cleaned
from thresher.knowledge.apis.detecting import METHODS, distinct_terms, named_providers, said_words
from thresher.knowledge.apis.heads import Brief, Operations, ProviderHead, VersionHead
from thresher.knowledge.apis.models import TagCount
from thresher.knowledge.apis.paths import literals, squeezed
from thresher.knowledge.apis.shelf import Located

EVERY_TAG: Final = "*"
"""Stands for all tags."""

Part = tuple[ProviderHead, VersionHead, Operations]
"""The operations of one version."""


@dataclass(frozen=True, slots=True)
class Browse:
    """What shall be listed.

    Attributes:
        providers: Ids of those whose tags or operations are listed.
        tags: Names of the tags whose operations are listed, in lower case, or `*` for all; empty: tags are listed.
    """

    providers: frozenset[int]
    tags: frozenset[str] = frozenset()


def browse_of(cleaned: Cleaned, parts: Sequence[Part], tags: Sequence[str]) -> Browse | None:
    """What a query asks to be listed; None for a query that is searched.

    A list is what an empty query wants, and one that holds nothing but a word such as "apis", the name of a provider
    and perhaps one of its tags. "list endpoints" is a search where endpoints are what the API is about.
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
        return Browse(frozenset(head.id for head in named) or all_of_them, _folded(tags)) if named or plain else None
    wanted = distinct_terms(" ".join(rest))
    chosen = frozenset(head.id for head in named) or all_of_them
    found = {tag for provider, _, held in parts if provider.id in chosen for one in held.briefs for tag in tags_of(one)}
    matching = frozenset(tag.lower() for tag in found if distinct_terms(tag) == wanted)
    return Browse(chosen, matching) if matching and not tags else None


def tags_of(brief: Brief) -> tuple[str, ...]:
    """The tags of an operation; without any, the first word of its path stands for one."""
    return brief.tags or literals(brief.path)[:1] or ("-",)


def list_tags(parts: Iterable[Part], browse: Browse) -> list[TagCount]:
    """The tags of providers in the order of their descriptions; spellings that differ in case alone are one tag."""
    counts: dict[tuple[str, str], int] = {}
    said: dict[tuple[str, str], str] = {}
    spelled: dict[tuple[str, str], str] = {}
    for provider, _, held in parts:
        if provider.id not in browse.providers:
            continue
        for tag in held.tags:
            said.setdefault((provider.name, tag.name.lower()), tag.description)
            spelled.setdefault((provider.name, tag.name.lower()), tag.name)
        for brief in held.briefs:
            for key in dict.fromkeys((provider.name, tag.lower()) for tag in tags_of(brief)):
                counts[key] = counts.get(key, 0) + 1
        for brief in sorted(held.briefs, key=lambda brief: not brief.tags):  # a tag's own spelling before a path's
            for tag in tags_of(brief):
                spelled.setdefault((provider.name, tag.lower()), tag)
    return [TagCount(key[0], spelled[key], said.get(key, ""), count) for key, count in counts.items()]


def list_operations(parts: Iterable[Part], browse: Browse, methods: Sequence[str]) -> list[Located]:
    """The operations of some tags in the order of their descriptions; of all tags, those of a tag together."""
    listed = [
        Located(provider, version, brief)
        for provider, version, held in parts
        if provider.id in browse.providers
        for brief in held.briefs
        if carries(brief, browse.tags) and (not methods or brief.method in methods)
    ]
    if EVERY_TAG not in browse.tags:
        return listed
    places: dict[tuple[int, str], int] = {}
    for one in listed:
        places.setdefault((one.provider.id, tags_of(one.brief)[0].lower()), len(places))
    return sorted(listed, key=lambda one: places[one.provider.id, tags_of(one.brief)[0].lower()])


def carries(brief: Brief, tags: frozenset[str]) -> bool:
    """Whether an operation has one of some tags, in lower case."""
    return EVERY_TAG in tags or any(tag.lower() in tags for tag in tags_of(brief))


def checked_tags(tags: Sequence[str], parts: Iterable[Part]) -> tuple[str, ...]:
    """Tags to filter by.

    Raises:
        NotFound: No operation has one of them; the hint offers near ones.
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
                hint=near or "Search with an empty query and a provider: that lists its tags.",
            )
    return wanted


def checked_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Methods to filter by, in capitals.

    Raises:
        InvalidInput: One is no HTTP method.
    """
    wanted = tuple(dict.fromkeys(method.strip().upper() for method in methods if method.strip()))
    for method in wanted:
        if method not in METHODS:
            raise InvalidInput(f"'{method[:40]}' is no HTTP method.", hint=f"Choose from {', '.join(METHODS)}.")
    return wanted


def _acts_on(noun: str, parts: Iterable[Part]) -> bool:
    """Whether operations act on what a list was asked of: `endpoints` are things in some APIs."""
    if noun.startswith("api"):
        return False
    wanted = squeezed(noun)
    return any(
        squeezed(segment) == wanted for _, _, held in parts for one in held.briefs for segment in literals(one.path)
    )


def _folded(tags: Sequence[str]) -> frozenset[str]:
    return frozenset(tag.lower() for tag in tags)


def _without(text: str, named: Iterable[ProviderHead]) -> list[str]:
    """The words of a text that are no part of the name of a provider."""
    known = {
        word for head in named for name in (head.name, head.display_name, *head.aliases) for word in said_words(name)
    }
    return [word for word in said_words(text) if word not in known]
