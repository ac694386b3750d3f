"""Sources of descriptions: local files and URLs, and who may read them.

The owner of the process may read anything; a caller with a key reads public addresses and what the settings name.

Invariant: a stored source is an absolute path without symbolic links, or a URL without a credential.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import httpx2

from thresher.core import Caller, InvalidInput, NotAllowed, NotFound, Settings, is_host
from thresher.openapi import LIMITS

_LONGEST: Final = 2_000
_SECRET: Final = re.compile(
    r"token|secret|passw|api.?key|access.?key|signature|^sig$|^auth|credential|^key$|^jwt$|^pat$|session|bearer", re.I
)
_ODD: Final = re.compile(r"[\\%]|(?:^|/)\.\.(?:[^/]*)(?:/|$)")
"""Path parts that some servers treat as a parent folder: dots with a suffix, a backslash, or double escapes."""
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class DescriptionSource:
    """A file or URL of a description.

    Attributes:
        location: Absolute path or URL.
        keyed: Whether the caller has a key.
        named: Folders and URLs that the settings name.
    """

    location: str
    keyed: bool = False
    named: tuple[str, ...] = ()

    @property
    def remote(self) -> bool:
        """Whether the source is a URL."""
        return is_remote(self.location)

    def is_guarded(self, address: str) -> bool:
        """Return whether an address on the way, such as a redirect's target, must be public."""
        return self.keyed and not _is_named(address, self.named)


def is_remote(location: str) -> bool:
    """Return whether a location is a URL."""
    return location.startswith(("http://", "https://"))


def resolve_source(text: str, caller: Caller, settings: Settings) -> DescriptionSource:
    """Return the source that a user names.

    Args:
        text: A path or a URL (`https://`, `http://`, `file://`).
        caller: The caller; a relative path is resolved in its project folder.
        settings: Names what callers with a key may read.

    Raises:
        InvalidInput: It is not a valid source, or holds a credential.
        NotFound: The path does not exist.
        NotAllowed: The caller may not read it.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise InvalidInput("No source is given.", hint="Give the file or URL of an API description.")
    if "://" in text and not text.startswith("file://"):
        return DescriptionSource(checked_address(text), caller.keyed, settings.api_sources)
    try:
        location = _file(_path_of(text), caller)
    except (NotFound, InvalidInput):
        if caller.keyed:
            raise _refusal() from None
        raise
    if caller.keyed and not _is_named(location, settings.api_sources):
        raise _refusal()
    return DescriptionSource(location, caller.keyed, settings.api_sources)


def checked_address(text: str, *, kept: bool = True) -> str:
    """Return a URL of a description without its fragment.

    Args:
        text: The URL as given.
        kept: Whether it will be stored and shown.

    Raises:
        InvalidInput: It is not a valid URL, or holds a credential, which would be stored.
    """
    try:
        parts = urlsplit(text)
        sound = parts.scheme.lower() in ("http", "https") and is_host(parts.hostname or "") and parts.port != 0
        httpx2.URL(text)  # stricter about host names
    except (ValueError, httpx2.InvalidURL):
        sound, parts = False, urlsplit("")
    if not sound:
        raise InvalidInput("This is not a valid address.", hint="Write https://host/path, or the path of a file.")
    query = parts.query.replace(";", "&") + "&" + parts.path.partition(";")[2].replace(";", "&")
    named = any(_SECRET.search(name) for name, _ in parse_qsl(query, keep_blank_values=True))
    if parts.username is not None or parts.password is not None or (kept and named):
        raise InvalidInput(
            "The address contains a credential, which would be stored.",
            hint="Download the description and add the file, or publish it where no sign-in is needed.",
        )
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), parts.path or "/", parts.query, ""))


async def read_file(location: str) -> bytes:
    """Return the bytes of a file.

    Raises:
        NotFound: The file no longer exists.
        InvalidInput: It cannot be read, is not a regular file, or is too large.
    """
    return await asyncio.to_thread(_read, Path(location))


def too_large(source: str) -> InvalidInput:
    """Return the error for a description over the size limit."""
    return InvalidInput(
        f"{source} is larger than {LIMITS.octets >> 20} MiB.",
        hint="Split the description, or remove what does not belong to it.",
    )


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise NotFound(f"There is no file {str(path)!r}.", hint="Check the path.") from None
    except OSError as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be read: {error.strerror or error}.", hint="Check its permissions."
        ) from None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(f"{str(path)!r} is not a file.", hint="Give the file of a description.")
        _check_unmoved(path, status)
        data = stream.read(LIMITS.octets + 1)
    if len(data) > LIMITS.octets:
        raise too_large(repr(str(path)))
    return data


def _check_unmoved(path: Path, opened: os.stat_result) -> None:
    """Refuse a file reached through a symbolic link that appeared after its path was checked."""
    now = path.lstat() if path.exists() else None
    if path.resolve() != path or now is None or (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino):
        raise InvalidInput(f"{str(path)!r} is being replaced, or is reached through a link.", hint="Add it again.")


def _path_of(text: str) -> str:
    if not text.startswith("file://"):
        return text
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise InvalidInput(f"{text!r} is on another machine.", hint="Write file:///path/to/description.")
    return unquote(parts.path)


def _file(text: str, caller: Caller) -> str:
    path = Path(text).expanduser()
    if not path.is_absolute():
        if not caller.project or caller.keyed:
            raise InvalidInput(f"{text!r} is a relative path.", hint="Give an absolute path, or an address.")
        path = Path(caller.project) / path
    try:
        found = path.resolve(strict=True)
    except FileNotFoundError:
        raise NotFound(f"{str(path)!r} does not exist.", hint="Check the path.") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be reached: {error}.", hint="Check the path.") from None
    if found.is_dir():
        raise InvalidInput(f"{str(found)!r} is a folder.", hint="Give the file of a description.")
    return str(found)


def _is_named(location: str, named: tuple[str, ...]) -> bool:
    """Return whether the settings name a source or one of its parents."""
    return any(_is_below(location, prefix) for prefix in named)


def _is_below(location: str, prefix: str) -> bool:
    if is_remote(location) != is_remote(prefix):
        return False
    if not is_remote(prefix):
        return Path(location).is_relative_to(Path(prefix).resolve())
    here, above = urlsplit(location), urlsplit(prefix)
    base = above.path.rstrip("/")
    same = (here.scheme, here.netloc) == (above.scheme.lower(), above.netloc.lower())
    return same and not _ODD.search(unquote(here.path)) and (here.path == base or here.path.startswith(f"{base}/"))


def _refusal() -> NotAllowed:
    """Return one error for both missing and forbidden sources, so that it reveals neither."""
    return NotAllowed(
        "The source does not exist, or a caller with a key may not read it.",
        hint="The server's operator allows sources in THRESHER_API_SOURCES.",
    )
