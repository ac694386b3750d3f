"""The verbs of tools: find and describe them, manage the servers that offer them, approve their definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind, implementation

if TYPE_CHECKING:
    from thresher.knowledge.tools import (
        Consent,
        Definition,
        Descriptions,
        FindResult,
        HeldTool,
        Purged,
        Refreshed,
        ServerInfo,
        ServerReport,
        Statistics,
        ToolHealth,
        ToolPage,
        ToolReport,
        ToolRivals,
    )
    from thresher.verbs.request import Request

TOOLS = Kind("tools", "thresher.knowledge.tools")

ServerName: TypeAlias = Annotated[str, Doc("The server's name")]
ToolName: TypeAlias = Annotated[str, Doc("The tool's name")]
Tested: TypeAlias = Annotated[bool, Doc("Keep only what can be started or reached, and listed")]
Definitions: TypeAlias = Annotated[dict[str, str], Doc("By tool: the digest of the definition that was shown")]
Tenant: TypeAlias = Annotated[str | None, Doc("Of this tenant, for the owner; the caller's own by default")]
SignedInUser: TypeAlias = Annotated[str | None, Doc("The user who signs in, for the owner; else the caller")]
_NONE: list[str] = []


@TOOLS.verb("read")
async def find_tools(
    request: Request,
    queries: Annotated[list[str] | str | None, Doc("Short action phrases, one for each step of the task")] = None,
    message: Annotated[str | None, Doc("The user's own words, which may contain several tasks")] = None,
    history: Annotated[list[str], Doc("The last turns, oldest first; used if the message alone is too short")] = _NONE,
    servers: Annotated[list[str] | None, Doc("Only tools of these servers")] = None,
    categories: Annotated[list[str] | None, Doc("Only tools of these categories")] = None,
    budget: Annotated[Annotated[int, Ge(50), Le(4_000)] | None, Doc("Most tokens of the text; by default 300")] = None,
    limit: Annotated[Annotated[int, Ge(1), Le(50)] | None, Doc("Most tools, core tools included")] = None,
    threshold: Annotated[Annotated[float, Ge(0), Le(1)] | None, Doc("The least probability that anything fits")] = None,
    include_core_tools: Annotated[bool, Doc("Whether core tools are always part of the answer")] = True,
) -> FindResult:
    """The tools that a message needs.

    Raises:
        InvalidInput: Neither queries nor a message is given, or an argument is out of bounds.
        NotFound: There is no such server or category.
    """
    return await request.services.tools.find_tools(
        request.caller,
        queries=queries,
        message=message,
        history=history,
        servers=servers,
        categories=categories,
        budget=budget,
        limit=limit,
        threshold=threshold,
        include_core_tools=include_core_tools,
        include_unchosen=request.reader == "program",
    )


@TOOLS.verb("read")
async def describe_tools(
    request: Request, names: Annotated[list[str] | str, Doc("As find_tools returns them")]
) -> Descriptions:
    """Definitions of tools in full.

    Raises:
        InvalidInput: No name is given, or too many.
        NotFound: None of the names is known.
        HeldBack: The first one waits for approval.
    """
    return await request.services.tools.describe_tools(request.caller, names)


@TOOLS.verb("read")
async def list_tools(
    request: Request,
    server: Annotated[str | None, Doc("Only tools of this server")] = None,
    whole: Annotated[bool, Doc("With descriptions and schemas")] = False,
) -> tuple[Definition, ...]:
    """Every tool by name, disabled ones included.

    Raises:
        NotFound: There is no such server.
    """
    return await request.services.tools.list_tools(request.caller, server, whole=whole)


@TOOLS.verb("read")
async def browse_tools(
    request: Request,
    query: Annotated[str, Doc("Words in the name, the server or the summary")] = "",
    server: Annotated[str | None, Doc("Only tools of this server")] = None,
    category: Annotated[str | None, Doc("Only enabled tools of this category")] = None,
    state: Annotated[
        Literal["enabled", "disabled", "core", "warned", "held"] | None,
        Doc("Only such tools; held: those that are held back"),
    ] = None,
    limit: Annotated[int, Ge(1), Le(500), Doc("Most tools")] = 100,
    after: Annotated[str | None, Doc("`next` of the page before")] = None,
) -> ToolPage:
    """The catalogue some tools at a time, held and disabled ones included; what waits for a decision comes first.

    Raises:
        NotFound: There is no such server or category.
    """
    return await request.services.tools.reports.browse(
        request.caller, query=query, server=server, category=category, state=state, limit=limit, after=after
    )


@TOOLS.verb("read")
async def show_tool(request: Request, name: ToolName) -> ToolReport:
    """One tool with all that is known of it: definition, what the scanner says, texts of the search, what waits.

    Raises:
        NotFound: No tool has this name.
    """
    return await request.services.tools.reports.show(request.caller, name)


@TOOLS.verb("read")
async def tool_rivals(request: Request, name: ToolName) -> ToolRivals:
    """What the queries of a tool's own definition find: the tool, and its nearest rivals.

    Raises:
        NotFound: No enabled tool has this name.
        HeldBack: It waits for approval.
    """
    return await request.services.tools.reports.rivals(request.caller, name)


@TOOLS.verb("read")
async def tool_health(
    request: Request,
    server: Annotated[str | None, Doc("Only tools of this server, beside all others")] = None,
    again: Annotated[bool, Doc("Measure what is known, too")] = False,
) -> ToolHealth:
    """Which tools nobody would find, which are confused, and what in their definitions stands in the way.

    It is measured in the background once a server's list has changed; what is not known yet is measured now.

    Raises:
        NotFound: There is no such server.
    """

    def follow(done: int, total: int) -> None:
        request.progress({"stage": "Searching", "done": done, "total": total})

    return await request.services.tools.health.health(request.caller, server, follow, again=again)


@TOOLS.verb("admin", idempotent=True)
async def set_tool(
    request: Request,
    name: ToolName,
    enabled: Annotated[bool | None, Doc("Whether it can be found and called")] = None,
    core: Annotated[bool | None, Doc("Whether it is part of every answer")] = None,
) -> Definition:
    """Switch a tool on or off, or make it a core tool; a switch that is omitted is unchanged.

    Raises:
        NotFound: No tool has this name.
        HeldBack: It waits for approval.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.set_tool(request.caller, name, enabled, core)


@TOOLS.verb("read")
async def list_servers(request: Request) -> tuple[ServerInfo, ...]:
    """The servers in the order in which they were added."""
    return await request.services.tools.reports.servers(request.caller)


@TOOLS.verb("read")
async def show_server(request: Request, name: ServerName) -> ServerReport:
    """One server with all that is known of it: sessions, sign-in, the last lines of its log.

    Raises:
        NotFound: There is no such server.
    """
    return await request.services.tools.reports.server(request.caller, name)


@TOOLS.verb("admin")
async def add_server(
    request: Request,
    server: Annotated[dict[str, Any], Doc("Name, transport, and how to start or reach it")],
    sql: Annotated[dict[str, Any] | None, Doc("Which arguments of its tools are SQL, and of which dialect")] = None,
    auto_approve: Annotated[bool | None, Doc("Whether changes of its tools need no approval")] = None,
    trusted: Annotated[bool | None, Doc("Whether its claims about its tools are relied on")] = None,
    test: Tested = True,
) -> Refreshed:
    """Add a server, and list its tools.

    Raises:
        InvalidInput: The definition is not valid.
        UpstreamError: It cannot be used.
    """
    switches = {"auto_approve": auto_approve, "trusted": trusted}
    return await implementation("servers").add_server(request, server, sql, test=test, **switches)


@TOOLS.verb("admin")
async def import_servers(
    request: Request,
    document: Annotated[str, Doc("An `mcpServers` file")],
    variables: Annotated[dict[str, Any], Doc("Values of the variables in it")],
    test: Tested = True,
) -> dict[str, Any]:
    """Add the servers of a file that can be used, and list their tools.

    Raises:
        InvalidInput: The file is not valid.
    """
    return await implementation("servers").import_servers(request, document, variables, test=test)


@TOOLS.verb("admin", destroys=True)
async def remove_server(request: Request, name: ServerName) -> None:
    """Remove a server with its tools, and end its session.

    Raises:
        NotFound: There is no such server.
        NotAllowed: It belongs to the tenant, and the caller is one of its users.
        Conflict: It comes from the folder of components.
    """
    await request.services.components.check_removable(request.caller, name)
    await request.services.tools.remove_server(request.caller, name)


@TOOLS.verb("admin", idempotent=True)
async def set_server_enabled(
    request: Request, name: ServerName, enabled: Annotated[bool, Doc("Whether its tools can be found and called")]
) -> ServerInfo:
    """Switch a server on or off; its tools are kept.

    Raises:
        NotFound: There is no such server.
        NotAllowed: It belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.set_server_enabled(request.caller, name, enabled)


@TOOLS.verb("admin", idempotent=True)
async def set_server_auto_approve(
    request: Request, name: ServerName, auto_approve: Annotated[bool, Doc("Whether its changes need no approval")]
) -> ServerInfo:
    """Set whether changes of a server's tools are accepted without approval, from its next refresh on.

    Raises:
        NotFound: There is no such server.
        NotAllowed: It belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.set_server_auto_approve(request.caller, name, auto_approve)


@TOOLS.verb("admin", idempotent=True)
async def set_server_trusted(
    request: Request, name: ServerName, trusted: Annotated[bool, Doc("Whether they are relied on")]
) -> ServerInfo:
    """Set whether a server's claims about its tools, such as that one only reads, are relied on.

    Raises:
        NotFound: There is no such server.
        NotAllowed: It belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.set_server_trusted(request.caller, name, trusted)


@TOOLS.verb("admin", idempotent=True)
async def set_server_sql(
    request: Request,
    name: ServerName,
    sql: Annotated[dict[str, Any] | None, Doc("Dialect, and the arguments that are SQL; null: none is")],
) -> ServerInfo:
    """Set which arguments of a server's tools are SQL that the guard reads before each call.

    Raises:
        InvalidInput: The dialect or an argument is not valid.
        NotFound: There is no such server.
        NotAllowed: It belongs to the tenant, and the caller is one of its users.
    """
    return await implementation("servers").set_server_sql(request, name, sql)


@TOOLS.verb("admin", idempotent=True)
async def refresh(
    request: Request,
    servers: Annotated[list[str] | None, Doc("These servers; all by default")] = None,
    tool: Annotated[str | None, Doc("One tool, by the name that clients call it by")] = None,
    reconnect: Annotated[bool, Doc("End the sessions with the named servers first")] = False,
) -> Refreshed:
    """List servers again, and index what changed; answers when that is done.

    Raises:
        InvalidInput: Both servers and a tool are given, or no server to reconnect to.
        NotFound: There is no such server or tool.
        NotAllowed: A server to reconnect to belongs to the tenant, and the caller is one of its users.
    """
    return await implementation("servers").refresh(request, servers, tool, reconnect=reconnect)


@TOOLS.verb("admin")
async def login_server(
    request: Request,
    name: ServerName,
    scopes: Annotated[list[str], Doc("Permissions to request")] = _NONE,
    tenant: Tenant = None,
    user: SignedInUser = None,
) -> dict[str, Any]:
    """Sign in at a server that requires it; reports the address to open, and lists the server afterwards.

    Raises:
        NotFound: There is no such server.
        NotAllowed: The sign-in is another user's, or one for all users.
        InvalidInput: The server accepts no sign-in, or nobody would see the address.
        UpstreamError: The server or its authorization server cannot be reached, or refuses.
    """
    return await implementation("servers").login_server(request, name, scopes, tenant, user)


@TOOLS.verb("admin")
async def finish_login(
    request: Request, address: Annotated[str, Doc("That of the last page of a browser on another machine")]
) -> None:
    """End a sign-in that is under way.

    Raises:
        InvalidInput: The address belongs to none.
    """
    implementation("servers").finish_login(request, address)


@TOOLS.verb("admin", destroys=True)
async def logout_server(
    request: Request, name: ServerName, tenant: Tenant = None, user: SignedInUser = None
) -> dict[str, Any]:
    """Delete the sign-in at a server, and end it there if the server allows it.

    Raises:
        NotFound: There is no such server, or nobody is signed in.
        NotAllowed: The sign-in is another user's, or one for all users.
        InvalidInput: The server is a local program.
    """
    return await implementation("servers").logout_server(request, name, tenant, user)


@TOOLS.verb("read")
async def stats(
    request: Request, days: Annotated[float, Doc("Over how many days")] = 30.0, tenant: Tenant = None
) -> Statistics:
    """The figures of the last days: times, failures, and whether the choice of tools was right.

    Raises:
        InvalidInput: The number of days is out of bounds.
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
    """
    return await request.services.tools.stats(await request.caller_in(tenant), days)


@TOOLS.verb("admin", destroys=True)
async def purge(
    request: Request,
    older_than: Annotated[float | None, Doc("Age in days; that of THRESHER_LOG_DAYS by default")] = None,
    tenant: Tenant = None,
) -> Purged:
    """Remove old rows of the logs, words of tools long gone, and embeddings that no index has used for long.

    Raises:
        InvalidInput: The age is out of bounds.
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
    """
    caller, services = await request.caller_in(tenant), request.services
    purged = await services.tools.purge(caller, older_than)
    kinds = (services.intents, services.apis, services.results, services.insight, services.cases)
    others = [await kind.purge(caller, older_than) for kind in kinds]
    return replace(purged, rows=purged.rows + sum(others))


@TOOLS.verb("read")
async def held_tools(
    request: Request, server: Annotated[str | None, Doc("Only tools of this server")] = None
) -> tuple[HeldTool, ...]:
    """The tools that wait for approval, with what changed and the scanner's findings.

    Raises:
        NotFound: There is no such server.
    """
    return await request.services.tools.held_tools(request.caller, server)


@TOOLS.verb("admin")
async def approve_tools(request: Request, definitions: Definitions) -> tuple[str, ...]:
    """Use definitions that were shown.

    Raises:
        NotFound: No such tool waits.
        Conflict: Another definition waits by now.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.approve_tools(request.caller, definitions)


@TOOLS.verb("admin")
async def reject_tools(request: Request, definitions: Definitions) -> tuple[str, ...]:
    """Do not use definitions that were shown.

    Raises:
        NotFound: No such tool waits.
        Conflict: Another definition waits by now.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.reject_tools(request.caller, definitions)


@TOOLS.verb("read")
async def list_consents(request: Request) -> tuple[Consent, ...]:
    """The tools of untrusted servers that are called without asking, since you agreed to it in a chat; oldest first."""
    return await request.services.tools.consents.list(request.caller)


@TOOLS.verb("write", key="forgotten", destroys=True)
async def forget_consent(request: Request, tool: ToolName) -> str:
    """Ask again before a tool is called.

    Raises:
        NotFound: No tool has this name, or you have not agreed to its calls.
    """
    await request.services.tools.consents.forget(request.caller, tool)
    return tool
