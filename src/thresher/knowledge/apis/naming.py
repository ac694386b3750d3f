"""Names and aliases of providers, and labels of versions.

Invariant: pure; a label once given stays, whatever a later description declares.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, count
from pathlib import PurePosixPath
from typing import Any, Final, cast
from urllib.parse import urlsplit

from thresher.core import Conflict, InvalidInput, NotFound, did_you_mean, nearest, shortened
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.models import Provider

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_LABEL: Final = re.compile(r"[A-Za-z0-9][\w.+-]{0,62}")
_IN_FILE: Final = re.compile(r"(?<![A-Za-z0-9])v(\d{1,3}(?:\.\d{1,3})*(?:(?:alpha|beta|rc)\d*)?)(?![A-Za-z0-9])", re.I)
_NUMBER: Final = re.compile(r"v?(\d{1,2})(?:\.\d+)*(?![\d-])", re.I)
_INFO: Final = re.compile(r"^info:[^\n]*\n((?:[ \t#][^\n]*\n|\s*\n)*)", re.MULTILINE)
_VERSION: Final = re.compile(r"""^[ \t]+version:[ \t]*["']?([^"'#\s][^"'#\n]*)""", re.MULTILINE)
_TITLE: Final = re.compile(r"""^[ \t]+title:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^"'#>|&*\s][^#\n]*))""", re.MULTILINE)
_TITLE_WORD: Final = re.compile(r"[a-z0-9]+")
_SAID_BY_ALL: Final = re.compile(r"(?:the|an?|apis?|rest|http|openapi|swagger|specification|v\d+|\d+)")
"""Words of a title that tell no API from another."""
_LONGEST_NAME: Final = 40
"""Characters of a name that a title gives; people type it."""
_MOST_ALIASES: Final = 16
_LONGEST_ALIAS: Final = 63
_LONGEST_TITLE: Final = 120
_DIALECT: Final = re.compile(rb"""^["']?(?:openapi|swagger)["']?[ \t]*:""", re.MULTILINE)
_HEAD: Final = 1 << 20
"""Characters of a YAML description that are searched for its version before parsing."""
PLAIN_LABEL: Final = "default"
"""Label of a description that declares no version."""


def checked_name(name: str) -> str:
    """Return a provider name if it is valid.

    Raises:
        InvalidInput: The name is not valid.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"'{name[:80]}' is not a valid provider name.",
            hint="Use up to 63 lower-case letters, digits, hyphens, dots and underscores, a letter or digit first.",
        )
    return name


def name_from(title: str, source: str = "") -> str:
    """Return a valid provider name: from the title of a description, else from its file or host; `api` if none fits."""
    file = PurePosixPath(_path(source).replace("\\", "/")).stem
    host = source.partition("://")[2].partition("/")[0]
    for text in (title, file, host):
        plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
        words = [word for word in _TITLE_WORD.findall(plain) if not _SAID_BY_ALL.fullmatch(word)]
        if words:
            joined = accumulate(words, lambda name, word: f"{name}-{word}")
            return [words[0][:_LONGEST_NAME], *(name for name in joined if len(name) <= _LONGEST_NAME)][-1]
    return "api"


def title_from(title: str) -> str:
    """Return the title of a description as a display name: printable, on one line."""
    printable = "".join(mark if mark.isprintable() else " " for mark in title)
    return shortened(" ".join(printable.split()), _LONGEST_TITLE)


def free_name(name: str, seen: Iterable[ProviderHead | Provider]) -> str:
    """Return the name, with a number behind it if another provider uses it as name or alias."""
    taken = {word for head in seen for word in (head.name, *head.aliases)}
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def checked_label(label: str) -> str:
    """Return a version label if it is valid.

    Raises:
        InvalidInput: The label is not valid.
    """
    if not _LABEL.fullmatch(label):
        raise InvalidInput(
            f"'{label[:80]}' is not a valid version label.", hint="Use up to 63 letters, digits, hyphens and dots: v2."
        )
    return label


def checked_aliases(name: str, aliases: Iterable[str]) -> tuple[str, ...]:
    """Return aliases in lower case with single spaces, without duplicates and without the provider's own name.

    Raises:
        InvalidInput: There are too many, or one is not valid.
    """
    if isinstance(aliases, str):
        raise InvalidInput("Aliases must be a list.", hint="Give each alias separately.")
    folded = dict.fromkeys(" ".join(alias.lower().split()) for alias in aliases)
    folded.pop(name, None)
    if len(folded) > _MOST_ALIASES:
        raise InvalidInput("There are too many aliases.", hint=f"Give up to {_MOST_ALIASES}.")
    for alias in folded:
        if not (0 < len(alias) <= _LONGEST_ALIAS and alias.isprintable() and any(mark.isalnum() for mark in alias)):
            raise InvalidInput(
                f"{alias[:80]!r} is not a valid alias.",
                hint=f"Give words of up to {_LONGEST_ALIAS} characters, such as 'k8s'.",
            )
    return tuple(folded)


def checked_title(title: str) -> str:
    """Return a display name with its white space folded.

    Raises:
        InvalidInput: It is too long or not printable.
    """
    text = " ".join(title.split())
    if len(text) > _LONGEST_TITLE or not text.isprintable():
        raise InvalidInput(
            "The display name is too long or not printable.", hint=f"Write up to {_LONGEST_TITLE} characters."
        )
    return text


def checked_base(url: str) -> str:
    """Return the base address of operations, without a trailing slash.

    Raises:
        InvalidInput: It is not an HTTP address, or holds a credential or a query.
    """
    text = url.strip()
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound, parts = False, urlsplit("")
    if not sound or not text.isprintable() or " " in text or len(text) > 2_000:
        raise InvalidInput("The base address is not valid.", hint="Write https://api.example.com/v2.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidInput("The base address contains a user, a password or a query.", hint="Remove them.")
    return text.rstrip("/")


def check_free(wanted: Sequence[str], seen: Iterable[ProviderHead | Provider], *, beside: str = "") -> None:
    """Refuse names that other providers use.

    Args:
        wanted: The name and the aliases.
        seen: The providers that the caller sees.
        beside: Name of the provider that may use them.

    Raises:
        Conflict: One of them is taken.
    """
    for head in seen:
        taken = {head.name, *head.aliases} if head.name != beside else set[str]()
        if clash := next((word for word in wanted if word in taken), None):
            raise Conflict(f"The provider '{head.name}' already uses the name '{clash}'.", hint="Choose another name.")


def find_provider(seen: Sequence[ProviderHead], name: str) -> ProviderHead:
    """Return a provider by its name, alias or display name.

    Raises:
        NotFound: There is none; the hint suggests similar names.
    """
    word = " ".join(name.lower().split())
    exact = next((head for head in seen if head.name == word), None)
    other = next((head for head in seen if word in (*head.aliases, head.display_name.lower())), None)
    if found := exact or other:
        return found
    raise _unknown_provider(name, seen)


def _unknown_provider(name: str, known: Iterable[ProviderHead]) -> NotFound:
    """Return the error for a provider that the caller does not see."""
    heads = list(known)
    if not heads:
        return NotFound("There is no API yet.", hint="Add one: thresher apis add NAME SOURCE.")
    words = [word for head in heads for word in (head.name, *head.aliases)]
    named = ", ".join(head.name for head in heads[:20])
    listed = f"Known APIs: {named}." if len(heads) <= 20 else "List them with list_api_providers."
    return NotFound(f"There is no API '{name[:80]}'.", hint=did_you_mean(nearest(name[:80].lower(), words)) or listed)


def labels_of(sources: Sequence[str], declared: Sequence[str]) -> tuple[str, ...]:
    """Return a distinct label for each version.

    Args:
        sources: Paths or URLs of the descriptions.
        declared: The versions that the descriptions declare.

    Raises:
        Conflict: Two versions would have the same label.
    """
    labels = [_label(source, version) for source, version in zip(sources, declared, strict=True)]
    doubled = {label for label in labels if labels.count(label) > 1}
    stems = [_slug(PurePosixPath(_path(source).replace("\\", "/")).stem) for source in sources]
    labels = [stem if label in doubled else label for stem, label in zip(stems, labels, strict=True)]
    if clash := next((label for label in labels if labels.count(label) > 1), None):
        raise Conflict(
            f"Two sources would have the version label '{clash}'.", hint="Add them one by one with --version."
        )
    return tuple(labels)


def info_in(data: bytes) -> tuple[str, str]:
    """Return title and version that a description declares, without parsing all of it; empty where that fails."""
    if is_json(data):
        info: Any = _root(data).get("info")
        fields = cast("dict[str, Any]", info) if isinstance(info, dict) else {}
        found = [fields.get("title"), fields.get("version")]
        title, version = (str(one) if isinstance(one, str | int | float) else "" for one in found)
        return title, version
    head = data[:_HEAD].decode("utf-8", "replace").replace("\r\n", "\n") + "\n"
    info = _INFO.search(head)
    titled, found = (_TITLE.search(info[1]), _VERSION.search(info[1])) if info else (None, None)
    title = next(filter(None, titled.groups()), "") if titled else ""
    return title.strip(), found[1].strip() if found else ""


def looks_readable(data: bytes) -> bool:
    """Return whether bytes look like a description; others must be parsed before anything is stored."""
    if is_json(data):
        return not {"openapi", "swagger"}.isdisjoint(_root(data))
    return _DIALECT.search(data) is not None


def is_json(data: bytes) -> bool:
    """Return whether bytes start like JSON; YAML may too, and is then tried as JSON first."""
    return data[:200].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _root(data: bytes) -> dict[str, Any]:
    try:
        root: Any = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", root) if isinstance(root, dict) else {}


def _label(source: str, declared: str) -> str:
    """Return `v2` for `api-v2.yaml` or for version 2.1.0; a date or another word is kept as written."""
    if found := _IN_FILE.findall(_path(source)):
        return f"v{found[-1].lower()}"
    if number := _NUMBER.match(declared.strip()):
        return f"v{number[1]}"
    return _slug(declared)


def _slug(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text.strip(), flags=re.ASCII).strip("-._+")[:40] or PLAIN_LABEL


def _path(source: str) -> str:
    """Return the part of a URL or file name that may contain a version."""
    if "://" in source:
        return source.partition("://")[2].partition("/")[2].partition("?")[0]
    return PurePosixPath(source.replace("\\", "/")).name
