"""Uploads: stored in the database, found like other documents, replaced and removed; hostile ones are refused."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.knowledge_documents.conftest import LEAVE, README, VPN
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound
from thresher.jobs import Jobs, Work
from thresher.knowledge.documents import DocumentService, IndexTask, Upload, origin_of
from thresher.knowledge.documents.sources import SourceLimits
from thresher.knowledge.documents.uploads.archives import DEEPEST, MOST_FILES, UNPACKED, files_of
from thresher.services import Services
from thresher.store.tables import upload

LIMITS = SourceLimits()


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A compressed tar archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def member(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    """An entry of a tar archive."""
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = size, kind, target
    return made


async def run(services: Services, caller: Caller, done: Upload) -> None:
    """Run the job of an upload, as a worker does."""
    job = await Jobs(services.database).find(caller, done.job)

    async def alone() -> bool:
        return False

    def report(_phase: str, _done: int, _total: int) -> None:
        """Nobody watches."""

    work = Work(caller.tenant, caller.user, job.id, job.subject, 1, report, alone)
    await IndexTask(services.database, services.index, services.settings).run(work)


async def test_an_uploaded_file_is_found_replaced_and_removed(
    services: Services, documents: DocumentService, caller: Caller
) -> None:
    """The same bytes again change nothing; the file on no disk is read from the database."""
    await run(services, caller, await documents.upload(caller, "team", "guides/vpn.md", VPN.encode()))
    found = await documents.retrieve_document(caller, "error 809 port", "team")
    again = await documents.upload(caller, "team", "guides/vpn.md", VPN.encode())
    other = await documents.upload(caller, "team", "guides/vpn.md", VPN.replace("443", "8443").encode())
    await run(services, caller, other)
    replaced = await documents.retrieve_document(caller, "error 809 port", "team")
    removed = await documents.remove_upload(caller, "team", "guides/vpn.md")
    await run(services, caller, removed)
    repository = await documents.repository(caller, "team")

    assert (found.document, found.content) == ("guides/vpn.md", VPN)
    assert (again.stored, again.unchanged, again.job) == ((), 1, 0)
    assert "port 8443" in replaced.content
    assert removed.removed == ("guides/vpn.md",)
    assert (repository.documents, repository.origin.kind) == (0, "upload")


async def test_an_archive_replaces_what_an_earlier_one_of_its_name_held(
    services: Services, documents: DocumentService, caller: Caller
) -> None:
    """Files that it no longer holds go; those that were uploaded otherwise stay; what cannot be indexed is named."""
    await documents.upload(caller, "team", "own.md", b"# Own\n\nUploaded by itself.\n")
    files = {"README.md": README, "guides/vpn.md": VPN, "logo.png": b"\x89PNG", "id_rsa": "x", "guides/": b""}
    first = await documents.upload(caller, "team", "handbook.zip", zipped(files))
    second = await documents.upload(
        caller, "team", "handbook.zip", zipped({"README.md": README, "guides/leave.md": LEAVE})
    )
    await run(services, caller, second)
    answer = await documents.retrieve_document(caller, "how many days of paid holidays", "team")
    whole = await documents.remove_upload(caller, "team", "handbook.zip")

    assert first.stored == ("README.md", "guides/vpn.md")
    assert [(one.path, one.reason) for one in first.skipped] == [("id_rsa", "secret"), ("logo.png", "binary")]
    assert (second.stored, second.unchanged, second.removed) == (("guides/leave.md",), 1, ("guides/vpn.md",))
    assert answer.document == "guides/leave.md"
    assert whole.removed == ("README.md", "guides/leave.md")


async def test_the_same_bytes_sent_otherwise_belong_to_what_sent_them_last(
    documents: DocumentService, caller: Caller
) -> None:
    """An archive takes away what it held before, but not what has since been sent by itself or in another one."""
    both = {"README.md": README, "vpn.md": VPN}
    await documents.upload(caller, "team", "one.zip", zipped({**both, "leave.md": LEAVE}))
    alone = await documents.upload(caller, "team", "README.md", README.encode())
    other = await documents.upload(caller, "team", "other.zip", zipped({"vpn.md": VPN}))
    again = await documents.upload(caller, "team", "one.zip", zipped({"leave.md": LEAVE}))

    assert (alone.unchanged, other.unchanged, alone.job, other.job) == (1, 1, 0, 0)
    assert (again.unchanged, again.removed) == (1, ())


async def test_tar_archives_and_folders_of_uploads_work_alike(documents: DocumentService, caller: Caller) -> None:
    """Names that begin with `./` are those of their files; a folder is removed with all below it."""
    entries = [(member("./", kind=tarfile.DIRTYPE), b""), (member("./a/vpn.md", len(VPN)), VPN.encode())]
    done = await documents.upload(caller, "team", "b.tar.gz", tarred(*entries))
    await documents.upload(caller, "team", "ab.md", b"# AB\n\nAnother.\n")

    assert done.stored == ("a/vpn.md",)
    assert (await documents.remove_upload(caller, "team", "a/")).removed == ("a/vpn.md",)
    with pytest.raises(NotFound, match=r"no upload 'ab\.mb'"):
        await documents.remove_upload(caller, "team", "ab.mb")


def named_by_nothing() -> bytes:
    """A zip archive whose entry has an empty name."""
    return zipped({"a.md": "# A"}).replace(b"a.md", b"\0.md")


def chained() -> bytes:
    """A tar archive of headers that each say how the next one is named."""
    header = member("././@LongLink", 1, tarfile.GNUTYPE_LONGNAME).tobuf(tarfile.GNU_FORMAT) + b"a".ljust(512, b"\0")
    return header * 3_000 + member("a.md").tobuf() + bytes(1024)


def long_directory() -> bytes:
    """A zip archive whose directory fills it."""
    packed = zipped({"a.md": "# A"})
    at = packed.rindex(b"PK\x01\x02")
    entry, end = packed[at : packed.rindex(b"PK\x05\x06")], bytearray(packed[packed.rindex(b"PK\x05\x06") :])
    end[12:16] = (len(entry) * 100_000).to_bytes(4, "little")
    return packed[:at] + entry * 100_000 + bytes(end)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", zipped({"../../etc/passwd.md": "x"})),
        ("a.zip", zipped({"/etc/motd.md": "x"})),
        ("a.zip", zipped({"a\\..\\b.md": "x"})),
        ("a.zip", zipped({"/".join("d" * (DEEPEST + 1)) + "/a.md": "x"})),
        ("a.zip", zipped({f"{number}.md": "x" for number in range(MOST_FILES + 1)})),
        ("a.zip", zipped({"bomb.md": b"\0" * (UNPACKED + 1)})),
        ("a.zip", zipped({"only.png": b"\x89PNG"})),
        ("a.zip", b"PK\x03\x04 not an archive"),
        ("a.tgz", tarred((member("a.md", kind=tarfile.SYMTYPE, target="/etc/passwd"), b""))),
        ("a.tgz", tarred((member("a.md", kind=tarfile.LNKTYPE, target="b.md"), b""))),
        ("a.tgz", tarred((member("../a.md", 1), b"x"))),
        ("a.tgz", tarred((member("a", kind=tarfile.FIFOTYPE), b""))),
        ("a.tgz", tarred((member("bomb.md", UNPACKED * 2), b"\0" * (UNPACKED * 2)))),
        ("a.tgz", b"\x1f\x8b not gzip"),
        ("a.zip", named_by_nothing()),
        ("a.zip", zipped({".": "# A"})),
        ("a.tgz", tarred((member("", 3), b"# A"))),
        ("a.tgz", tarred((member("./", 3), b"# A"))),
        ("a.tar", chained()),
        ("a.zip", long_directory()),
        ("../a.md", b"# A\n"),
        ("/a.md", b"# A\n"),
        ("C:/a.md", b"# A\n"),
        ("a\nb.md", b"# A\n"),
        ("a.exe", b"MZ\0\0"),
        (".env", b"KEY=1\n"),
        ("empty.md", b"  \n"),
    ],
    ids=[
        *(
            "up",
            "absolute",
            "backslash",
            "deep",
            "many",
            "bomb",
            "nothing",
            "damaged",
            "symlink",
            "hard link",
            "tar up",
        ),
        *(
            "pipe",
            "tar bomb",
            "no gzip",
            "no name",
            "dot",
            "tar no name",
            "tar dot",
            "chain",
            "directory",
            "file up",
            "file absolute",
            "drive",
            "line",
            "binary",
            "secret",
            "empty",
        ),
    ],
)
def test_hostile_and_useless_uploads_are_refused(name: str, data: bytes) -> None:
    """Before anything is stored, with what to do."""
    with pytest.raises(InvalidInput) as refused:
        files_of(name, data, LIMITS)

    assert refused.value.hint


def test_a_link_in_a_zip_archive_is_refused() -> None:
    """It is an ordinary entry whose rights say that it is a link."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        link = zipfile.ZipInfo("a.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")

    with pytest.raises(InvalidInput, match="is a link"):
        files_of("a.zip", packed.getvalue(), LIMITS)


async def test_a_repository_of_a_source_takes_no_uploads_and_nobody_elses_is_changed(
    services: Services, documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """A user's uploads are the user's alone; a refused upload leaves nothing."""
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    ann = Caller(caller.tenant, "ann")
    await documents.upload(caller, "team", "a.md", b"# A\n\nText.\n")
    await documents.upload(ann, "mine", "a.md", b"# A\n\nText.\n")

    with pytest.raises(Conflict):
        await documents.upload(caller, "handbook", "a.md", b"# A\n\nText.\n")
    with pytest.raises(NotAllowed):
        await documents.upload(ann, "team", "b.md", b"# B\n\nText.\n")
    with pytest.raises(NotAllowed):
        await documents.remove_upload(ann, "team", "a.md")
    with pytest.raises(NotFound):
        await documents.remove_upload(Caller(caller.tenant, "bob"), "mine", "a.md")
    await documents.remove_repository(caller, "team")
    async with services.database.transaction(caller.tenant) as connection:
        assert (await connection.execute(select(func.count()).select_from(upload))).scalar_one() == 1
