"""Says what went wrong with a repository elsewhere, and what to do about it.

Invariant: what a server said is shortened, masked and on one line; an address is shown as it is stored, which is
without credentials.
"""

from __future__ import annotations

from typing import Final

from dulwich.client import HTTPProxyUnauthorized, HTTPUnauthorized
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository
from urllib3.exceptions import HTTPError, MaxRetryError, NewConnectionError
from urllib3.exceptions import TimeoutError as UrllibTimeout

from thresher.core import NotAllowed, NotFound, SourceUnavailable, ThresherError, mask_text, shortened

BREAKS: Final = (
    OSError, HTTPError, GitProtocolError, NotGitRepository, HTTPUnauthorized, HTTPProxyUnauthorized, AssertionError,
    ValueError, KeyError, IndexError,
)  # fmt: skip
"""What the talk with a server ends in when it goes wrong; those at the end when the server talks nonsense."""
_SPEAKING: Final = (OSError, HTTPError, GitProtocolError, HTTPUnauthorized, HTTPProxyUnauthorized)
"""Errors whose text is the system's, the network's or the server's."""
_SHOWN: Final = 300
_SIGN_IN: Final = (
    "Use an ssh address with your key, or let git store the credentials (`git config --global credential.helper "
    "store`), or clone it and index the clone."
)
_DENIED: Final = ("permission denied", "authentication failed", "could not read username", "access denied")
_STRANGER: Final = ("host key verification failed", "no matching host key")
_MISSING: Final = ("not found", "does not exist", "not appear to be a git repository", "no such file", "unable to open")


def failure_of(error: BaseException, location: str, said: str = "", *, late: bool = False) -> ThresherError:
    """Our error for one of dulwich, urllib3 or the system.

    Args:
        error: What was raised.
        location: The address.
        said: What the ssh program complained about.
        late: Whether the time was up.
    """
    words = _words(error, said)
    lowered = words.lower()
    if late or _is_timeout(error):
        return SourceUnavailable(
            f"{location} takes too long.",
            hint="Try again, raise THRESHER_SOURCE_SECONDS, or clone it and index the clone.",
        )
    if isinstance(error, HTTPUnauthorized) or any(part in lowered for part in _DENIED) or _is_forbidden(error):
        return NotAllowed(f"{location} asks for a sign-in.", hint=_SIGN_IN)
    if any(part in lowered for part in _STRANGER):
        return NotAllowed(f"The host of {location} is not known to ssh.", hint="Connect to it once with ssh.")
    if isinstance(error, NotGitRepository) or any(part in lowered for part in _MISSING):
        return NotFound(
            f"There is no git repository at {location}.", hint="Check the address; a private one may answer like this."
        )
    if "certificate" in lowered:
        return SourceUnavailable(
            f"The certificate of {location} is not trusted.",
            hint="Give git the authority's: `git config http.sslCAInfo`.",
        )
    return SourceUnavailable(
        f"{location} cannot be fetched: {words or type(error).__name__}.", hint="Check the address and the network."
    )


def _is_timeout(error: BaseException | None) -> bool:
    while error is not None:
        # urllib3 counts a refused connection and an unknown name among the time-outs of connecting.
        if isinstance(error, TimeoutError | UrllibTimeout) and not isinstance(error, NewConnectionError):
            return True
        error = error.__cause__
    return False


def _is_forbidden(error: BaseException) -> bool:
    return isinstance(error, GitProtocolError) and "http resp 403" in str(error)


def _words(error: BaseException, said: str) -> str:
    """What is known of the reason, on one line."""
    if isinstance(error, HangupException) and not said:
        return "the server hung up"
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, MaxRetryError) and error.reason is not None:
        error = error.reason
    if not said and not isinstance(error, _SPEAKING):
        return "its answer is not what git's protocol allows"  # a parser's error may quote a file of this machine
    text = said or str(error).rpartition("): ")[2]
    return shortened(mask_text(" ".join(text.split())), _SHOWN).rstrip(".")
