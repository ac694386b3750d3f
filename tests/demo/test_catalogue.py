"""The shipped catalogue, and its builder."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.demo.bookshop import SOURCE, archive, bookshop
from thresher.core import ConfigurationError, InvalidInput
from thresher.demo.catalogue import (
    SHIPPED,
    SOURCES,
    fetch_package,
    make_catalogue,
    notice,
    read_catalogue,
    read_descriptions,
    write_catalogue,
)
from thresher.demo.catalogue.__main__ import app


def test_the_shipped_catalogue_holds_several_hundred_tools_in_a_small_file() -> None:
    """Hundreds of definitions of more than ten servers travel in less than 200 kB."""
    catalogue = read_catalogue()

    assert len(catalogue.tools) > 500
    assert len({tool.server for tool in catalogue.tools}) == len(SOURCES) > 10
    assert SHIPPED.stat().st_size < 200_000


def test_every_shipped_tool_can_be_served() -> None:
    """Names are unique and fit MCP with their server's prefix; schemas are objects; nothing is blank."""
    tools = read_catalogue().tools

    assert len({tool.key for tool in tools}) == len(tools)
    assert all(len(f"{tool.server}_{tool.name}") <= 64 for tool in tools)
    assert all(tool.input_schema["type"] == "object" and len(tool.description) > 5 for tool in tools)


def test_the_shipped_notice_is_the_catalogues_own() -> None:
    """The file beside the catalogue names every vendor with its licence."""
    catalogue = read_catalogue()

    assert SHIPPED.with_name("NOTICE.md").read_text(encoding="utf-8") == notice(catalogue)
    assert {vendor.server for vendor in catalogue.vendors} == {tool.server for tool in catalogue.tools}


def test_a_build_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    """The file depends on the descriptions only."""
    package = archive(tmp_path, {SOURCE.path: bookshop()})
    for name in ("one", "two"):
        write_catalogue(make_catalogue(read_descriptions(package, [SOURCE]), [SOURCE]), tmp_path / name)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_written_catalogue_reads_back_equal(tmp_path: Path) -> None:
    """Nothing is lost in the file."""
    catalogue = make_catalogue({SOURCE.path: bookshop()}, [SOURCE])
    write_catalogue(catalogue, tmp_path / "tools.json.gz")

    assert read_catalogue(tmp_path / "tools.json.gz") == catalogue


def test_only_the_named_groups_are_taken() -> None:
    """Operations of other groups stay out; the vendor is described in its own words."""
    catalogue = make_catalogue({SOURCE.path: bookshop()}, [SOURCE])

    assert [tool.name for tool in catalogue.tools] == ["DeleteBook", "books_list", "post_orders", "setNotes"]
    assert catalogue.vendors[0].description == "Sells books. Second sentence."


def test_the_limit_of_a_group_keeps_the_shortest_paths() -> None:
    """With one operation a group, the plainest stays."""
    catalogue = make_catalogue({SOURCE.path: bookshop()}, [replace(SOURCE, most=1)])

    assert [tool.name for tool in catalogue.tools] == ["books_list", "post_orders"]


def test_operations_can_be_taken_by_their_ids() -> None:
    """Without groups the beginning of the id decides."""
    catalogue = make_catalogue({SOURCE.path: bookshop()}, [replace(SOURCE, tags=(), only=("staff",))])

    assert [tool.name for tool in catalogue.tools] == ["staff"]


@pytest.mark.parametrize(
    "licence",
    [{}, {"name": "Proprietary"}, {"name": "CC BY-NC 4.0"}, {"name": "Creative Commons Attribution-ShareAlike"}],
)
def test_a_source_without_a_permissive_licence_is_refused(licence: dict[str, str]) -> None:
    """What may not be passed on changed does not get into the file."""
    description = bookshop()
    description["info"]["license"] = licence

    with pytest.raises(InvalidInput, match="licence"):
        make_catalogue({SOURCE.path: description}, [SOURCE])


def test_a_source_that_gives_no_tool_is_refused() -> None:
    """A mistyped group is noticed."""
    with pytest.raises(InvalidInput, match="no tool"):
        make_catalogue({SOURCE.path: bookshop()}, [replace(SOURCE, tags=("Boks",))])


def test_an_unpacked_package_serves_as_well(tmp_path: Path) -> None:
    """A folder is read like the archive."""
    folder = tmp_path / "api"
    folder.mkdir()
    (folder / f"{SOURCE.path}.json").write_text(json.dumps(bookshop()))

    assert read_descriptions(tmp_path, [SOURCE]) == {SOURCE.path: bookshop()}


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b broken"])
def test_a_damaged_package_is_refused(tmp_path: Path, content: bytes) -> None:
    """The error names the file and says which package it must be."""
    path = tmp_path / "package.tgz"
    path.write_bytes(content)

    with pytest.raises(InvalidInput, match=r"package\.tgz"):
        read_descriptions(path, [SOURCE])


@pytest.mark.parametrize("descriptions", [{}, {SOURCE.path: b"{"}])
def test_a_package_without_a_readable_description_is_refused(tmp_path: Path, descriptions: dict[str, Any]) -> None:
    """A missing or broken description stops the build."""
    with pytest.raises(InvalidInput):
        read_descriptions(archive(tmp_path, descriptions), [SOURCE])


@pytest.mark.parametrize(
    "content",
    [b"", b"text", *(gzip.compress(text, mtime=0) for text in (b"{}", b'{"format": 99}', b"[]", b"{"))],
)
def test_a_damaged_catalogue_is_refused(tmp_path: Path, content: bytes) -> None:
    """The error says how to build the file again."""
    path = tmp_path / "tools.json.gz"
    path.write_bytes(content)

    with pytest.raises(InvalidInput) as caught:
        read_catalogue(path)

    assert "Build it again" in caught.value.hint


def test_without_npm_the_builder_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint names the other way."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ConfigurationError) as caught:
        fetch_package(tmp_path)

    assert "--package" in caught.value.hint


@pytest.mark.parametrize(
    ("script", "error"), [("exit 3", ConfigurationError), ("echo x > a.tgz; echo a.tgz", InvalidInput)]
)
def test_a_failed_or_forged_download_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, error: type[Exception]
) -> None:
    """The failure of npm is reported; an archive with another checksum is not used."""
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    with pytest.raises(error):
        fetch_package(tmp_path)


def test_a_failed_build_leaves_the_old_file(tmp_path: Path) -> None:
    """The command exits with the error's code and touches nothing."""
    out = tmp_path / "tools.json.gz"
    shutil.copy(SHIPPED, out)

    result = CliRunner().invoke(app, ["build", str(out), "--package", str(archive(tmp_path, {}))])

    assert result.exit_code == InvalidInput.exit_code
    assert out.read_bytes() == SHIPPED.read_bytes()


def test_the_command_writes_the_file_and_its_notice(tmp_path: Path) -> None:
    """All the sources, from a package that holds a description for each."""
    paths: dict[str, Any] = {source.path: bookshop() for source in SOURCES}
    for source in SOURCES:
        operation = {
            "operationId": f"{(source.only or ('x',))[0]}x",
            "tags": list(source.tags[:1]),
            "summary": "Reads.",
        }
        paths[source.path]["paths"][f"/{source.server}"] = {"get": operation}

    result = CliRunner().invoke(app, ["build", str(tmp_path / "out.gz"), "--package", str(archive(tmp_path, paths))])

    assert result.exit_code == 0, result.output
    assert len(read_catalogue(tmp_path / "out.gz").vendors) == len(SOURCES)
    assert "`github`" in (tmp_path / "NOTICE.md").read_text()
