"""Git repositories as sources: local commits, and those of servers."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dulwich.objects import Blob
from dulwich.repo import Repo

from tests.knowledge.documents.gits import (
    FILE,
    LINK,
    SUBMODULE,
    Application,
    bare,
    commit,
    git_application,
    served,
    tag,
)
from thresher.core import InvalidInput, NotAllowed, NotFound, SourceUnavailable
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources import SourceLimits, open_source, origin_of

HANDBOOK = {"README.md": b"# Handbook\n\nHow we work.\n", "docs/travel.md": b"# Travel\n\nBook early.\n"}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder for what a source keeps."""
    return tmp_path / "cache"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a served repository with two files, and its path."""
    path = tmp_path / "handbook.git"
    repo = bare(path)
    tag(repo, "v1", commit(repo, HANDBOOK))
    with repo, served(git_application(handbook=repo)) as address:
        yield f"{address}/handbook.git", path


def listed(
    origin: Origin, cache: Path, limits: SourceLimits | None = None
) -> tuple[str, dict[str, bytes], dict[str, str]]:
    """Version, bytes of each file, and reason of each that is skipped."""
    with open_source(origin, cache, limits=limits) as source:
        files = {file.path: source.read(file.path) for file in source.files()}
        assert all(Blob.from_string(files[file.path]).id.decode() == file.blob for file in source.files())
        assert all(len(files[file.path]) == file.size for file in source.files())
        return source.version, files, {one.path: one.reason for one in source.skipped()}


def test_a_commit_is_read_and_not_the_working_tree(tmp_path: Path, cache: Path) -> None:
    """With a ref, a checkout's files do not matter."""
    repo = bare(tmp_path / "repo" / ".git")
    first = commit(repo, HANDBOOK)
    (tmp_path / "repo" / "README.md").write_text("# Not committed\n")

    version, files, skipped = listed(origin_of(str(tmp_path / "repo"), ref="main"), cache)

    assert (version, files, skipped) == (first, HANDBOOK, {})


@pytest.mark.parametrize("ref", ["", "HEAD", "main", "refs/heads/main", "v1", "whole", "short"])
def test_a_commit_has_many_names(tmp_path: Path, cache: Path, ref: str) -> None:
    """Branch, tag, complete and abbreviated id lead to the same commit."""
    repo = bare(tmp_path / "handbook.git")
    first = commit(repo, HANDBOOK)
    tag(repo, "v1", first)
    names = {"whole": first, "short": first[:9]}

    version, _, _ = listed(origin_of(str(tmp_path / "handbook.git"), ref=names.get(ref, ref)), cache)

    assert version == first


def test_a_wrong_branch_is_answered_with_the_nearest(tmp_path: Path, cache: Path) -> None:
    """The error names what was probably meant."""
    repo = bare(tmp_path / "handbook.git")
    commit(repo, HANDBOOK, "release-2024")

    with pytest.raises(NotFound, match="release-2024"):
        open_source(origin_of(str(tmp_path / "handbook.git"), ref="release-2042"), cache)


def test_a_repository_without_commits_is_empty(tmp_path: Path, cache: Path) -> None:
    """There is nothing to index yet, which is not an error."""
    bare(tmp_path / "new.git")

    assert listed(origin_of(str(tmp_path / "new.git")), cache) == ("", {}, {})


def test_links_submodules_and_odd_names_are_skipped(tmp_path: Path, cache: Path) -> None:
    """What leads elsewhere, or cannot be shown on one line, is named and skipped."""
    repo = bare(tmp_path / "odd.git")
    odd = {
        "passwords": (LINK, b"/etc/passwd"),
        "vendor": (SUBMODULE, b"1" * 40),
        "a\nb.md": b"# Two lines\n",
        "caf\udce9.md": b"# Latin\n",
        "node_modules/x.md": b"# Theirs\n",
        "..": (FILE, b"# Up\n"),
    }
    commit(repo, HANDBOOK | odd)

    _, files, skipped = listed(origin_of(str(tmp_path / "odd.git")), cache)

    assert files == HANDBOOK
    assert skipped == {
        "passwords": "link",
        "vendor/": "link",
        "a\\nb.md": "unreadable",
        "caf\\xe9.md": "unreadable",
        "node_modules/": "ignored",
        "..": "unreadable",
    }


def test_patterns_choose_files_of_a_commit(tmp_path: Path, cache: Path) -> None:
    """Include and exclude apply to commits as to folders."""
    repo = bare(tmp_path / "handbook.git")
    commit(repo, HANDBOOK | {"docs/old/a.md": b"# Old\n", "src/a.py": b"print()\n"})

    _, files, skipped = listed(origin_of(str(tmp_path / "handbook.git"), include=["docs/"], exclude=["old/"]), cache)

    assert list(files) == ["docs/travel.md"]
    assert set(skipped.values()) == {"excluded"}


def test_a_repository_is_fetched_and_read(remote: tuple[str, Path], cache: Path) -> None:
    """Over HTTP, the tip of the default branch."""
    _, files, skipped = listed(origin_of(remote[0]), cache)

    assert (files, skipped) == (HANDBOOK, {})


@pytest.mark.parametrize("ref", ["main", "v1", "HEAD"])
def test_a_server_knows_names_too(remote: tuple[str, Path], cache: Path, ref: str) -> None:
    """Branches and tags are the server's."""
    _, files, _ = listed(origin_of(remote[0], ref=ref), cache)

    assert files == HANDBOOK


def test_an_old_commit_is_found_by_its_id(remote: tuple[str, Path], cache: Path) -> None:
    """If the server serves only tips, its history is fetched."""
    url, path = remote
    with Repo(str(path)) as repo:
        first = repo.head().decode()
        commit(repo, {"new.md": b"# New\n"}, "main", first, at=1)

    versions = [listed(origin_of(url, ref=ref), cache)[0] for ref in (first, first[:10])]

    assert versions == [first, first]


def test_only_what_changed_is_fetched_again(remote: tuple[str, Path], cache: Path) -> None:
    """A second run with nothing new transfers no pack; a third gets the result of a forced push."""
    url, path = remote
    packs = cache / "git" / "objects" / "pack"
    counts = list[int]()
    for change in (None, None, HANDBOOK | {"docs/travel.md": b"# Travel\n\nBook late.\n"}):
        if change is not None:
            with Repo(str(path)) as repo:
                commit(repo, change, at=1)
        _, files, _ = listed(origin_of(url), cache)
        counts.append(len(list(packs.glob("*.pack"))))

    assert counts == [1, 1, 2]
    assert files["docs/travel.md"] == b"# Travel\n\nBook late.\n"


def test_a_damaged_copy_is_made_again(remote: tuple[str, Path], cache: Path) -> None:
    """Whatever a killed run left, the next one repairs it."""
    url, _ = remote
    listed(origin_of(url), cache)
    for pack in (cache / "git" / "objects" / "pack").iterdir():
        pack.chmod(0o600)
        pack.write_bytes(b"nonsense")
    (cache / "git" / "shallow.lock").write_text("")
    (cache / "blobs.json").write_text("[")

    _, files, _ = listed(origin_of(url), cache)

    assert files == HANDBOOK


def test_a_wrong_name_leaves_the_copy_as_it_is(remote: tuple[str, Path], cache: Path) -> None:
    """The error names the nearest branch, and the next run works."""
    url, _ = remote

    with pytest.raises(NotFound, match="'main'"):
        open_source(origin_of(url, ref="mian"), cache)
    assert listed(origin_of(url), cache)[1] == HANDBOOK


def test_a_repository_that_is_not_there(remote: tuple[str, Path], cache: Path) -> None:
    """The error says so, and that a private one may look the same."""
    with pytest.raises(NotFound, match="private"):
        open_source(origin_of(f"{remote[0]}x"), cache)


def test_a_server_without_commits(tmp_path: Path, cache: Path) -> None:
    """An empty remote repository is an empty source."""
    with bare(tmp_path / "new.git") as repo, served(git_application(new=repo)) as address:
        assert listed(origin_of(f"{address}/new.git"), cache) == ("", {}, {})


def test_a_server_that_sends_too_much_is_cut_off(tmp_path: Path, cache: Path) -> None:
    """The transfer is limited while it arrives."""
    noise = b"".join(number.to_bytes(4, "big") * 3 for number in range(0, 40_000_000, 997))
    with bare(tmp_path / "big.git") as repo:
        commit(repo, {"a.txt": noise})
        with served(git_application(big=repo)) as address, pytest.raises(InvalidInput, match="sends more"):
            open_source(origin_of(f"{address}/big.git"), cache, limits=SourceLimits(repository_bytes=10_000))


def answering(status: str, *headers: tuple[str, str]) -> Application:
    """An application with one answer."""

    def application(environ: object, start: object) -> list[bytes]:
        start(status, [("Content-Type", "text/plain"), *headers])  # type: ignore[operator]
        return [b"no"]

    return application


@pytest.mark.parametrize(
    ("status", "headers", "error", "words"),
    [
        ("401 Unauthorized", [("WWW-Authenticate", "Basic")], NotAllowed, "sign-in"),
        ("403 Forbidden", [], NotAllowed, "sign-in"),
        ("404 Not Found", [], NotFound, "no git repository"),
        ("500 Oops", [], SourceUnavailable, "500"),
        (
            "302 Found",
            [("Location", "http://localhost:1/x/info/refs?service=git-upload-pack")],
            SourceUnavailable,
            "another",
        ),
        ("200 OK", [], SourceUnavailable, "cannot be fetched"),
    ],
)
def test_a_refusal_of_a_server_is_reported(
    cache: Path, status: str, headers: list[tuple[str, str]], error: type[Exception], words: str
) -> None:
    """Each refusal has its error, with what to do about it."""
    with served(answering(status, *headers)) as address, pytest.raises(error, match=words):
        open_source(origin_of(f"{address}/a.git"), cache)


def test_a_dead_server_is_given_up(cache: Path) -> None:
    """A server that accepts a connection and sends nothing is disconnected at the deadline."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        origin = origin_of(f"http://127.0.0.1:{server.getsockname()[1]}/a.git")

        with pytest.raises(SourceUnavailable, match="too long"):
            open_source(origin, cache, limits=SourceLimits(seconds=0.3))


def test_an_unreachable_server_is_not_reported_as_slow(cache: Path) -> None:
    """A refused connection is reported as such; raising a time limit would not help."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(SourceUnavailable, match=r"cannot be fetched: .*refused"):
        open_source(origin_of(f"http://127.0.0.1:{port}/a.git"), cache)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for ssh is a shell script")
class TestSsh:
    """A stand-in runs the remote command locally."""

    @pytest.fixture
    def ssh(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The program that replaces ssh."""
        program = tmp_path / "ssh"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nfor last; do :; done\n'
            f'eval set -- $last\nexec {sys.executable} -m dulwich upload-pack "$2"\n'
        )
        program.chmod(0o700)
        monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
        return program

    def test_a_repository_is_fetched(self, tmp_path: Path, cache: Path, ssh: Path) -> None:
        """No password is prompted for, and the host cannot be an option."""
        commit(bare(tmp_path / "handbook.git"), HANDBOOK)

        _, files, _ = listed(origin_of(f"git@example.com:{tmp_path}/handbook.git"), cache)

        assert files == HANDBOOK
        assert "BatchMode=yes" in (asked := (tmp_path / "asked").read_text())
        assert "-- git@example.com" in asked

    @pytest.mark.parametrize(
        ("says", "error", "words"),
        [
            ("git@example.com: Permission denied (publickey).", NotAllowed, "sign-in"),
            ("Host key verification failed.", NotAllowed, "not known to ssh"),
            ("ssh: connect to host example.com port 22: No route to host", SourceUnavailable, "No route"),
        ],
    )
    def test_its_complaint_is_reported(
        self, cache: Path, ssh: Path, says: str, error: type[Exception], words: str
    ) -> None:
        """The error output of ssh decides."""
        ssh.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 255\n")

        with pytest.raises(error, match=words):
            open_source(origin_of("git@example.com:a.git"), cache)

    def test_a_silent_host_is_given_up(self, cache: Path, ssh: Path) -> None:
        """The program and its children are ended."""
        ssh.write_text("#!/bin/sh\nsleep 60 & wait\n")

        with pytest.raises(SourceUnavailable, match="too long"):
            open_source(origin_of("git@example.com:a.git"), cache, limits=SourceLimits(seconds=0.3))
