"""Seals what must not be readable in the database, and cleans and masks texts before they are stored.

Invariant: neither the key nor what was sealed appears in any message or representation. A secret that is known by its
form is masked before a text is cut.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Self

from cryptography.fernet import Fernet, InvalidToken

from thresher.core import ConfigurationError, Settings, mask_text
from thresher.store.account import server_account
from thresher.store.private import prepare_folder, read_or_create

_TEXT = 4_000
"""Characters of a message that are kept: rows wait in memory."""


def message_of(texts: Sequence[str], settings: Settings) -> str | None:
    """What a row holds of the words that were asked: nothing, unless the setting says so; never a secret."""
    if settings.log_text == "off":
        return None
    # Masked before the cut, since half a secret is one still; and only so much, for that is work.
    text = mask_text(clean("\n".join(texts)[: 2 * _TEXT]))
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def clean(text: str) -> str:
    """The text without what PostgreSQL cannot hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


_FILE = "secret.key"


class SecretBox:
    """Encrypts and authenticates small values (Fernet: AES-128-CBC with HMAC-SHA256).

    Args:
        key: 32 random bytes in URL-safe base64.

    Raises:
        ConfigurationError: The key has another form.
    """

    def __init__(self, key: str | bytes) -> None:
        try:
            self._fernet = Fernet(key.strip())
            self._key = base64.urlsafe_b64decode(key.strip())
            self._hashing = hmac.digest(self._key, b"thresher: keyed hashes", "sha256")
        except (ValueError, binascii.Error):
            raise ConfigurationError(
                "The secret key is not 32 bytes in URL-safe base64.",
                hint="Make one: head -c 32 /dev/urandom | base64 | tr '+/' '-_'",
            ) from None

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Use `THRESHER_SECRET_KEY`, or else the key file in the data folder, which is made when it is missing.

        Raises:
            ConfigurationError: The key is malformed, or the file is unreadable or readable to others.
        """
        if settings.secret_key is not None:
            return cls(settings.secret_key.get_secret_value())
        folder = prepare_folder(settings.data_dir, server_account(settings))
        return cls(read_or_create(folder / _FILE, Fernet.generate_key()))

    def seal(self, value: str | bytes) -> bytes:
        """Encrypt a value; sealing it twice gives different bytes."""
        return self._fernet.encrypt(value.encode() if isinstance(value, str) else value)

    def open(self, sealed: bytes) -> str:
        """Decrypt what `seal` returned, as UTF-8 text.

        Raises:
            ConfigurationError: It was sealed with another key, or was damaged.
        """
        try:
            return self._fernet.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            raise ConfigurationError(
                "A sealed value cannot be opened with this secret key.",
                hint=f"Set THRESHER_SECRET_KEY (or restore the file {_FILE} in the data folder) to the key that it was "
                "sealed with, or add the server again to seal its secrets anew.",
            ) from None

    def keyed_hash(self, value: str, scope: str) -> bytes:
        """Keyed BLAKE2b of a text, 32 bytes: equal texts of a scope are known, and nobody without the key tries texts.

        Args:
            value: The text; lone surrogates, which UTF-8 cannot hold, count as question marks.
            scope: What it may be compared in, such as a tenant, without a zero byte: the same text has another hash in
                another one.
        """
        text = f"{scope}\0{value}".encode("utf-8", "replace")
        return hashlib.blake2b(text, key=self._hashing, digest_size=32).digest()

    def signing_key(self, purpose: str) -> bytes:
        """A key of 32 bytes for one purpose, from which neither the secret key nor that of another purpose follows."""
        return hmac.digest(self._key, f"thresher: {purpose}".encode(), "sha256")

    def __repr__(self) -> str:
        return "SecretBox(***)"
