"""What people write as a source, and who may index it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.knowledge.documents.gits import bare
from thresher.core import (
    Caller,
    ConfigurationError,
    InvalidInput,
    NotAllowed,
    NotFound,
    Tenant,
    ThresherError,
    load_settings,
)
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources import may_index, origin_of

OWNER = Caller(Tenant(1, "local"))
KEYED = Caller(Tenant(1, "local"), keyed=True)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("https://github.com/acme/handbook.git", "https://github.com/acme/handbook.git"),
        (" HTTPS://GitHub.com:443//acme/handbook/ ", "https://github.com/acme/handbook"),
        ("git@github.com:acme/handbook.git", "ssh://git@github.com/acme/handbook.git"),
        ("github.com:acme/handbook.git", "ssh://github.com/acme/handbook.git"),
        ("ssh://git@example.com:2222/~/a b.git", "ssh://git@example.com:2222/~/a%20b.git"),
        ("http://127.0.0.1:8000/a.git", "http://127.0.0.1:8000/a.git"),
        ("http://[::1]:8000/a.git", "http://[::1]:8000/a.git"),
    ],
)
def test_addresses_have_one_form(text: str, location: str) -> None:
    """However it is written, a repository has one address."""
    assert origin_of(text, ref="main") == Origin("git", location, "main")


@pytest.mark.parametrize(
    "text",
    [
        "https://ada:hunter22@github.com/acme/a.git", "https://ghp_abc@github.com/acme/a.git",
        "ssh://git:hunter22@github.com/a.git", "https://github.com/a.git?private_token=hunter22",
        "https://github.com/a.git#hunter22",
    ],
)  # fmt: skip
def test_credentials_are_refused_and_not_repeated(text: str) -> None:
    """An address is stored; the error says what to do instead."""
    with pytest.raises(InvalidInput, match="credential") as caught:
        origin_of(text)

    assert "hunter22" not in str(caught.value)
    assert "ghp_" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "git://github.com/a.git", "ftp://a/b", "http://github.com/a.git", "https://", "https:///a.git",
        "ssh://-oProxyCommand=x/a", "ssh://a b/c", "https://github.com/acme/../evil/a.git",
        "https://github.com/acme/%2e%2e/evil", "https://github.com/acme%2fevil/../a", "https://github.com:x/a",
        "file://other.example/a.git", "relative/path", "a\0b", "x" * 3_000, "ssh://-x@host/a.git", "ext::sh -c id",
    ],
)  # fmt: skip
def test_an_invalid_source_is_refused(text: str) -> None:
    """Other protocols, plain http, options in place of hosts, steps upwards."""
    with pytest.raises((InvalidInput, NotFound)):
        origin_of(text)


@pytest.mark.parametrize("ref", ["--upload-pack=x", "a b", "a..b", "a:b", "x" * 300])
def test_an_invalid_ref_is_refused(ref: str) -> None:
    """Names follow git's own rules."""
    with pytest.raises(InvalidInput, match="not a valid branch"):
        origin_of("https://github.com/acme/a.git", ref=ref)


@pytest.mark.parametrize("pattern", ["", "[", "*a*a*a*a*a*a*b", "!"])
def test_a_broken_pattern_is_refused(pattern: str) -> None:
    """At once, not when it is indexed."""
    with pytest.raises(InvalidInput, match="cannot be used"):
        origin_of("https://github.com/acme/a.git", include=[pattern])


def test_paths_are_resolved(tmp_path: Path) -> None:
    """Folders, files and repositories are distinguished, relative to the caller's folder."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    bare(tmp_path / "bare.git")
    bare(tmp_path / "work" / ".git")
    real = tmp_path.resolve()

    assert origin_of("docs", folder=tmp_path) == Origin("folder", str(real / "docs"))
    assert origin_of(str(tmp_path / "docs" / ".." / "docs" / "a.md")) == Origin("file", str(real / "docs" / "a.md"))
    assert origin_of("bare.git", folder=tmp_path) == Origin("git", str(real / "bare.git"))
    assert origin_of((tmp_path / "bare.git").as_uri()) == Origin("git", str(real / "bare.git"))
    assert origin_of("work", folder=tmp_path) == Origin("folder", str(real / "work"))
    assert origin_of("work", ref="main", folder=tmp_path) == Origin("git", str(real / "work"), "main")


def test_a_part_of_a_repository_is_chosen_by_a_pattern(tmp_path: Path) -> None:
    """The error says how."""
    bare(tmp_path / "work" / ".git")
    (tmp_path / "work" / "docs").mkdir()

    with pytest.raises(InvalidInput, match="--include docs/"):
        origin_of(str(tmp_path / "work" / "docs"), ref="main")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_key_allows_sources_below_a_prefix(tmp_path: Path) -> None:
    """Links and siblings with a similar name do not count."""
    for name in ("open/docs", "opened", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "open" / "out").symlink_to(tmp_path / "secret")
    settings = load_settings(index_sources=f"{tmp_path}/open,https://github.com/acme/,ssh://git@example.com/team")

    for allowed in (
        f"{tmp_path}/open",
        f"{tmp_path}/open/docs",
        "https://github.com/acme/a.git",
        "git@example.com:team/a",
    ):
        may_index(KEYED, origin_of(allowed), settings)
    for refused in (
        f"{tmp_path}/opened", f"{tmp_path}/open/out", f"{tmp_path}/open/../secret", "https://github.com/acmes/a.git",
        "https://github.com.evil.example/acme/a", "ssh://root@example.com/team/a", "https://example.com/team/a",
    ):  # fmt: skip
        with pytest.raises(NotAllowed, match="THRESHER_INDEX_SOURCES"):
            may_index(KEYED, origin_of(refused), settings)


def test_a_caller_with_a_key_does_not_learn_what_exists(tmp_path: Path) -> None:
    """Nothing, a folder and a part of a repository are refused with the same words."""
    bare(tmp_path / "tree" / ".git")
    (tmp_path / "tree" / "docs").mkdir()
    errors = set[str]()

    for text, ref in ((f"{tmp_path}/gone", ""), (f"{tmp_path}/tree", ""), (f"{tmp_path}/tree/docs", "main")):
        with pytest.raises(NotAllowed) as caught:
            may_index(KEYED, origin_of(text, ref=ref, caller=KEYED), load_settings())
        errors.add(str(caught.value))

    assert len(errors) == 1


def test_without_a_key_anything_may_be_indexed(tmp_path: Path) -> None:
    """The machine's user may read anything; with a key, nothing is allowed unless configured."""
    may_index(OWNER, origin_of(str(tmp_path)), load_settings())

    with pytest.raises(NotAllowed, match="THRESHER_INDEX_SOURCES"):
        may_index(KEYED, origin_of(str(tmp_path)), load_settings())


@pytest.mark.parametrize(
    "prefix", ["docs", "github.com/acme", "https://", "http://github.com/a", "https://ada:x@github.com/a"]
)
def test_a_wrong_prefix_stops_the_start(prefix: str) -> None:
    """The error names the variable."""
    with pytest.raises(ConfigurationError, match="THRESHER_INDEX_SOURCES"):
        load_settings(index_sources=prefix)


@example("HTTPS://0/@")
@given(st.text(max_size=60) | st.text(alphabet="a:/@.%~[]-?#\\", max_size=30).map("https://".__add__))
def test_no_text_breaks_it(text: str) -> None:
    """Any text gives an origin, with a user only for ssh, or one of our errors."""
    location = ""
    with suppress(ThresherError):
        location = origin_of(text).location

    assert "@" not in urlsplit(location).netloc or location.startswith("ssh://")
