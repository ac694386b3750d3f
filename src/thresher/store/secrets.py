"""Secrets: sealed values, and the passwords of the embedded server's roles.

Invariant: neither a key, a password nor a sealed value appears in any message or representation. Passwords are created
once, before the cluster; if their file is lost, the owner of the data sets new ones.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import secrets
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from cryptography.fernet import Fernet, InvalidToken

from thresher.core import ConfigurationError, Settings, StoreError
from thresher.store.account import Account, child_environment, server_account
from thresher.store.cluster import ADMIN, APPLICATION, OWNER, Layout
from thresher.store.private import prepare_folder, read_or_create
from thresher.store.programs import Binaries


@dataclass(frozen=True, slots=True)
class Passwords:
    """Random passwords of the three roles; never shown."""

    admin: str
    owner: str
    application: str

    def __repr__(self) -> str:
        return "Passwords(***)"


def new_passwords() -> Passwords:
    """Return three random passwords."""
    return Passwords(secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(24))


def load_passwords(layout: Layout, fresh: Passwords) -> Passwords:
    """Read the passwords; if there are none yet, `fresh` is stored.

    Raises:
        ConfigurationError: The file is damaged, or readable to others.
    """
    content = read_or_create(layout.passwords, json.dumps(asdict(fresh)).encode())
    try:
        return Passwords(**json.loads(content))
    except (ValueError, TypeError):
        raise ConfigurationError(
            f"The file {layout.passwords} is damaged.",
            hint="Restore it from a backup, or remove it: new passwords are then made.",
        ) from None


async def reset_passwords(cluster: Path, binaries: Binaries, account: Account, passwords: Passwords) -> None:
    """Set all three passwords in a cluster that is not running, without the old ones.

    Raises:
        StoreError: The programs refused.
    """
    # Passwords come from `token_urlsafe` and need no quoting; the superuser is last, as its password opens the rest.
    words = ((OWNER, passwords.owner), (APPLICATION, passwords.application), (ADMIN, passwords.admin))
    process = await asyncio.create_subprocess_exec(
        *(binaries.program("postgres"), "--single", "-D", str(cluster), "postgres"),
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        cwd=cluster,
        env=child_environment(),
        **account.options(),
    )
    await process.communicate("".join(f"alter role {role} password '{word}'\n" for role, word in words).encode())
    if process.returncode != 0:
        raise StoreError(
            f"New passwords could not be set (code {process.returncode}).",
            hint="Restore the file postgres.json in the data folder from a backup.",
        )


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
        """Use `THRESHER_SECRET_KEY`, or else the key file in the data folder, which is created if it does not exist.

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
        """Decrypt the result of `seal`, as UTF-8 text.

        Raises:
            ConfigurationError: It was sealed with another key, or was damaged.
        """
        return self.open_bytes(sealed).decode()

    def open_bytes(self, sealed: bytes) -> bytes:
        """Decrypt the result of `seal`; raises as `open`."""
        try:
            return self._fernet.decrypt(bytes(sealed))
        except InvalidToken:
            raise ConfigurationError(
                "A sealed value cannot be opened with this secret key.",
                hint=f"Set THRESHER_SECRET_KEY (or restore the file {_FILE} in the data folder) to the key that it was "
                "sealed with, or add the server again to seal its secrets again.",
            ) from None

    def keyed_hash(self, value: str, scope: str) -> bytes:
        """Keyed BLAKE2b of a text, 32 bytes: equal texts of a scope have equal hashes; guessing a text needs the key.

        Args:
            value: The text; lone surrogates, which UTF-8 cannot hold, count as question marks.
            scope: The scope of comparison, such as a tenant, without a zero byte: the same text has another hash in
                another scope.
        """
        text = f"{scope}\0{value}".encode("utf-8", "replace")
        return hashlib.blake2b(text, key=self._hashing, digest_size=32).digest()

    def signing_key(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for one purpose; it reveals neither the secret key nor the other keys."""
        return hmac.digest(self._key, f"thresher: {purpose}".encode(), "sha256")

    def __repr__(self) -> str:
        return "SecretBox(***)"
