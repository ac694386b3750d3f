"""Origins: a folder, a file, or a local or remote git repository, from what a person writes.

Invariant: an origin has an absolute path without links, or an address without credentials; whether a caller may index
it depends on that location alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from thresher.core import Caller, InvalidInput, NotAllowed, NotFound, Settings, is_host
from thresher.knowledge.documents.models import Origin, SourceKind
from thresher.knowledge.documents.sources.patterns import PathSelection
from thresher.store import clean

_SHORT: Final = re.compile(r"(?:(?P<user>[\w.-]+)@)?(?P<host>[A-Za-z0-9][\w.-]+):(?P<path>(?!//)[^\s:]+)")
"""The form of `git@github.com:acme/handbook.git`."""
_USER: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[\w.-]*[\w])?|\[[0-9A-Fa-f:.]+\]")
_REF: Final = re.compile(r"[^\s~^:?*\[\\\x00-\x1f]{1,200}")
_LONGEST: Final = 2_000
_PORTS: Final = {"https": 443, "http": 80, "ssh": 22}
_SIGN_IN: Final = (
    "Write the address without it. For a private repository use an ssh address with your key, or git's own store of "
    "credentials (`git config --global credential.helper store`), or clone it and index the clone."
)


def origin_of(
    source: str,
    *,
    ref: str = "",
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    folder: Path | None = None,
    caller: Caller | None = None,
) -> Origin:
    """Parse what a person gives as a source.

    Args:
        source: A path, or a git address: `https://`, `ssh://`, `file://`, `user@host:path`.
        ref: Branch, tag or commit; a path with a ref is read from its commits, not from the working tree.
        include: Patterns of the files to take.
        exclude: Patterns of files to leave out.
        folder: Base of a relative path; without it a relative path is refused.
        caller: The caller; one with a key does not learn what exists on this machine.

    Raises:
        InvalidInput: The source or a pattern is not valid, or the source contains credentials.
        NotFound: There is nothing at this path.
        NotAllowed: There is nothing at this path, for a caller with a key.
    """
    include, exclude = tuple(map(clean, include)), tuple(map(clean, exclude))
    PathSelection(include, exclude)
    text = source.strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise InvalidInput("A source is needed.", hint="Give a folder, a file, or the address of a git repository.")
    if ref and (not _REF.fullmatch(ref) or ref.startswith("-") or ".." in ref):
        raise InvalidInput(
            f"{ref!r} is not a valid branch, tag or commit.", hint="Give a name such as main, v1.2 or 4b825dc."
        )
    try:
        kind, location = _located(text, ref, folder)
    except (NotFound, InvalidInput):
        if caller is not None and caller.keyed and not _is_elsewhere(text):
            raise _refusal() from None
        raise
    if ref and kind == "file":
        raise InvalidInput("A single file has no branches.", hint=f"Index its repository with --include {text}.")
    return Origin(kind, location, ref, include, exclude)


def may_index(caller: Caller, origin: Origin, settings: Settings) -> None:
    """Check that a caller may index a source: without a key any, with a key uploads and those below a prefix.

    Raises:
        NotAllowed: The caller may not index it.
    """
    if (
        not caller.keyed
        or origin.kind == "upload"
        or any(_is_below(origin.location, prefix) for prefix in settings.index_sources)
    ):
        return
    raise _refusal()


def is_remote(location: str) -> bool:
    """Whether a location is an address."""
    return "://" in location


def _refusal() -> NotAllowed:
    """The same error whether the source is missing or forbidden."""
    return NotAllowed(
        "A caller with a key may not index this source, or it does not exist.",
        hint="The operator of the server lists allowed sources in THRESHER_INDEX_SOURCES.",
    )


def _is_elsewhere(text: str) -> bool:
    return "://" in text and not text.startswith("file://")


def _is_below(location: str, prefix: str) -> bool:
    if is_remote(location) != is_remote(prefix):
        return False
    if is_remote(prefix):
        base = _address(prefix).rstrip("/")
        return location == base or location.startswith(f"{base}/")
    return Path(location).is_relative_to(Path(prefix).resolve())


def _located(text: str, ref: str, folder: Path | None) -> tuple[SourceKind, str]:
    if text.startswith("file://"):
        return "git", str(_existing(_path_of(text)))
    if _is_elsewhere(text):
        return "git", _address(text)
    short = _SHORT.fullmatch(text)
    if short and not text.startswith(("/", ".", "~")) and not (folder and (folder / text).exists()):
        user = f"{short['user']}@" if short["user"] else ""
        return "git", _address(f"ssh://{user}{short['host']}/{short['path'].lstrip('/')}")
    path = Path(text).expanduser()
    if not path.is_absolute():
        if folder is None:
            raise InvalidInput(f"{text!r} is a relative path.", hint="Give an absolute path, or a git address.")
        path = folder / path
    return _local(_existing(path), ref)


def _local(path: Path, ref: str) -> tuple[SourceKind, str]:
    """Kind and location of a path on this machine."""
    if path.is_file():
        return "file", str(path)
    if not path.is_dir():
        raise InvalidInput(f"{str(path)!r} is neither a folder nor a file.", hint="Give a folder or a file.")
    bare = all((path / name).exists() for name in ("HEAD", "objects", "refs"))
    if not ref and not bare:
        return "folder", str(path)
    if not bare and not (path / ".git").exists():
        top = next((one for one in path.parents if (one / ".git").exists()), None)
        if top is None:
            raise InvalidInput(f"{str(path)!r} is not a git repository, so it has no {ref!r}.", hint="Leave --ref out.")
        inner = path.relative_to(top).as_posix()
        raise InvalidInput(
            f"{str(path)!r} is a folder inside a git repository.", hint=f"Index {str(top)!r} with --include {inner}/."
        )
    return "git", str(path)


def _existing(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except FileNotFoundError:
        raise NotFound(f"There is nothing at {str(path)!r}.", hint="Check the path.") from None
    except (OSError, RuntimeError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be reached: {error}.", hint="Check the path and its permissions."
        ) from None


def _path_of(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise InvalidInput(f"{url!r} names another machine.", hint="Write file:///path/to/repository.")
    return Path(unquote(parts.path))


def _address(text: str) -> str:
    """An address in normal form: scheme and host in small letters, no default port, no empty or dotted steps."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidInput(
            "The address is not valid.", hint="Write https://host/path or ssh://user@host/path."
        ) from None
    scheme, host = parts.scheme.lower(), parts.hostname or ""
    _check(scheme, host, parts)
    steps = [step for step in parts.path.split("/") if step]
    if any(unquote(step) in (".", "..") or "/" in unquote(step) for step in steps):
        raise InvalidInput("The address has steps such as `..` in its path.", hint="Write the path that it leads to.")
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS[scheme]:
        netloc = f"{netloc}:{port}"
    if parts.username:
        netloc = f"{parts.username}@{netloc}"
    path = quote("/" + "/".join(steps), safe="/%~@+,=:!$&'()*;")
    return urlunsplit((scheme, netloc, path if steps else "/", "", ""))


def _check(scheme: str, host: str, parts: SplitResult) -> None:
    """Refuse an address that is not one of a git repository, or that contains what must not be stored."""
    if parts.password is not None or (parts.username and scheme != "ssh") or parts.query or parts.fragment:
        raise InvalidInput("The address contains a user, a password or a query, which would be stored.", hint=_SIGN_IN)
    if scheme not in _PORTS or not is_host(host) or not _HOST.fullmatch(f"[{host}]" if ":" in host else host):
        raise InvalidInput(
            "The address is not that of a git repository.",
            hint="Write https://host/path, ssh://user@host/path or a folder.",
        )
    if parts.username and not _USER.fullmatch(parts.username):
        raise InvalidInput("The user in the address is not valid.", hint="Write ssh://git@host/path.")
    if scheme == "http" and not _is_loopback(host):
        raise InvalidInput(
            "The address is not encrypted, so what is indexed could be changed in transit.",
            hint="Use https, or clone the repository and index the clone.",
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
