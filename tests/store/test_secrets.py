"""The box that seals secrets."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from thresher.core import ConfigurationError, Settings
from thresher.store import SecretBox


@pytest.mark.parametrize("value", ["", "word", "žluťoučký 🐟", "x" * 1_000_000])
def test_what_is_sealed_can_be_opened(value: str) -> None:
    """Empty, other scripts and large values come back, and do not show in what is stored."""
    box = SecretBox(Fernet.generate_key())

    sealed = box.seal(value)

    assert box.open(sealed) == value
    assert not value or value.encode() not in sealed
    assert box.open(memoryview(sealed)) == value  # type: ignore[arg-type]
    assert box.open(box.seal(value.encode())) == value


def test_another_key_does_not_open_it() -> None:
    """The error says what to restore, and holds neither key nor value."""
    key = Fernet.generate_key()
    sealed = SecretBox(key).seal("hidden")

    with pytest.raises(ConfigurationError, match="THRESHER_SECRET_KEY") as caught:
        SecretBox(Fernet.generate_key()).open(sealed)

    assert "hidden" not in str(caught.value)
    assert key.decode() not in str(caught.value)


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff" * 100])
def test_damaged_bytes_are_refused(damage: bytes) -> None:
    """Nothing is returned for what was not sealed."""
    with pytest.raises(ConfigurationError):
        SecretBox(Fernet.generate_key()).open(damage)


@pytest.mark.parametrize("key", ["", "short", "ž" * 44, "=" * 44, "A" * 10_000])
def test_a_malformed_key_is_refused(key: str) -> None:
    """The error says how to make one, and does not repeat it."""
    with pytest.raises(ConfigurationError, match="32 bytes") as caught:
        SecretBox(key)

    assert not key or key not in str(caught.value)


def test_the_key_comes_from_the_setting(settings: Settings) -> None:
    """With a key given, no file is written."""
    key = Fernet.generate_key().decode()
    box = SecretBox.from_settings(settings.model_copy(update={"secret_key": SecretStr(f"{key}\n")}))

    assert SecretBox(key).open(box.seal("word")) == "word"
    assert not settings.data_dir.exists()


def test_without_a_setting_a_private_file_holds_it(settings: Settings) -> None:
    """Many that ask for it at once get the same one."""
    with ThreadPoolExecutor(8) as pool:
        boxes = list(pool.map(lambda _: SecretBox.from_settings(settings), range(8)))

    sealed = boxes[0].seal("word")
    assert {box.open(sealed) for box in boxes} == {"word"}
    assert stat.S_IMODE((settings.data_dir / "secret.key").stat().st_mode) == 0o600


def test_it_does_not_show_its_key() -> None:
    """Neither in its representation nor in its text."""
    key = Fernet.generate_key().decode()

    assert key not in f"{SecretBox(key)!r} {SecretBox(key)}"


def test_a_keyed_hash_is_told_apart_by_key_scope_and_text() -> None:
    """Equal ones are equal, and nothing else is; any text has one."""
    key, other = SecretBox(Fernet.generate_key()), SecretBox(Fernet.generate_key())
    hashes = [key.keyed_hash(text, scope) for text in ("deploy", "deploy it", "\ud800", "") for scope in ("a", "b")]

    assert key.keyed_hash("deploy", "a") == hashes[0]
    assert len(set(hashes)) == 8
    assert other.keyed_hash("deploy", "a") not in hashes
