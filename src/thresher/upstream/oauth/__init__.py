"""Stored sign-ins (OAuth 2.1) at upstream servers: obtaining, using, renewing and ending them.

Invariant: a token is stored before it is used; only a sign-out by a person, or the removal of the server, deletes one;
no secret appears in a message, a log line or a `repr`.
"""

from thresher.upstream.oauth.credential import Credentials
from thresher.upstream.oauth.failures import SignInNeeded
from thresher.upstream.oauth.sign_in import (
    SIGN_IN_SECONDS,
    SignedIn,
    SignIn,
    check_sign_in,
    check_sign_out,
    open_sign_in,
    sign_in_state,
    sign_out,
)
from thresher.upstream.oauth.tokens import StoredTokens, auth_for, identity_for, settle_sign_ins

__all__ = [
    "SIGN_IN_SECONDS",
    "Credentials",
    "SignIn",
    "SignInNeeded",
    "SignedIn",
    "StoredTokens",
    "auth_for",
    "check_sign_in",
    "check_sign_out",
    "identity_for",
    "open_sign_in",
    "settle_sign_ins",
    "sign_in_state",
    "sign_out",
]
