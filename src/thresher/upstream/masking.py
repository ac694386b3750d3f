"""Finds and hides secrets in command lines, addresses and foreign texts, and keeps the last log lines of a server.

Invariant: in doubt a value counts as secret, because the clear value is kept in the sealed part. The log's memory is
bounded, its secrets are hidden, and nothing in it reaches our own stdout.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

from thresher.core import mask, mask_text

MASK = "***"
_ASSIGNMENT = re.compile(r"(?P<name>-{0,2}[\w.-]+)(?P<sign>\s*[:=]\s*)(?P<value>.+)", re.S)
_KNOWN_TOKEN = re.compile(
    # Published prefixes: GitHub, GitLab, Slack, OpenAI/Anthropic, AWS, Google, Hugging Face, JSON Web Tokens.
    r"\b(gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|sk-[\w-]{16,}|AKIA[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|hf_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MIN_SECRET = 8
"""Shorter values (`1`, `true`, `debug`) are hidden only under a secret-looking name, because they occur in prose."""


def secret_name(name: str) -> bool:
    """Whether a variable, header, option or parameter of this name holds a secret."""
    return mask({_CAMEL.sub("_", name): "x"}) != {_CAMEL.sub("_", name): "x"}


def mask_tokens(text: str) -> str:
    """Hide credentials that are recognizable by their form."""
    return _KNOWN_TOKEN.sub(MASK, mask_text(text))


def mask_arguments(args: Iterable[str]) -> tuple[str, ...]:
    """Hide the secrets of a command line: values of `--api-key`, `token=...`, `X-Key: ...`, known token forms."""
    shown: list[str] = []
    option_is_secret = False
    for arg in args:
        if option_is_secret and not arg.startswith("-"):
            shown.append(MASK)
            option_is_secret = False
            continue
        option_is_secret = arg.startswith("-") and secret_name(arg)
        assigned = _ASSIGNMENT.fullmatch(arg)
        if assigned and secret_name(assigned["name"]):
            option_is_secret = False
            shown.append(f"{assigned['name']}{assigned['sign']}{MASK}")
        else:
            shown.append(mask_tokens(arg))
    return tuple(shown)


def mask_address(url: str) -> str:
    """Hide an address's user, password, query values, fragment and token-like path segments.

    Hosted servers put keys into the query and even the path, under arbitrary names.
    """
    if not url:
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{MASK}@{host}" if "@" in parts.netloc else host
    path = "/".join(MASK if _token_like(segment) else segment for segment in parts.path.split("/"))
    query = "&".join(f"{pair.partition('=')[0]}={MASK}" if "=" in pair else MASK for pair in parts.query.split("&"))
    return urlunsplit((parts.scheme, netloc, path, query if parts.query else "", MASK if parts.fragment else ""))


def passwords_in(addresses: Iterable[str]) -> tuple[str, ...]:
    """The passwords in addresses, both URL-quoted and decoded."""
    found: list[str] = []
    for address in addresses:
        user_part = address.partition("://")[2].rpartition("@")[0]
        password = user_part.partition(":")[2]
        found += [password, unquote(password)]
    return tuple(dict.fromkeys(filter(None, found)))


def _token_like(segment: str) -> bool:
    long_with_digit = len(segment) >= 20 and any(letter.isdigit() for letter in segment)
    return long_with_digit or _KNOWN_TOKEN.search(segment) is not None


class Redactor:
    """Hides one server's secrets in texts from that server: error messages, log lines."""

    def __init__(self, *named: Mapping[str, str], values: Iterable[str] = ()) -> None:
        found = {value for mapping in named for name, value in mapping.items() if _worth_hiding(name, value)}
        found |= {word for value in found for word in value.split() if len(word) >= _MIN_SECRET}
        found |= {value for value in values if len(value) >= _MIN_SECRET}
        # Longest first: a secret may contain another.
        self._values = sorted(found, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text with every known secret replaced by `***`."""
        for value in self._values:
            text = text.replace(value, MASK)
        return mask_tokens(text)


def _worth_hiding(name: str, value: str) -> bool:
    if name == "PATH" or not value.strip():
        return False
    return len(value) >= _MIN_SECRET or (secret_name(name) and len(value) >= 4)


KEPT_LINES = 200
LINE_CHARS = 500


class ServerLog:
    """The last lines of one server, oldest first."""

    def __init__(self, redact: Redactor) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._redact = redact

    def add(self, line: bytes) -> None:
        """Keep one line; a long one is cut, an empty one ignored."""
        # Redacted before the cut: half a secret is still one.
        text = self._redact(line[: 8 * LINE_CHARS].decode("utf-8", "replace")).strip()
        if text:
            self._lines.append(text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]} ...")

    def lines(self) -> tuple[str, ...]:
        """The kept lines."""
        return tuple(self._lines)

    def tail(self, count: int = 5) -> str:
        """The last lines in one text, for an error; empty if there are none."""
        return " | ".join(list(self._lines)[-count:])
