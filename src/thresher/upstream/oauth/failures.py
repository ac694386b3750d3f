"""What goes wrong with sign-ins, worded so that a person knows what to run.

Invariant: no message holds a token, a code or a client secret, whatever a foreign server wrote into its answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from thresher.core import UpstreamError, UpstreamRefused
from thresher.upstream.config import ServerConfig
from thresher.upstream.masking import Redactor

_TEXT_CHARS = 200


class SignInNeeded(UpstreamRefused):
    """A person has to sign in before the server can be used; trying again changes nothing."""

    code = "sign_in_needed"


class GrantRefused(UpstreamRefused):
    """The authorization server has refused a grant for good.

    Attributes:
        client: Whether it is our registration that it does not know any more, rather than the sign-in.
    """

    def __init__(self, message: str, *, hint: str = "", client: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.client = client


def sign_in_needed(config: ServerConfig, why: str, *, scope: str = "") -> SignInNeeded:
    """The error of a call that cannot be made before somebody signs in.

    Args:
        config: The server, and whose credentials were wanted.
        why: What is the matter, without a full stop.
        scope: Further scopes to ask for.
    """
    return SignInNeeded(
        f"Server '{config.name}' needs a sign-in: {why}.", hint=f"Run: {login_command(config, scope=scope)}"
    )


def login_command(config: ServerConfig, *, scope: str = "") -> str:
    """What to type in order to sign in."""
    user = f" --user {config.identity}" if config.identity else ""
    scopes = "".join(f" --scope {word}" for word in clean(scope).split())
    return f"thresher servers login {config.name}{user}{scopes}"


def unavailable(config: ServerConfig, address: str, reason: str) -> UpstreamError:
    """An authorization server cannot be asked now; nothing that is stored has changed.

    Args:
        config: The server whose sign-in it serves.
        address: Whom we asked, without query.
        reason: Why it did not answer.
    """
    return UpstreamError(
        f"The authorization server of '{config.name}' gave no usable answer at {address} ({reason}).",
        hint="The sign-in is kept. Check the network, then try again.",
    )


def clean(text: str, secrets: Iterable[str] = ()) -> str:
    """A foreign text as one short, printable line without any of the secrets."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return Redactor(values=[secret for secret in secrets if secret])(line)[:_TEXT_CHARS]
