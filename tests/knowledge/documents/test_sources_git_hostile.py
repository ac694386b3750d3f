"""A git repository written by an attacker: it reveals only its own commits, and blocks nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dulwich.repo import Repo

from tests.knowledge.documents.gits import bare, commit
from thresher.core import InvalidInput, NotFound, SourceUnavailable, ThresherError
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources import SourceLimits, open_source, origin_of
from thresher.knowledge.documents.sources.objects import ObjectReader

OWN = {"README.md": b"# Own\n"}
SECRET = {"plans.md": b"# Secret plans\n"}
PASSWORD = "hunter2-of-the-database"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bare repository, `own.git`, and next to it files that must not be read through it."""
    commit(bare(tmp_path / "own.git"), OWN)
    commit(bare(tmp_path / "outside" / "secret.git"), SECRET)
    (tmp_path / "outside" / "password").write_text(f"{PASSWORD}\n")
    return tmp_path


def contents(path: Path, cache: Path, ref: str = "") -> dict[str, bytes]:
    """The files that are read from a repository."""
    with open_source(Origin("git", str(path), ref), cache, limits=SourceLimits(seconds=20)) as source:
        return {file.path: source.read(file.path) for file in source.files()}


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize(
    ("name", "kind", "target"),
    [
        ("commondir", "file", "outside/secret.git"),
        ("commondir", "link", "outside/password"),
        ("gitdir", "file", "outside/secret.git"),
        ("objects/info/alternates", "file", "outside/secret.git/objects"),
        ("objects/info/http-alternates", "file", "outside/secret.git/objects"),
        ("HEAD", "link", "outside/password"),
        ("config", "link", "outside/password"),
        ("packed-refs", "link", "outside/password"),
        ("refs/heads/x", "link", "outside/password"),
        ("refs/remotes", "link", "outside/secret.git/refs"),
        ("objects/ff", "link", "outside/secret.git/objects/ff"),
        ("objects/pack", "link", "outside/secret.git/objects/pack"),
        ("objects/pack/pack-1.idx", "link", "outside/password"),
        ("objects/pack/pack-1.pack", "link", "outside/password"),
        ("HEAD", "pipe", ""),
        ("config", "pipe", ""),
        ("packed-refs", "pipe", ""),
        ("refs/heads/x", "pipe", ""),
        ("objects/pack/pack-1.idx", "pipe", ""),
        ("objects/pack/pack-1.pack", "pipe", ""),
        (".git", "pipe", ""),
    ],
)
def test_a_control_file_that_leads_elsewhere_is_refused(folder: Path, name: str, kind: str, target: str) -> None:
    """At once, with an error that reveals nothing of its target."""
    trap = folder / "own.git" / name
    if trap.is_dir():
        trap.rmdir()
    trap.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(trap)
    elif kind == "link":
        trap.symlink_to(folder / target)
    else:
        trap.write_text(f"{folder / target}\n")

    with pytest.raises(InvalidInput) as refusal:
        contents(folder / "own.git", folder / "cache")

    assert PASSWORD not in f"{refusal.value.message} {refusal.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = {password}\n",
        "[InCLude]path={password}\n",
        "[include] pa\\\nth = {password}\n",
        '[includeIf "gitdir:/**"]\n\tpath = {password}\n',
        '[include "x"]\n\tpath = {password}\n[include]\n\tpath = {password}\n',
        "[core]\n\tworktree = {outside}\n\tfsmonitor = touch {outside}/ran\n\thooksPath = {outside}\n",
        "[extensions]\n\tworktreeConfig = true\n\tobjectFormat = {password}\n",
        "\\\n[[[ not a configuration",
    ],
)
def test_configuration_is_not_read(folder: Path, text: str) -> None:
    """What a repository's configuration includes or names has no effect, and neither has a broken one."""
    outside = folder / "outside"
    (folder / "own.git" / "config").write_text(text.format(password=outside / "password", outside=outside))

    files = contents(folder / "own.git", folder / "cache")

    assert files == OWN
    assert sorted(path.name for path in outside.iterdir()) == ["password", "secret.git"]


@pytest.mark.parametrize(
    "variable", ["GIT_DIR", "GIT_CONFIG_GLOBAL", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY"]
)
def test_the_environment_of_git_does_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Whatever environment the daemon was started with, a source is its own folder."""
    monkeypatch.setenv(variable, str(folder / "outside" / "secret.git" / "objects"))

    assert contents(folder / "own.git", folder / "cache") == OWN


def test_a_symbolic_ref_does_not_lead_outside(folder: Path) -> None:
    """A symbolic ref is looked up among the refs that were read, not as a path."""
    (folder / "own.git" / "HEAD").write_text("ref: refs/../../outside/password\n")
    (folder / "own.git" / "refs" / "heads" / "up").write_text("ref: ../../../outside/secret.git/refs/heads/main\n")

    files = contents(folder / "own.git", folder / "cache")

    assert files == OWN  # by the only branch that leads to a commit
    with pytest.raises(NotFound):
        contents(folder / "own.git", folder / "cache", "up")


def test_a_git_file_is_not_followed(folder: Path) -> None:
    """A worktree's `.git` file could lead anywhere."""
    (folder / "tree").mkdir()
    (folder / "tree" / ".git").write_text(f"gitdir: {folder / 'outside' / 'secret.git'}\n")

    with pytest.raises(InvalidInput, match="kept elsewhere"):
        contents(folder / "tree", folder / "cache", "main")


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_linked_git_folder_is_not_followed(folder: Path) -> None:
    """Nor could a link in its place."""
    (folder / "tree").mkdir()
    (folder / "tree" / ".git").symlink_to(folder / "outside" / "secret.git")

    with pytest.raises(InvalidInput, match="links"):
        contents(folder / "tree", folder / "cache", "main")


@pytest.mark.parametrize(
    "damage",
    [
        ("refs/heads/x", b"1" * 5_000_000),
        ("objects/pack/pack-1.idx", b"\xfftOc\0\0\0\2" + b"\xff" * 2_000),
        ("objects/pack/pack-1.idx", b"short"),
        ("HEAD", b"\0" * 5_000),
    ],
    ids=["huge ref", "broken index", "short index", "huge HEAD"],
)
def test_a_damaged_repository_is_refused_in_our_words(folder: Path, damage: tuple[str, bytes]) -> None:
    """No library's error text is shown, which may quote a file."""
    name, data = damage
    (folder / "own.git" / "objects" / "pack" / "pack-1.pack").write_bytes(b"PACK" + data)
    (folder / "own.git" / name).write_bytes(data)

    with pytest.raises(ThresherError, match=r"too many|damaged") as refusal:
        contents(folder / "own.git", folder / "cache", "absent")

    assert refusal.value.hint


def test_thousands_of_names_are_read(folder: Path) -> None:
    """Packed and loose."""
    with Repo(str(folder / "own.git")) as repo:
        tip = repo.head().decode()
    lines = "".join(f"{tip} refs/tags/v{number}\n" for number in range(20_000))
    (folder / "own.git" / "packed-refs").write_text(f"# pack-refs with: peeled\n{lines}^{tip}\n")
    for number in range(2_000):
        (folder / "own.git" / "refs" / "heads" / f"b{number}").write_text(f"{tip}\n")

    assert contents(folder / "own.git", folder / "cache", "v19999") == OWN
    assert contents(folder / "own.git", folder / "cache", "b1999") == OWN


def test_a_late_process_is_killed(folder: Path) -> None:
    """Reading a repository's refs has a time limit."""
    with pytest.raises(SourceUnavailable, match="too long"):
        ObjectReader(folder / "own.git", "'own.git'", 0.001)


def git(folder: Path, *arguments: str) -> None:
    """Run git with a user name."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("form", ["bare", "checkout", "packed", "cloned"])
def test_what_git_itself_writes_is_read(tmp_path: Path, form: str) -> None:
    """Bare, with a working tree, packed, or a clone with remote branches."""
    place = tmp_path / "made"
    git(tmp_path, "init", "-b", "main", "made")
    (place / "README.md").write_bytes(OWN["README.md"])
    git(place, "add", ".")
    git(place, "commit", "-m", "First")
    git(place, "tag", "-a", "v1", "-m", "First")
    if form == "packed":
        git(place, "gc")
    if form in ("bare", "cloned"):
        git(tmp_path, "clone", *(["--bare"] if form == "bare" else []), "made", "copy")
        place = tmp_path / "copy"

    found = [contents(place, tmp_path / "cache", ref) for ref in ("HEAD", "main", "v1")]

    assert found == [OWN, OWN, OWN]
    assert origin_of(str(place), ref="main").kind == "git"
