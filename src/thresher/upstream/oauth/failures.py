"""Errors of sign-ins, with the command that a person has to run.

Invariant: no message holds a token, a code or a client secret, whatever a foreign server writes into its answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from thresher.core import UpstreamError, UpstreamRefused
from thresher.upstream.config import ServerConfig
from thresher.upstream.masking import Redactor

_TEXT_CHARS = 200


class SignInNeeded(UpstreamRefused):
    """A person must sign in before the server can be used; trying again does not help."""

    code = "sign_in_needed"


class GrantRefused(UpstreamRefused):
    """The authorization server has refused a grant permanently.

    Attributes:
        client: Whether it refused our registration rather than the sign-in.
    """

    def __init__(self, message: str, *, hint: str = "", client: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.client = client


def sign_in_needed(config: ServerConfig, why: str, *, scope: str = "") -> SignInNeeded:
    """The error of a call that needs a sign-in first.

    Args:
        config: The server, with the identity whose credentials are missing.
        why: The reason, without a full stop.
        scope: Further scopes to request.
    """
    return SignInNeeded(
        f"Server '{config.name}' needs a sign-in: {why}.", hint=f"Run: {login_command(config, scope=scope)}"
    )


def login_command(config: ServerConfig, *, scope: str = "") -> str:
    """The command that signs in."""
    user = f" --user {config.identity}" if config.identity else ""
    scopes = "".join(f" --scope {word}" for word in clean(scope).split())
    return f"thresher servers login {config.name}{user}{scopes}"


def unavailable(config: ServerConfig, address: str, reason: str) -> UpstreamError:
    """The error of an authorization server that does not answer; the stored sign-in is unchanged.

    Args:
        config: The server of the sign-in.
        address: The address that was asked, without query.
        reason: Why there was no answer.
    """
    return UpstreamError(
        f"The authorization server of '{config.name}' gave no usable answer at {address} ({reason}).",
        hint="The sign-in is kept. Check the network, then try again.",
    )


def clean(text: str, secrets: Iterable[str] = ()) -> str:
    """Foreign text as one short, printable line without the secrets."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return Redactor(values=[secret for secret in secrets if secret])(line)[:_TEXT_CHARS]
