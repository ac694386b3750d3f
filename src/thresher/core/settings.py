"""Settings: the one place that reads the environment.

Every setting is a variable `THRESHER_<NAME>`. A wrong value stops the start with the variable's name.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_data_path
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from thresher.core.errors import ConfigurationError
from thresher.core.records import Expose
from thresher.core.text import did_you_mean, nearest
from thresher.core.validation import problem_of

_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container", "/var/run/secrets/kubernetes.io")
"""Files that Docker, Podman, containers with systemd, and Kubernetes put into a container."""
_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")
"""Variables that Podman, LXC and systemd-nspawn, and Kubernetes set in one."""


@lru_cache(maxsize=256)
def is_loopback(name: str) -> bool:
    """Return whether a name or an address means this machine alone."""
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def container_mark() -> str:
    """Return what shows that this process runs in a container; empty without any sign.

    Engines are not obliged to leave a sign: a container without one is not recognised.
    """
    marks = [mark for mark in _MARKS if Path(mark).exists()]
    return next(iter([*marks, *(name for name in _VARIABLES if environment().get(name))]), "")


def why_keys(settings: Settings) -> str:
    """Return why every HTTP request needs a key; empty if the owner is served without one."""
    if not is_loopback(settings.host):
        return f"other machines can reach {settings.host}"
    if settings.keyless == "off":
        return "THRESHER_KEYLESS is off"
    if settings.keyless == "on":
        return ""
    if settings.database_url is not None:
        return "the database is an external one (THRESHER_KEYLESS=on serves the owner without a key)"
    if mark := container_mark():
        return f"this is a container, by {mark} (THRESHER_KEYLESS=on serves the owner without a key)"
    return ""


SERVER_USER = "thresher-postgres"
"""The account that is made for the embedded server where the daemon is root."""


def default_data_dir() -> Path:
    """The per-user data folder; root gets one that the database's unprivileged account can enter."""
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/thresher")
    return user_data_path("thresher", appauthor=False)


def _number(value: object) -> object:
    """A variable is text, and pydantic compares the values of a `Literal` without converting them."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _listed(value: object) -> object:
    """A variable holds several values with commas between them."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _paths(value: object) -> object:
    """A variable holds several paths with the platform's separator between them; `~` is the person's home."""
    if not isinstance(value, str):
        return value
    return tuple(Path(part.strip()).expanduser() for part in value.split(os.pathsep) if part.strip())


def _absolute(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    if wrong := [path for path in paths if not path.is_absolute()]:
        raise ValueError(f"{str(wrong[0])!r} is no absolute path; the daemon has no folder of its own")
    return paths


def _hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := [name for name in names if not re.fullmatch(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:]+", name)]:
        raise ValueError(f"{wrong[0]!r} is no host name; write names without scheme and port")
    return names


def _hosts_and_ports(names: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := [name for name in names if not re.fullmatch(r"[A-Za-z0-9._-]+(?::\d{1,5})?|[0-9A-Fa-f:]+", name)]:
        raise ValueError(f"{wrong[0]!r} is no host; write one.example.com or one.example.com:5432, without scheme")
    return names


def _absolute_file(path: Path | None) -> Path | None:
    if path is not None and not (path := path.expanduser()).is_absolute():
        raise ValueError(f"{str(path)!r} is no absolute path; the daemon has no folder of its own")
    return path


def _origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := [origin for origin in origins if not re.fullmatch(r"https?://[^/?#@\s*]+", origin)]:
        raise ValueError(f"{wrong[0]!r} is no origin; write https://chat.example.com, with a port if it has one")
    return origins


def _sources(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    sound = re.compile(r"(?:https|ssh)://[^/?#@\s]+/[^?#\s]*|ssh://[\w.-]+@[^/?#@\s]+/[^?#\s]*")
    if wrong := [one for one in prefixes if not Path(one).is_absolute() and not sound.fullmatch(one)]:
        raise ValueError(f"{wrong[0]!r} is neither an absolute path nor an address such as https://github.com/acme/")
    return prefixes


def _api_hosts(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := [one for one in prefixes if not re.fullmatch(r"https?://[^/?#@\s]+/?", one)]:
        raise ValueError(f"{wrong[0]!r} is not an address such as https://api.internal.example")
    return prefixes


def _api_sources(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    sound = re.compile(r"https?://[^/?#@\s]+/[^?#\s]*")
    if wrong := [one for one in prefixes if not Path(one).is_absolute() and not sound.fullmatch(one)]:
        raise ValueError(f"{wrong[0]!r} is neither an absolute path nor an address such as https://docs.example.com/")
    return prefixes


class Settings(BaseSettings):
    """What a person can set. Frozen: read once at the start and handed down."""

    model_config = SettingsConfigDict(env_prefix="THRESHER_", frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Path = Field(default_factory=default_data_dir)
    database_url: SecretStr | None = None
    """External PostgreSQL, application role."""
    migration_url: SecretStr | None = None
    """External PostgreSQL, owner role; only `thresher migrate` uses it."""
    server_version: Annotated[Literal[16, 18], BeforeValidator(_number)] = 18
    """Major version of the embedded server."""
    allow_root: bool = False
    """Root may run the embedded server, under the account `server_user`."""
    server_user: str = SERVER_USER
    secret_key: SecretStr | None = None
    """32 bytes, URL-safe base64; without it a 0600 file in the data folder holds the key."""

    model: str = "thresher-small-en-1"
    model_dir: Path | None = None
    """A folder with model.onnx and tokenizer.json that takes the place of the packaged weights."""
    encoder_url: str | None = None
    """Base address of an OpenAI-compatible service for embeddings, in place of the local model."""
    encoder_key: SecretStr | None = None
    encoder_model: str = "text-embedding-3-small"
    encoder_dimension: int | None = Field(default=None, ge=1)
    """Length of that service's vectors; without it the first answer tells."""
    encoder_threads: int = Field(default=2, ge=1, le=64)
    query_cache_size: int = Field(default=1000, ge=0, le=1_000_000)
    query_cache_seconds: float = Field(default=300.0, ge=0)
    vector_memory_mb: int = Field(default=256, ge=0)
    """Memory for read-only copies of index vectors in the process; 0 searches in PostgreSQL alone."""

    llm_url: str | None = None
    """Base address of an OpenAI-compatible service for chat; without it everything works without a model."""
    llm_model: str | None = None
    llm_key: SecretStr | None = None
    llm_seconds: float = Field(default=10.0, gt=0, le=600)
    """How long an answer of the model may keep somebody waiting."""
    model_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts_and_ports)] = ()
    """Hosts, or host:port, whose chat models callers with a key may register; the machine's user may any."""

    key: SecretStr | None = None
    """A client's setting: `thresher stdio` and the commands act as its holder. The daemon does not read it."""
    project: Path | None = None
    """A client's setting: the folder that it works in, where that is not its working directory."""
    host: str = "127.0.0.1"
    port: int = Field(default=8642, ge=0, le=65535)
    keyless: Literal["auto", "on", "off"] = "auto"
    """Whether processes of the daemon's own user on this machine are served over HTTP without a key. `auto`: not in a
    container, nor with an external database. Never on an address that other machines reach."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts)] = ()
    """Names, besides loopback and the address itself, under which clients reach the HTTP door."""
    allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_origins)] = ()
    """Origins of web pages that may use the HTTP door."""
    idle_exit_seconds: float = Field(default=600.0, ge=0)
    """A daemon that a client started leaves after this long without clients; 0 never."""
    workers: int = Field(default=1, ge=0, le=16)
    """Processes that do long work, such as indexing documents, started when there is some; 0: this daemon starts none,
    and others on the same database do it."""
    upstream_connect_seconds: float = Field(default=30.0, gt=0)
    upstream_call_seconds: float = Field(default=120.0, gt=0)
    selection: Literal["on", "shadow", "off"] = "on"
    """`on`: clients see what `expose` says. `shadow`: they see all tools, and what would have been chosen is recorded.
    `off`: they see all tools, and nothing is chosen."""
    expose: Expose = "meta"
    """What `tools/list` shows beside the core tools. `meta`: the seven meta-tools. `own`: also the tools of packs that
    mark them for it. `all`: also every tool of every server. A client's own wish wins: `thresher stdio --expose`."""
    auto_approve: Literal["none", "clean", "all"] = "none"
    """Which changed tools are taken over without a person: none, those without any finding of the scanner, or all,
    dangerous ones included. A server can be trusted by itself."""
    approval_floor: Literal["none", "destructive", "writes", "all"] = "none"
    """The least strict `approval` that conversations may have; `thresher settings floor` sets that of one tenant."""
    packs: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_paths), AfterValidator(_absolute)] = ()
    """Folders of packs, packs or rule files, beside those that are found by themselves; used without being approved."""
    admin_tools: bool = False
    """Whether clients may change what is kept here: index repositories of documents, refresh and remove them."""
    components_dir: Annotated[Path | None, AfterValidator(_absolute_file)] = None
    """The folder of drop-in components; without it `components` in the data folder."""
    development: Literal["off", "on"] = "off"
    """Whether components are loaded again as soon as one of their files changes."""
    home_packs: Literal["on", "off"] = "on"
    """Whether packs in `~/.agents/skills` and `~/.claude/skills` are used."""
    log_text: Literal["off", "on"] = "off"
    """Whether logs, files and tables alike, hold the text of messages."""
    api_queries: Literal["off", "on"] = "on"
    """Whether the log of API searches keeps their words, without secrets; they are what usage is about."""
    log_days: int = Field(default=90, ge=1)
    """How long discoveries and calls are kept."""
    thread_days: int = Field(default=90, ge=1, le=36_500)
    """How long a thread of the agent is kept after it went on last."""
    rules_first: Literal["on", "off"] = "on"
    """Whether the first call of a pack's tool in a session that has not been given the pack's rules is answered with
    these, and not run."""
    run_code: Literal["off", "on"] = "off"
    """Whether clients are offered `run_code` and `run_code_write`, which run programs whose functions are tools."""
    code_seconds: float = Field(default=120.0, gt=0, le=3_600)
    """The longest time of one program, its calls of tools included."""
    find_budget: int = Field(default=300, ge=50, le=4_000)
    """The most tokens of an answer about tools."""
    result_tokens: int = Field(default=8_000, ge=0, le=1_000_000)
    """The most tokens of a tool's result; a larger one is kept, and answered with what matters. 0: all pass whole."""
    result_exempt: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = ()
    """Servers and tools, by the names that clients call these by, whose results always pass whole."""
    result_hours: float = Field(default=24.0, gt=0, le=8_760)
    """How long a larger result is kept for `read_result`."""
    result_mb: int = Field(default=64, ge=1, le=10_240)
    """How much of such results is kept for each user; the oldest go first."""
    learning: Literal["off", "shadow", "on"] = "shadow"
    """Whether tools that were used after like messages rank higher. `off`: nothing is recorded. `shadow`: uses are
    recorded, and `thresher tools replay` shows what they would have changed. `on`: they rank tools. A person may decide
    otherwise for a tenant, unless it is `off`."""
    learning_auto: Literal["off", "on"] = "off"
    """Whether a replay may switch learning on, if the lower bound of its gain is above zero, most of at least three
    voters gain, and nobody has decided."""
    learning_days: float = Field(default=30.0, gt=0, le=3650)
    """The age at which a use counts half."""
    tool_questions: Literal["off", "on"] = "off"
    """Whether the chat model of `llm_url` writes questions for tools, and the search reads those that were written."""
    document_mb: int = Field(default=20, ge=1, le=1024)
    """A larger file is not indexed."""
    repository_mb: int = Field(default=1024, ge=1)
    """A repository with more to index is refused; of a remote one, not much more is fetched."""
    repository_files: int = Field(default=50_000, ge=1, le=1_000_000)
    """A repository with more files to index is refused."""
    source_seconds: float = Field(default=900.0, gt=0)
    """Time to list a repository, fetching included."""
    watch: Literal["on", "off"] = "on"
    """Whether sources are followed: folders are watched, git servers and addresses of API descriptions are asked."""
    check_seconds: int = Field(default=300, ge=10, le=2_592_000)
    """How often a source that cannot be watched is checked, unless it has a schedule of its own."""
    index_sources: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_sources)] = ()
    """Folders and addresses below which callers with a key may index; the machine's user may index anything."""
    api_sources: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_api_sources)] = ()
    """Folders and addresses below which callers with a key may read API descriptions; these may read what is public
    anyway, the machine's user anything."""
    api_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_api_hosts)] = ()
    """Addresses that are not public and that callers with a key may let calls of APIs reach; the machine's user any."""
    databases: Annotated[Path | None, AfterValidator(_absolute_file)] = None
    """A JSON or YAML file of connections to databases; they are there while it names them."""
    database_files: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_paths), AfterValidator(_absolute)] = ()
    """Folders below which callers with a key may open database files; the machine's user may open any."""
    database_hosts: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts_and_ports)
    ] = ()
    """Hosts, or host:port, whose databases callers with a key may connect to; the machine's user may to any."""
    solution_folders: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_paths), AfterValidator(_absolute)] = ()
    """Folders below which callers with a key may add workspaces of solutions; the machine's user may add any."""
    query_seconds: float = Field(default=30.0, gt=0, le=3600)
    """How long a statement may run on a team's database before it is cancelled there."""
    queries_at_once: int = Field(default=2, ge=1, le=64)
    """How many statements of one caller run at once on a team's databases; a further one waits for its turn."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


_NO_SETTINGS = frozenset({"THRESHER_BENCH_DATA", "THRESHER_WRITE_GOLDENS"})
"""Variables that benchmarks and tests read."""


def load_settings(**overrides: object) -> Settings:
    """Read the environment once.

    Args:
        overrides: Values that win over the environment (command-line options); None means not given.

    Raises:
        ConfigurationError: A value is not allowed; the message names the variable.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # pyright: ignore[reportArgumentType] - pydantic validates each value
    except ValidationError as error:
        problems = "; ".join(f"THRESHER_{str(e['loc'][0]).upper()}: {problem_of(e)}" for e in error.errors())
        raise ConfigurationError(f"Settings are not valid: {problems}.", hint="Correct or unset them.") from None


def differing(settings: Settings, variables: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with `THRESHER_*` variables of another process, in sentences that hold no value.

    Args:
        settings: In force in this process.
        variables: Of the other one.
    """
    said: list[str] = []
    for name, value in variables.items():
        field = name.removeprefix("THRESHER_").lower()
        if field not in Settings.model_fields:
            if name not in _NO_SETTINGS:
                near = did_you_mean(nearest(name, [f"THRESHER_{one.upper()}" for one in Settings.model_fields])[:1])
                said.append(f"{name} is not a setting. {near}".strip())
            continue
        try:
            wanted = getattr(Settings(**{field: value}), field)  # pyright: ignore[reportArgumentType] - as above
        except ValidationError as error:
            said.append(f"{name} is not valid: it {problem_of(error.errors()[0])}.")
            continue
        if wanted != getattr(settings, field):
            said.append(f"{name} has no effect: the running daemon has another value. End it first: thresher stop.")
    return tuple(said)


def environment() -> Mapping[str, str]:
    """The process environment, for children and for `${NAME}` in server files."""
    return dict(os.environ)
