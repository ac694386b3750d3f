from __future__ import annotations

import pytest

from tests.upstream.conftest import SECRET
from thresher.core import InvalidInput, dumps
from thresher.upstream import ServerConfig, public_config, restore_config, sealed_part, valid_name
from thresher.upstream.masking import Redactor, mask_address, mask_arguments

TOKEN = "ghp_" + "a1" * 12

SECRETIVE = [
    ServerConfig("s", "stdio", command="x", args=("--api-key", SECRET, "-v"), env={"K": SECRET}, cwd="/tmp"),
    ServerConfig("s", "stdio", command="x", args=(f"--token={SECRET}", "--token", "--flag", "plain")),
    ServerConfig("s", "stdio", command="x", args=("--header", f"Authorization: Bearer {SECRET}")),
    ServerConfig("s", "stdio", command="x", args=(f"postgresql://me:{SECRET}@db/x", TOKEN)),
    ServerConfig("s", "http", url=f"https://me:{SECRET}@x.example/mcp", headers={"X-Key": SECRET}),
    ServerConfig("s", "http", url=f"https://x.example/mcp?exaApiKey={SECRET}&{SECRET}#{SECRET}"),
    ServerConfig("s", "http", url=f"https://x.example/api/s/{TOKEN}/mcp", description="d", enabled=False),
]


@pytest.mark.parametrize("config", SECRETIVE)
def test_the_public_part_and_the_repr_hold_no_secret(config: ServerConfig) -> None:
    """Whatever goes into the catalogue in clear, or into a traceback."""
    shown = dumps(public_config(config)) + repr(config)

    assert SECRET not in shown
    assert TOKEN not in shown
    assert "***" in shown


@pytest.mark.parametrize("config", [*SECRETIVE, ServerConfig("s", "stdio", command="x", args=("-y", "pkg"))])
def test_both_parts_together_give_the_configuration_back(config: ServerConfig) -> None:
    """Through JSON, as the catalogue stores them."""
    restored = restore_config(
        "s", public_config(config), sealed_part(config), enabled=config.enabled, description=config.description
    )

    assert restored == config
    assert hash(restored) == hash(config)


def test_a_server_without_secrets_has_nothing_to_seal() -> None:
    """So that the catalogue can leave the sealed column empty."""
    config = ServerConfig("s", "http", url="https://x.example/mcp")

    assert sealed_part(config) == {}
    assert public_config(config) == {"transport": "http", "url": "https://x.example/mcp"}


def test_stored_parts_that_make_no_server_are_refused() -> None:
    """A damaged row names its server."""
    with pytest.raises(InvalidInput, match="'s'"):
        restore_config("s", {"transport": "smoke"}, {})


def test_only_what_reads_as_a_secret_is_hidden_in_arguments() -> None:
    """An argument list stays readable."""
    args = ("-y", "@scope/server", "--root=/data", "--password", "--verbose", "X-Api-Key:abc", "key=value")

    assert mask_arguments(args) == (
        "-y",
        "@scope/server",
        "--root=/data",
        "--password",
        "--verbose",
        "X-Api-Key:***",
        "key=value",
    )
    assert mask_address("") == ""


def test_the_redactor_hides_values_by_length_or_name() -> None:
    """A short `debug` stays readable, a short password does not."""
    redact = Redactor(
        {"MODE": "debug", "DB_PASSWORD": "abcd", "LONG": "abcdefgh-rest"}, {"Authorization": f"Bearer {SECRET}"}
    )

    assert redact(f"debug abcd abcdefgh-rest {SECRET} end") == "debug *** *** *** end"


@pytest.mark.parametrize(
    ("name", "valid"), [("git", True), ("a.b-c_1", True), ("", False), ("-a", False), ("a b", False), ("a" * 65, False)]
)
def test_server_names_can_prefix_tool_names(name: str, valid: bool) -> None:
    """Letters, digits and three signs."""
    assert valid_name(name) is valid
