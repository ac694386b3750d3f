"""Names of providers, and labels of versions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.apis import Provider
from thresher.knowledge.apis.naming import (
    checked_aliases,
    checked_base,
    checked_label,
    checked_name,
    checked_title,
    free_name,
    info_in,
    labels_of,
    looks_readable,
    name_from,
    title_from,
)


@pytest.mark.parametrize("name", ["", "Jira", "a b", "-jira", "jira\n", "x" * 64, "jíra", "../jira", "jira\0"])
def test_an_invalid_name_is_refused_with_the_valid_form(name: str) -> None:
    """Names appear in addresses and commands, so they are plain."""
    with pytest.raises(InvalidInput, match="not a valid provider name") as error:
        checked_name(name)

    assert "lower-case letters" in error.value.hint


def test_aliases_are_folded_and_never_the_name_itself() -> None:
    """They are compared with the words of questions, which are folded too."""
    assert checked_aliases("jira", ["Jira  Cloud", "jira", "JIRA cloud", "Atlassian Jira"]) == (
        "jira cloud",
        "atlassian jira",
    )


@pytest.mark.parametrize(
    "aliases", [[""], ["   "], ["..."], ["a\x07b"], ["x" * 64], [str(n) for n in range(17)], "word"]
)
def test_an_invalid_alias_is_refused(aliases: list[str] | str) -> None:
    """Empty, unprintable, too long and too many ones."""
    with pytest.raises(InvalidInput):
        checked_aliases("jira", aliases)


@pytest.mark.parametrize(
    "url",
    ["ftp://a.example", "https://", "https://u:p@a.example", "https://a.example/?token=1", "https://a.example:0", "a"],
)
def test_an_invalid_base_address_is_refused(url: str) -> None:
    """Above all one with a credential."""
    with pytest.raises(InvalidInput):
        checked_base(url)


def test_a_base_address_and_a_display_name_may_be_left_out() -> None:
    """White space and a trailing slash are removed."""
    assert (checked_base(" https://a.example/v2/ "), checked_base("")) == ("https://a.example/v2", "")
    assert checked_title(" Jira \n Cloud ") == "Jira Cloud"
    with pytest.raises(InvalidInput):
        checked_title("x" * 121)
    with pytest.raises(InvalidInput):
        checked_label("a/b")


@pytest.mark.parametrize(
    ("source", "declared", "label"),
    [
        ("/data/jira-v3.json", "1001.0.0-SNAPSHOT", "v3"),
        ("/data/v2.yaml", "1.0", "v2"),
        ("https://api.example.com/api/v1/openapi.json", "2.4", "v1"),
        ("https://api.example.com/v2beta1/openapi.json", "", "v2beta1"),
        ("/data/swagger.json", "v1.34.1", "v1"),
        ("/data/openapi.yaml", "2.7.0-beta", "v2"),
        ("/data/openapi.yaml", "2024-10-01", "2024-10-01"),
        ("/data/openapi.yaml", "unversioned", "unversioned"),
        ("/data/openapi.yaml", "Release candidate / one", "Release-candidate-one"),
        ("/data/openapi.yaml", "", "default"),
        ("/data/dev1.yaml", "", "default"),
    ],
)
def test_a_label_comes_from_the_files_name_or_from_what_the_description_says(
    source: str, declared: str, label: str
) -> None:
    """Only the first part of a version number, so that the label outlives small releases."""
    assert labels_of([source], [declared]) == (label,)


def test_versions_that_would_share_a_label_are_named_after_their_files() -> None:
    """Unless these are the same too."""
    assert labels_of(["/a/core.yaml", "/a/billing.yaml", "/a/v3.yaml"], ["1.0", "1.1", ""]) == ("core", "billing", "v3")
    with pytest.raises(Conflict, match="would have the version label"):
        labels_of(["/a/openapi.yaml", "/b/openapi.yaml"], ["1.0", "1.0"])


def test_title_and_version_are_found_without_parsing_the_description() -> None:
    """In both formats, wherever `info` is, and not in another key of that name."""
    late = {"openapi": "3.0.0", "paths": {"/version": {"version": "9"}}, "info": {"title": "Late", "version": "1.5"}}
    yaml = (
        b"openapi: 3.0.0\npaths: {}\ninfo: # about\n  title: The x API # now\n\n  # version: 8\n"
        b"  version: '2.1' # now\n"
        b"servers: []\n"
    )

    assert info_in(json.dumps(late).encode()) == ("Late", "1.5")
    assert info_in(b"\xef\xbb\xbf" + json.dumps(late).encode()) == ("Late", "1.5")
    assert info_in(yaml) == info_in(yaml.replace(b"\n", b"\r\n")) == ("The x API", "2.1")
    assert info_in(b"swagger: '2.0'\nx:\n  version: 3\n") == ("", "")
    assert info_in(b"openapi: 3.0.0\ninfo:\n  title: >-\n    Folded\n") == ("", "")
    assert info_in(b"openapi: 3.0.0\ninfo:\n  title: 'a: b'\n") == ("a: b", "")
    assert looks_readable(yaml)
    assert looks_readable(json.dumps(late).encode())
    assert not looks_readable(b'{"a": 1}')
    assert not looks_readable(b"title: openapi\n")


@given(st.binary(max_size=300))
def test_any_bytes_can_be_searched_for_a_version(data: bytes) -> None:
    """Whatever the bytes are, the label is valid."""
    label = labels_of(["/data/x"], [info_in(data)[1]])[0]

    assert checked_label(label) == label
    looks_readable(data)


@pytest.mark.parametrize(
    ("title", "source", "name"),
    [
        ("Swagger Petstore - OpenAPI 3.0", "", "petstore"),
        ("The Jira Cloud platform REST API", "/data/swagger.json", "jira-cloud-platform"),
        ("Météo-France API v2", "", "meteo-france"),
        ("REST API", "/data/billing-v2.yaml", "billing"),
        ("请求", "https://api.acme.example/openapi.json", "acme-example"),
        ("", "https://[::1", "api"),
        ("", "", "api"),
        ("one " * 40, "", "-".join(["one"] * 10)),
        ("x" * 200, "", "x" * 40),
    ],
)
def test_a_name_comes_from_the_title_or_from_where_the_description_lies(title: str, source: str, name: str) -> None:
    """Without the words that every API's title has."""
    assert name_from(title, source) == name


@given(st.text(max_size=200), st.text(max_size=80))
def test_every_title_gives_a_valid_name(title: str, source: str) -> None:
    """Whatever the description and its address say."""
    assert checked_name(name_from(title, source))
    assert checked_title(title_from(title)) == title_from(title)


def test_a_name_that_is_taken_gets_a_number() -> None:
    """Also one that is another provider's alias."""
    seen = [Provider(1, "shop", "Shop", ("shop-2",)), Provider(2, "other", "Other")]

    assert free_name("shop", seen) == "shop-3"
    assert free_name("new", seen) == "new"


@given(st.text(max_size=80), st.text(max_size=80))
def test_every_source_has_a_label(source: str, declared: str) -> None:
    """Whatever its name is."""
    assert checked_label(labels_of([source], [declared])[0])
