"""The random passwords of the embedded server's roles, in a private file of the data folder.

Invariant: they are made once, before the cluster; where the file was lost, the owner of the data sets new ones.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import asdict, dataclass
from pathlib import Path

from thresher.core import ConfigurationError, StoreError
from thresher.store.account import Account, child_environment
from thresher.store.binaries import Binaries
from thresher.store.cluster import ADMIN, APPLICATION, OWNER, Layout
from thresher.store.private import read_or_create


@dataclass(frozen=True, slots=True)
class Passwords:
    """Random passwords of the three roles; never shown."""

    admin: str
    owner: str
    application: str

    def __repr__(self) -> str:
        return "Passwords(***)"


def new_passwords() -> Passwords:
    """Three random passwords."""
    return Passwords(secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(24))


def load_passwords(layout: Layout, fresh: Passwords) -> Passwords:
    """Read the passwords; where there are none yet, `fresh` is stored.

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
    """Set all three passwords in a cluster that is not running, without knowing the old ones.

    Raises:
        StoreError: The programs refused.
    """
    # The words come from `token_urlsafe` and so need no quoting; the superuser is last, as its word opens the rest.
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
