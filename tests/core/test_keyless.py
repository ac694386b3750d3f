"""Whether the owner is served without a key: the setting, and what decides where it is `auto`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

import thresher.core.settings
from thresher.core import Settings, is_loopback, why_keys


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that is no container, whatever the tests run on; the file that would mark one."""
    mark = tmp_path / "mark"
    monkeypatch.setattr(thresher.core.settings, "_MARKS", (str(mark),))
    for name in ("container", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    return mark


@pytest.mark.usefixtures("marks")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "::ffff:127.0.0.1"])
def test_the_owner_needs_no_key_on_its_own_machine(host: str) -> None:
    """On every loopback address, unless the setting says so."""
    assert why_keys(Settings(host=host)) == ""
    assert "THRESHER_KEYLESS is off" in why_keys(Settings(host=host, keyless="off"))


@pytest.mark.parametrize("setting", ["auto", "on", "off"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1"])
def test_an_address_that_others_reach_always_needs_keys(host: str, setting: str) -> None:
    """No setting changes that."""
    assert host in why_keys(Settings(host=host, keyless=setting))


@pytest.mark.usefixtures("marks")
def test_an_external_database_needs_keys_unless_the_owner_says_otherwise() -> None:
    """It has replicas and other users; the reason names the way out."""
    url = SecretStr("postgresql://thresher@db/thresher")

    assert "THRESHER_KEYLESS=on" in why_keys(Settings(database_url=url))
    assert why_keys(Settings(database_url=url, keyless="on")) == ""


@pytest.mark.parametrize("variable", ["", "container", "KUBERNETES_SERVICE_HOST"])
def test_a_container_needs_keys_unless_the_owner_says_otherwise(
    marks: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Its port is forwarded by a process outside or inside, which speaks for everybody; the reason names the sign."""
    if variable:
        monkeypatch.setenv(variable, "podman")
    else:
        marks.touch()
    why = why_keys(Settings())

    assert (variable or str(marks)) in why
    assert "THRESHER_KEYLESS=on" in why
    assert why_keys(Settings(keyless="on")) == ""


@pytest.mark.parametrize("name", ["", "example.org", "localhost.evil.example", "127.0.0.1.evil.example", "[::1]"])
def test_a_name_is_not_loopback(name: str) -> None:
    """But `localhost`: what a name means may change."""
    assert not is_loopback(name)
