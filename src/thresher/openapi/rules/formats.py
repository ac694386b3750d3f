"""Formats of text, checked as strictly as Spectral does.

Invariant: every expression reads a text in one pass; none backtracks on untrusted input.
"""

from __future__ import annotations

import calendar
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final

_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z", re.A)
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|[+-]\d\d(?::?\d\d)?)?\Z", re.A)
_DURATION: Final = re.compile(
    r"P(?!\Z)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|(?:\d+W)?)\Z", re.A
)
_UUID: Final = re.compile(r"(?:urn:uuid:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.I | re.A)
_ATOM: Final = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_LOCAL: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*\Z", re.I | re.A)
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?\Z", re.I | re.A)
_URI_CHARACTERS: Final = re.compile(r"(?:[a-z0-9\-._~!$&'\"()*+,;=:@/?#\[\]]|%[0-9a-f]{2})*\Z", re.I | re.A)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.I | re.A)
_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)*\Z")
_RELATIVE: Final = re.compile(r"(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)\Z")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_TEMPLATE_PART: Final = re.compile(r"\{[^{}]*\}")
_TEMPLATE: Final = re.compile(
    r"\{[+#./;?&=,!@|]?[a-z0-9_%.]+(?::[1-9][0-9]{0,3}|\*)?(?:,[a-z0-9_%.]+(?::[1-9][0-9]{0,3}|\*)?)*\}\Z", re.I | re.A
)
_NOT_IN_TEMPLATE: Final = re.compile(r"[\x00-\x20\"'<>\\^`{|}]")


def is_date(text: str) -> bool:
    """`2024-02-29`."""
    found = _DATE.match(text)
    if not found:
        return False
    year, month, day = (int(part) for part in found.groups())
    leap = calendar.isleap(year)
    return 1 <= month <= 12 and 1 <= day <= (29 if month == 2 and leap else _DAYS[month - 1])


_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_time(text: str) -> bool:
    """`23:59:60Z`; the zone is optional."""
    found = _TIME.match(text)
    if not found:
        return False
    hour, minute, second = (int(part) for part in found.groups())
    return (hour <= 23 and minute <= 59 and second <= 59) or (hour, minute, second) == (23, 59, 60)


def is_date_time(text: str) -> bool:
    """A date and a time, separated by `T` or one blank."""
    parts = re.split(r"[tT\s]", text)
    return len(parts) == 2 and is_date(parts[0]) and is_time(parts[1])


def is_email(text: str) -> bool:
    """`name@host.domain`."""
    local, at, host = text.rpartition("@")
    named = _HOST.match(host) is not None and "." in host.rstrip(".") and not host.endswith(".")
    return bool(at) and _LOCAL.match(local) is not None and named


def is_hostname(text: str) -> bool:
    """Labels separated by dots, at most 253 characters."""
    return 0 < len(text.rstrip(".")) <= 253 and _HOST.match(text) is not None


def is_uri_reference(text: str) -> bool:
    """An absolute or relative address."""
    before, _, fragment = text.partition("#")
    return "#" not in fragment and _URI_CHARACTERS.match(text) is not None and not re.search(r"[\[\]]", _path(before))


def _path(text: str) -> str:
    """Return an address without its authority, which may contain brackets."""
    rest = _SCHEME.sub("", text, count=1)
    return re.sub(r"^//[^/?#]*", "", rest)


def is_uri(text: str) -> bool:
    """An absolute address."""
    return _SCHEME.match(text) is not None and is_uri_reference(text)


def is_url(text: str) -> bool:
    """An absolute web address whose host has a domain or is a public IP address."""
    found = re.match(r"(?:https?|ftp)://(?:[^\s/@]*@)?([^\s/:?#]+)(?::\d{2,5})?(?:/\S*)?\Z", text, re.I)
    if not found:
        return False
    host = found[1]
    try:
        return ipaddress.IPv4Address(host).is_global
    except ValueError:
        return re.search(r"\.[^\W\d_]{2,}\Z", host) is not None


def is_uri_template(text: str) -> bool:
    """An address with expressions in braces."""
    fixed = _TEMPLATE_PART.sub("", text)
    return all(_TEMPLATE.match(part) for part in _TEMPLATE_PART.findall(text)) and not _NOT_IN_TEMPLATE.search(fixed)


def is_regex(text: str) -> bool:
    """A regular expression in Python's syntax, since no parser of ECMAScript's is available."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is_address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return check


def _matches(expression: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: expression.match(text) is not None


def _any(text: str) -> bool:
    del text
    return True


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": is_date,
    "time": is_time,
    "date-time": is_date_time,
    "duration": _matches(_DURATION),
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": _is_address(ipaddress.IPv4Address),
    "ipv6": _is_address(ipaddress.IPv6Address),
    "uri": is_uri,
    "uri-reference": is_uri_reference,
    "url": is_url,
    "uri-template": is_uri_template,
    "uuid": _matches(_UUID),
    "json-pointer": _matches(_POINTER),
    "relative-json-pointer": _matches(_RELATIVE),
    "byte": lambda text: any(_BASE64.match(line) for line in text.split("\n")),
    "regex": is_regex,
    "idn-email": _any,
    "idn-hostname": _any,
    "iri": _any,
    "iri-reference": _any,
}
"""Checks by name; Spectral does not check the last four either."""
