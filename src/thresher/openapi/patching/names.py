"""Words for what names, paths and schemas say.

Invariant: a text says no more than they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from thresher.core import first_sentence
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, MediaType, Operation, Response
from thresher.openapi.schemas import shape_of

_NAMED: Final = 5
_CLIP: Final = 70
_DEEPEST: Final = 3
"""Deepest nesting of lists that is put into words; a list may contain itself."""
_PLACES: Final = {"path": "in the path", "query": "in the query", "header": "as header", "cookie": "as cookie"}


def sentences_about(operation: Operation, description: Description) -> Iterator[str]:
    """Yield sentences about an operation, most important first."""
    yield from _needs(operation)
    yield from _body(operation, description)
    yield from _answer(operation, description)
    yield from _failures(operation)
    yield from _scopes(operation)


def schema_words(schema: Json, description: Description, level: int = 0) -> str:
    """Return a schema in a few words, such as ``a list of `Pet` ``; empty if it says nothing."""
    shape = shape_of(description, schema)
    if shape.type == "array":
        items = schema_words(shape.keywords.get("items"), description, level + 1) if level < _DEEPEST else ""
        return f"a list of {items}" if items else "a list"
    if shape.name:
        return f"`{shape.name}`"
    if shape.properties:
        return f"an object with {listing(shape.properties)}"
    return {"string": "text", "boolean": "true or false", "integer": "a number", "number": "a number"}.get(
        shape.type, ""
    )


def listing(names: Iterable[str], most: int = _NAMED) -> str:
    """Return names in code marks, and a count of those not shown."""
    marked = [f"`{each}`" for each in names if "`" not in each and "\n" not in each]
    more = len(marked) - most
    shown = marked[:most] if more > 0 else marked
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def success_of(operation: Operation) -> Response | None:
    """Return the first success response."""
    return next((each for each in operation.responses if each.status.startswith("2")), None)


def _needs(operation: Operation) -> Iterator[str]:
    needed = [each for each in operation.parameters if each.required]
    places = {each.place: "" for each in needed}
    parts = [
        f"{listing(each.name for each in needed if each.place == place)} {_PLACES.get(place, 'in the request')}"
        for place in places
    ]
    if parts:
        yield f"Needs {' and '.join(parts)}."
    taken = [each for each in operation.parameters if not each.required and each.place == "query"]
    if taken:
        yield f"{'Also takes' if parts else 'Takes'} {listing(each.name for each in taken)}."


def _body(operation: Operation, description: Description) -> Iterator[str]:
    if operation.body is None or not operation.body.contents:
        return
    content = operation.body.contents[0]
    words = _content_words(content, description)
    required = shape_of(description, content.schema).required
    needing = f" with {listing(required)} required" if required and words.startswith("`") else ""
    yield f"The body is {words}{needing}."


def _answer(operation: Operation, description: Description) -> Iterator[str]:
    success = success_of(operation)
    if success is None:
        return
    if success.contents:
        yield f"Returns {success.status} with {_content_words(success.contents[0], description)}."
    elif success.status == "204":
        yield "Returns 204 without a body."


def _content_words(content: MediaType, description: Description) -> str:
    return (schema_words(content.schema, description) if content.schema else "") or f"`{content.media}`"


def _failures(operation: Operation) -> Iterator[str]:
    failures = [each for each in operation.responses if each.status[:1] in {"4", "5"}]
    if failures:
        said = [_failure(each) for each in failures[:_NAMED]]
        yield f"Fails with {', '.join(said)}."


def _failure(response: Response) -> str:
    words = first_sentence(response.description).strip().rstrip(".")
    fits = words and len(words) <= _CLIP and "\n" not in words and "`" not in words and "<" not in words
    return f"{response.status} ({words})" if fits else response.status


def _scopes(operation: Operation) -> Iterator[str]:
    scopes = [scope for way in operation.security or () for _, scopes in way.schemes for scope in scopes]
    if scopes and len(operation.security or ()) == 1:
        yield f"Needs the scope {listing(dict.fromkeys(scopes))}."


_PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_ABBREVIATION: Final = re.compile(r"[b-df-hj-np-tv-xz]{2,3}", re.IGNORECASE)
"""Words without a vowel, such as `tv` and `jql`."""
_PARAMETER: Final = re.compile(r"\{([^{}]+)\}")
_FRAME: Final = re.compile(r"api|apis|rest|latest|v\d\w*|\d+|[\w-]+\.[\w.-]+", re.IGNORECASE)
"""Path segments that name nothing: versions, groups, the word API."""
_LONG_PLURALS: Final = ("statuses", "aliases", "buses", "sses", "shes", "ches", "xes", "zes")
_KEEPS: Final = frozenset({"news", "series", "kubernetes", "sms", "dns", "aws"})
_VERBS: Final = frozenset(
    re.findall(
        r"\S+",
        """
        accept activate add allow apply approve archive assign attach attest batch bind block bulk cancel check clear
        clone close complete configure confirm connect convert copy count create deactivate decline delete deploy
        detach disable discard disconnect download edit enable estimate evaluate exclude execute export fetch filter
        find follow force generate get grant ignore import include increment insert install invite invoke issue join
        keep like link list load lock lookup mark match merge migrate modify move mute notify omit open override
        overwrite parse patch pause ping place poll post prefer preview process prune publish pull purge push put
        query rate read rebuild refresh register reject release remove rename render reopen reorder replace report
        request require resend reset resolve restart restore resume retain retrieve retry return revoke rotate run
        save schedule search select send set share show sign simulate skip sort start stop store stream submit
        subscribe suspend switch sync tag test toggle track transfer trigger unarchive unassign unblock undelete
        unfollow uninstall unlink unlock unmute unpublish unsubscribe update upload upsert use validate verify view
        vote watch withdraw
        """,
    )
)
_OWNERS: Final = 2
_PARTS: Final = 3
_IDENTIFIERS: Final = frozenset({"id", "ids", "key", "keys", "uuid", "guid", "slug", "number", "code"})


def words_of(name: str) -> list[str]:
    """Split a name in any case style into words; abbreviations are in capitals."""
    return [_cased(part) for part in _PART.findall(name)]


def _cased(part: str) -> str:
    if part.isupper() and len(part) > 1:
        return part
    return part.upper() if _ABBREVIATION.fullmatch(part) else part.lower()


def singular(word: str) -> str:
    """Return the singular of a word; unchanged if it does not look like a plural."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or word.lower() in _KEEPS:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_LONG_PLURALS) else word[:-1]


def is_plural(word: str) -> bool:
    """Return whether a word looks like a plural."""
    return singular(word) != word


def with_article(words: str) -> str:
    """Prefix the indefinite article: `a pod`, `an issue`."""
    return f"{'an' if words[:1].lower() in 'aeio' else 'a'} {words}"


def sentence(words: str) -> str:
    """Make words a sentence: a capital first, a full stop last."""
    text = words.strip()
    text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?:" else text + "."


def call_words(operation_id: str) -> str:
    """Return an operation's name in words if it starts with a verb, such as `get all watchers`; else empty."""
    words = words_of(operation_id)
    return " ".join(words) if len(words) > 1 and words[0].lower() in _VERBS else ""


def thing_of(path: str) -> tuple[str, str]:
    """Return what a path leads to and the parameter that selects it: `keywords of a movie`, ``; or `movie`, `id`."""
    steps = [step for step in path.split("/") if step and not _FRAME.fullmatch(step)]
    picked = ""
    if steps and (found := _PARAMETER.fullmatch(steps[-1])):
        picked = found[1]
        steps.pop()
    groups = _groups(steps)
    things = [_compound(group) for group in reversed(groups)]
    if not things or not things[0]:
        return "", picked
    owners = [with_article(_singular_phrase(thing)) for thing in things[1:] if thing][:_OWNERS]
    return " of ".join([_singular_phrase(things[0]) if picked else things[0], *owners]), picked


def _groups(steps: list[str]) -> list[list[str]]:
    """Return the names between the parameters of a path."""
    groups: list[list[str]] = [[]]
    for step in steps:
        if _PARAMETER.search(step):
            groups.append([])
        else:
            groups[-1].append(step)
    return groups


def _compound(steps: list[str]) -> str:
    """Join consecutive names: `workflow rule config`."""
    return " ".join(word for step in steps[-_PARTS:] for word in words_of(step))


def owner_of(parameter: str, path: str) -> str:
    """Return the noun before a path parameter: `movie` for `id` of `/movie/{id}/credits`; may be empty."""
    head, sign, _ = path.partition(f"{{{parameter}}}")
    step = head.rstrip("/").rpartition("/")[2]
    return _singular_phrase(" ".join(words_of(step))) if sign and step and not _PARAMETER.search(step) else ""


def identified(parameter: str) -> tuple[str, str]:
    """Return what a parameter identifies, and by what: `movie`, `ID` for `movieId`; the second may be empty."""
    words = words_of(parameter)
    named: list[str] = []
    while words and words[-1].lower() in _IDENTIFIERS:
        word = words.pop().lower()
        named.insert(0, "ID" if word in {"id", "ids"} else word)
        if len(words) > 1 and words[-1].lower() == "or":
            words.pop()
        else:
            break
    return " ".join(words), " or ".join(named)


def is_verb(word: str) -> bool:
    """Return whether a word is a known verb."""
    return word.lower() in _VERBS


def whether(words: str) -> str:
    """Return what a flag of this name decides: `whether to include adult`; empty if the name does not tell."""
    first, _, rest = words.partition(" ")
    if first in {"is", "has", "can", "should"} and rest:
        return f"whether it {words}"
    return f"whether to {words}" if first in _VERBS and rest else ""


def _singular_phrase(words: str) -> str:
    head, space, last = words.rpartition(" ")
    return head + space + singular(last)
