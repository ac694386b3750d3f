"""`thresher apis call`, `apis hosts` and `apis credentials`: calling operations, and what calls may reach and carry.

Invariant: a secret is typed without being shown, piped, or named by a variable or file; it is never an argument, which
other users of the machine could read.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import bytes_of, filled, text_of
from thresher.cli.client import ask, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import DryRun, add_command, writes
from thresher.cli.knowledge.apis import Name, Version, named_endpoint
from thresher.cli.output import AsJson, show
from thresher.cli.views import Row, moment, plain_table, removed
from thresher.verbs import APIS

_BAD: Final = 400
FAILED: Final = 1
"""Exit code if the API answered with an error."""


def reply_view(reply: Row) -> RenderableType:
    """The status and the body, or in a dry run the request; then what else there is to say."""
    sent = f"{reply['request']['method']} {reply['request']['url']}"
    notes = [*reply["notes"], *([reply["left_out"]] if reply["left_out"] else []), *_more(reply)]
    after = [Text(f"({one})", "dim") for one in notes]
    if not reply["status"]:
        headers = [Text(f"{name}: {value}", "dim") for name, value in reply["request"]["headers"].items()]
        body = [Text(reply["request"]["body"])] if reply["request"]["body"] else []
        return Group(Text(sent, "bold"), *headers, *body, *after)
    style = "green" if reply["status"] < _BAD else "red"
    head = Text(f"{reply['status']}", f"bold {style}").append(f"  {reply['media']}  {sent}", "dim")
    told = [f"{name}: {reply['headers'][name]}" for name in ("location", "retry-after") if name in reply["headers"]]
    body = reply["body"]
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)
    return Group(head, *([] if body is None else [Text(text)]), *(Text(one, "dim") for one in told), *after)


def _more(reply: Row) -> list[str]:
    if not reply["more"]:
        return []
    arguments = " ".join(f"-p {name}={value}" for name, value in reply["next"].items())
    return [f"There is a next page: {f'{arguments}, or ' if arguments else ''}--pages {reply['pages'] + 1}"]


def host_list(hosts: Sequence[Row]) -> RenderableType:
    """One line for each host."""
    if not hosts:
        return Text("No call may reach any host yet. Allow one: thresher apis hosts allow NAME HOST", "bold")
    table = plain_table("api", "host", "for", "")
    for one in hosts:
        table.add_row(one["provider"], one["host"], one["owner"] or "everyone", "private" if one["private"] else "")
    return table


def allowed_host(one: Row) -> RenderableType:
    """What was allowed, in a line."""
    return Text(f"Calls of {one['provider']} may reach {one['host']}.")


def credential_list(credentials: Sequence[Row]) -> RenderableType:
    """One line for each credential."""
    if not credentials:
        return Text("No credentials yet. Store one: thresher apis credentials set NAME", "bold")
    table = plain_table("api", "scheme", "type", "sent as", "for", "stored")
    for one in credentials:
        table.add_row(
            Text(one["provider"]),
            Text(one["scheme"]),
            one["type"],
            Text(_sent_as(one)),
            one["owner"] or "everyone",
            moment(one["updated_at"]),
        )
    return table


def _sent_as(one: Row) -> str:
    if one["type"] == "key":
        return f"{one['place']} {one['name']}"
    scopes = f" ({' '.join(one['scopes'])})" if one["scopes"] else ""
    return f"token of {one['token_url']}{scopes}" if one["type"] == "oauth2" else "header Authorization"


def call(
    endpoint: Annotated[
        list[str], typer.Argument(metavar="ENDPOINT", help="op_..., METHOD PATH, PATH, or an operation's own name.")
    ],
    api: Annotated[str | None, typer.Option("--api", "-a", help="The API of the operation.")] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="An argument; repeatable.")
    ] = None,
    body: Annotated[
        str | None, typer.Option("--body", "-d", help="The body: JSON or text; @FILE reads a file, @- standard input.")
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file", "-f", metavar="FIELD=PATH", help="A file in a form; PATH alone is the body. Repeatable."
        ),
    ] = None,
    pages: Annotated[int | None, typer.Option(help="The most pages; 1 by default.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="The most tokens of the answer.")] = None,
    server: Annotated[str | None, typer.Option(help="One of the API's servers, or another address.")] = None,
    variable: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable in the server's address; repeatable.")
    ] = None,
    media_type: Annotated[str | None, typer.Option(help="Of the body, where several are taken.")] = None,
    version: Version = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds; 30 by default.")] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Call an operation; its arguments are checked before anything is sent."""
    arguments: dict[str, Any] = _pairs(parameter or (), "--parameter")
    if body is not None:
        arguments["body"] = _body(body)
    if file:
        arguments["body"] = _with_files(arguments.get("body"), file)
    given = {**named_endpoint(endpoint), "provider": api, "version": version, "arguments": arguments or None}
    more = {"pages": pages, "budget": budget, "server": server, "media_type": media_type, "timeout": timeout}
    variables = _pairs(variable or (), "--variable")
    options = {"server_variables": variables or None, "dry_run": dry_run or None}
    reply = ask("call_api_endpoint", without_none(given | more | options))
    show(reply, as_json, reply_view)
    if reply["status"] >= _BAD:
        raise typer.Exit(FAILED)


def _pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """`NAME=VALUE` as a mapping; a name that is given several times has a list."""
    found: dict[str, Any] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise typer.BadParameter(f"{option} {text}: write NAME=VALUE.")
        if name in found:
            before = found[name]
            found[name] = [*(cast("list[Any]", before) if isinstance(before, list) else [before]), value]
        else:
            found[name] = value
    return found


def _body(text: str) -> Any:
    """The JSON that a text is, or the text."""
    if text.startswith("@"):
        text = text_of(Path(text[1:]))
    try:
        return json.loads(text)
    except ValueError:
        return text


def _with_files(body: Any, files: Sequence[str]) -> Any:
    """The body with files by value; a file without a field is all of it."""
    fields: dict[str, Any] = dict(cast("dict[str, Any]", body)) if isinstance(body, dict) else {}
    for text in files:
        name, mark, path = text.partition("=")
        place = Path(path if mark else text)
        value = {"base64": base64.b64encode(bytes_of(place)).decode(), "filename": place.name}
        if not mark:
            return value
        before = fields.get(name)
        fields[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return fields


hosts = new_group()
add_command(hosts, "list", APIS["list_api_hosts"], host_list, arguments={"provider": "NAME: An API; all by default"})
add_command(
    hosts,
    "allow",
    APIS["allow_api_host"],
    allowed_host,
    arguments={
        "provider": "NAME: An API, as `apis list` names it",
        "host": "HOST: Such as https://api.example.com, with the port if it has one",
    },
)
add_command(
    hosts,
    "disallow",
    APIS["disallow_api_host"],
    removed,
    arguments={"provider": "NAME: An API, as `apis list` names it", "host": "HOST: As `apis hosts list` shows it"},
)

credentials = new_group()
add_command(
    credentials,
    "list",
    APIS["list_api_credentials"],
    credential_list,
    arguments={"provider": "NAME: An API; all by default"},
)
add_command(
    credentials,
    "remove",
    APIS["remove_api_credential"],
    removed,
    arguments={"provider": "NAME: An API, as `apis list` names it"},
)


@credentials.command("set")
@writes
def set_credential(
    name: Name,
    scheme: Annotated[
        str | None, typer.Option(help="A security scheme of the description; its only one by default.")
    ] = None,
    kind: Annotated[
        Literal["key", "basic", "bearer", "oauth2"] | None,
        typer.Option("--type", "-t", help="How it is sent; as the scheme says by default."),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="The user name, or the client's id.")] = None,
    secret: Annotated[
        str | None, typer.Option(help="${VARIABLE} or ${file:PATH}; asked for, or read from a pipe, by default.")
    ] = None,
    key_name: Annotated[str | None, typer.Option("--name", help="The header, parameter or cookie of a key.")] = None,
    place: Annotated[Literal["header", "query", "cookie"] | None, typer.Option(help="Where a key is sent.")] = None,
    token_url: Annotated[str | None, typer.Option(help="Where oauth2 fetches tokens.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="What oauth2 asks for; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Store a credential that calls of an API carry; it is sealed, and never shown."""
    given = {"provider": name, "scheme": scheme, "type": kind, "user": user, "name": key_name, "place": place}
    more = {"token_url": token_url, "scopes": scope or None, "secret": _secret(secret)}
    show(ask("set_api_credential", without_none(given | more)), as_json, lambda one: credential_list([one]))


def _secret(text: str | None) -> str:
    if text is not None:
        if "${" not in text:
            raise typer.BadParameter("--secret shows the secret to others on this machine; write ${VARIABLE}.")
        return filled("--secret", text).strip()
    if sys.stdin.isatty():
        return str(typer.prompt("Secret (not shown)", hide_input=True, err=True)).strip()
    return sys.stdin.readline().strip()
