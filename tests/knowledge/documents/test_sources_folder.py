"""Folders and single files as sources."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from dulwich.objects import Blob

from thresher import scanner
from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources import FileSource, SourceLimits, open_source, origin_of

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="about links, pipes and names of POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with two documents."""
    root = tmp_path / "root"
    write(root, {"README.md": "# Handbook\n", "docs/travel.md": "# Travel\n\nBook early.\n"})
    return root


def write(root: Path, files: dict[str, str | bytes]) -> None:
    """Write some files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def source_of(root: Path, limits: SourceLimits | None = None, **patterns: list[str]) -> FileSource:
    """The folder as a source."""
    return open_source(origin_of(str(root), **patterns), root.parent / "cache", limits=limits)


def paths(root: Path, **patterns: list[str]) -> list[str]:
    """The paths of its files."""
    with source_of(root, **patterns) as source:
        return [file.path for file in source.files()]


def reasons(root: Path, limits: SourceLimits | None = None, **patterns: list[str]) -> dict[str, str]:
    """The skipped files with their reasons."""
    with source_of(root, limits, **patterns) as source:
        return {one.path: one.reason for one in source.skipped()}


def test_files_have_the_ids_that_git_gives_them(root: Path) -> None:
    """Equal bytes have equal ids, in folders and in commits."""
    with source_of(root) as source:
        files, data = source.files(), source.read("docs/travel.md")

    assert [file.path for file in files] == ["README.md", "docs/travel.md"]
    assert files[1].blob == Blob.from_string(data).id.decode()
    assert files[1].size == len(data)


def test_the_version_changes_with_content_and_paths_alone(root: Path) -> None:
    """A touched file is the same; a renamed or edited one is not."""
    versions = list[str]()
    for change in (
        lambda: None,
        lambda: os.utime(root / "README.md", (1, 1)),
        lambda: write(root, {"README.md": "# B\n"}),
    ):
        change()
        with source_of(root) as source:
            versions.append(source.version)
    (root / "README.md").rename(root / "readme.md")
    with source_of(root) as source:
        versions.append(source.version)

    assert versions[0] == versions[1]
    assert len(set(versions)) == 3


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    """The result of examining it is kept, by its size and times."""
    origin, cache = origin_of(str(Path(scanner.__file__).parent)), tmp_path / "cache"
    with open_source(origin, cache) as source:
        first = source.files()
    memory = json.loads((cache / "files.json").read_text())
    for finding in memory["found"].values():
        finding[0] = "f" * 40
    (cache / "files.json").write_text(json.dumps(memory))

    with open_source(origin, cache) as source:
        again = source.files()

    assert len(memory["found"]) >= len(first) > 0
    assert {file.blob for file in again} == {"f" * 40}


def test_a_file_that_may_still_change_is_not_cached(root: Path) -> None:
    """Two edits within the clock's resolution look the same."""
    before = paths(root)
    write(root, {"README.md": "# Handbuch\n"})
    with source_of(root) as source:
        data = source.read("README.md")

    assert before == ["README.md", "docs/travel.md"]
    assert data == b"# Handbuch\n"


def test_ignore_files_apply_wherever_they_are(root: Path) -> None:
    """The deepest file decides, its last line first, and an ignored folder is not entered."""
    write(
        root,
        {
            ".gitignore": "*.log\nbuild/\n/top.md\n!keep.log\n",
            "a.log": "a", "keep.log": "kept", "top.md": "t", "docs/top.md": "t", "build/a.md": "b",
            "docs/.gitignore": "!a.log\nsecret*.md\n", "docs/a.log": "a", "docs/secret1.md": "s",
            "docs/deep/secret2.md": "s",
        },
    )  # fmt: skip

    found, skipped = paths(root), reasons(root)

    assert found == [
        ".gitignore", "README.md", "docs/.gitignore", "docs/a.log", "docs/top.md", "docs/travel.md", "keep.log"
    ]  # fmt: skip
    assert skipped == dict.fromkeys(("a.log", "build/", "docs/deep/secret2.md", "docs/secret1.md", "top.md"), "ignored")


def test_a_part_of_a_checkout_obeys_the_whole(root: Path) -> None:
    """Ignore files above the folder apply, up to where `.git` is; those outside a checkout do not."""
    write(root, {".gitignore": "drafts/\n/docs/plan.md\n", "docs/drafts/a.md": "a", "docs/plan.md": "p"})
    outside = paths(root / "docs")
    write(root, {".git/info/exclude": "travel.md\n"})

    inside = paths(root / "docs")

    assert outside == ["drafts/a.md", "plan.md", "travel.md"]
    assert inside == []


def test_hostile_patterns_cost_nothing(root: Path) -> None:
    """A pattern that could match in endless ways is not used."""
    write(root, {".gitignore": "*a" * 60 + "b\n[\n" + "**/" * 50 + "x\n", "a" * 200: "text"})

    assert "a" * 200 in paths(root)


@pytest.mark.parametrize(
    ("include", "exclude", "kept"),
    [
        (["*.md"], [], ["README.md", "docs/old/a.md", "docs/travel.md"]),
        (["docs/"], [], ["docs/old/a.md", "docs/travel.md"]),
        (["docs/"], ["old/"], ["docs/travel.md"]),
        (["docs/**", "!docs/old/**"], [], ["docs/travel.md"]),
        (["/*.md"], [], ["README.md"]),
        ([], ["*.md", "!README.md"], ["README.md", "src/a.py"]),
        (["src/*.{py}"], [], []),
        (["./src/*.py"], [], ["src/a.py"]),
    ],
)
def test_patterns_choose_files(root: Path, include: list[str], exclude: list[str], kept: list[str]) -> None:
    """Patterns are those of `.gitignore`, and what is excluded is not included."""
    write(root, {"docs/old/a.md": "# Old\n", "src/a.py": "print(1)\n"})

    assert paths(root, include=include, exclude=exclude) == kept


@POSIX
def test_links_are_never_followed(root: Path, tmp_path: Path) -> None:
    """Neither to files nor to folders, inside or outside."""
    write(tmp_path, {"secret.md": "# Secret\n", "theirs/a.md": "# Theirs\n"})
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "theirs").symlink_to(tmp_path / "theirs")
    (root / "again").symlink_to(root)
    (root / ".gitignore").symlink_to(tmp_path / "secret.md")

    assert paths(root) == ["README.md", "docs/travel.md"]
    assert reasons(root) == dict.fromkeys((".gitignore", "again", "out.md", "theirs"), "link")


@POSIX
def test_a_folder_replaced_by_a_link_reveals_nothing(root: Path, tmp_path: Path) -> None:
    """A link to a similar file replaces it between listing and reading."""
    write(tmp_path, {"theirs/travel.md": "# Travel\n\nBook early.\n"})
    with source_of(root) as source:
        (root / "docs").rename(tmp_path / "docs")
        (root / "docs").symlink_to(tmp_path / "theirs")

        with pytest.raises(Conflict, match="changed"):
            source.read("docs/travel.md")


@POSIX
def test_pipes_and_odd_names_are_skipped(root: Path) -> None:
    """A pipe is not waited for, and a name that cannot be shown on one line is not a path."""
    os.mkfifo(root / "pipe.md")
    write(root, {"a\nb.md": "# Two lines\n"})
    (root / os.fsdecode(b"caf\xe9.md")).write_text("# Latin\n")

    assert reasons(root) == dict.fromkeys(("pipe.md", "a\\nb.md", "caf\\xe9.md"), "unreadable")


def test_a_changed_file_is_not_returned(root: Path) -> None:
    """What is read has the listed id; the next run reads the new content."""
    with source_of(root) as source:
        write(root, {"README.md": "# Changed\n"})
        (root / "docs" / "travel.md").unlink()

        for path in ("README.md", "docs/travel.md"):
            with pytest.raises(Conflict, match="next run"):
                source.read(path)
        with pytest.raises(NotFound):
            source.read("../secret.md")


def test_a_large_file_is_skipped(root: Path) -> None:
    """The detail names the setting."""
    write(root, {"large.txt": "word " * 1_000})

    with source_of(root, SourceLimits(document_bytes=4_000)) as source:
        skipped = source.skipped()

    assert [(one.path, one.reason) for one in skipped] == [("large.txt", "too large")]
    assert "THRESHER_DOCUMENT_MB" in skipped[0].detail


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        (SourceLimits(files=1), "THRESHER_REPOSITORY_FILES"),
        (SourceLimits(repository_bytes=20), "THRESHER_REPOSITORY_MB"),
    ],
)
def test_a_repository_that_is_too_large_is_refused(root: Path, limits: SourceLimits, setting: str) -> None:
    """The error names the setting and the largest folders."""
    with pytest.raises(InvalidInput, match=setting) as caught:
        source_of(root, limits)

    assert "docs" in caught.value.message


def test_forbidden_folders_are_not_entered(root: Path, tmp_path: Path) -> None:
    """The product's own data is neither entered nor indexed by itself."""
    write(root, {"data/key.md": "# Key\n"})
    cache = tmp_path / "cache"

    with open_source(origin_of(str(root)), cache, forbidden=(root / "data",)) as source:
        assert [file.path for file in source.files()] == ["README.md", "docs/travel.md"]
    with pytest.raises(InvalidInput, match="own data"):
        open_source(origin_of(str(root / "data")), cache, forbidden=(root / "data",))


def test_a_single_file_is_a_source(root: Path) -> None:
    """Its neighbours are not."""
    with source_of(root / "docs" / "travel.md") as source:
        assert [file.path for file in source.files()] == ["travel.md"]
        assert source.read("travel.md") == b"# Travel\n\nBook early.\n"
        assert source.skipped() == []


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_missing_source_is_an_error(root: Path, kind: str) -> None:
    """A folder or a file that existed when it was named."""
    with pytest.raises(NotFound, match="There is no"):
        open_source(Origin(kind, str(root / "gone" / "a.md")), root.parent / "cache")  # type: ignore[arg-type]


@POSIX
def test_a_folder_that_has_become_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    """An origin's path has no links; a link made since would lead elsewhere."""
    write(tmp_path, {"theirs/a.md": "# Theirs\n"})
    origin = origin_of(str(root))
    root.rename(tmp_path / "moved")
    root.symlink_to(tmp_path / "theirs")

    with pytest.raises(InvalidInput, match="without links"):
        open_source(origin, tmp_path / "cache")


def test_an_empty_folder_is_empty(tmp_path: Path) -> None:
    """It has no files, which is not an error."""
    (tmp_path / "empty").mkdir()

    with source_of(tmp_path / "empty") as source:
        assert (source.files(), source.skipped()) == ([], [])
        assert len(source.version) == 40
