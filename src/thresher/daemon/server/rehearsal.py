"""Dry runs: a verb that writes is run on services whose changes do not last, and what it would change is compared.

Invariant: every verb is either looked at (it changes nothing), rehearsed (it writes), or not rehearsable; tests hold
that no verb is missing here. A rehearsal leaves the database, the data folder, workspaces and servers as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from thresher.app import App, rehearsed
from thresher.core import InvalidInput, NotFound, StoreUnavailable, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.knowledge.solutions import Planned
from thresher.verbs import KINDS

SECONDS: Final = 120.0
"""The longest that a rehearsal may take: it holds a connection, and the rows that it writes are locked."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which verb shows what a verb that writes changes.

    A list that is shown in pages does not serve: what changes may be on any of them.

    Attributes:
        what: A row, in words.
        verb: Returns the rows; empty: the writing verb returns the row that it adds.
        arguments: Arguments of the writing verb that `verb` takes too.
        without: Fields of a row that are not compared.
    """

    what: str
    verb: str = ""
    arguments: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()


_SERVERS, _TOOLS = Shown("server", "list_servers"), Shown("tool", "list_tools")
_HELD = Shown("tool that waits for approval", "held_tools")
_KEYS = Shown("key", "list_keys", ("tenant",))
_CONNECTIONS, _APIS = Shown("connection", "sql_connection_list"), Shown("API", "list_api_providers")
_REPOSITORIES, _WORKSPACES = Shown("repository", "list_repositories"), Shown("workspace", "list_workspaces")
_MODELS, _PROMPTS = Shown("model", "list_models"), Shown("prompt", "show_prompt", ("name",))
_THREAD = Shown("conversation", "show_thread", ("thread",), frozenset({"messages", "approvals", "states"}))
_PACKS = Shown("pack", "list_packs", without=frozenset({"project", "reading"}))

WRITES: Final[Mapping[str, Shown | None]] = {
    **dict.fromkeys(("add_server", "import_servers", "remove_server", "set_server_enabled"), _SERVERS),
    **dict.fromkeys(("set_server_auto_approve", "set_server_trusted", "set_server_sql", "refresh"), _SERVERS),
    **dict.fromkeys(("login_server", "logout_server"), _SERVERS),
    "set_tool": _TOOLS,
    **dict.fromkeys(("approve_tools", "reject_tools"), _HELD),
    **dict.fromkeys(("add_tool_words", "remove_tool_words"), Shown("words of", "list_tool_words")),
    "remove_tool_questions": Shown("questions of", "list_tool_questions"),
    **dict.fromkeys(("apply_tool_rewrite", "remove_tool_rewrite"), Shown("rewrite of", "list_tool_rewrites")),
    **dict.fromkeys(
        ("set_tool_category", "rename_tool_category", "remove_tool_category"),
        Shown("category", "list_tool_categories"),
    ),
    "derive_tool_categories": None,
    "unlearn_tools": Shown("tool", "learned_tools", ("tenant",)),
    "set_learning": Shown("learning", "learned_tools", ("tenant",), frozenset({"tools", "decided_at"})),
    "remove_training": Shown("training", "show_training", ("tenant",)),
    "forget_consent": Shown("consent", "list_consents"),
    **dict.fromkeys(("add_key", "revoke_key"), _KEYS),
    "cancel_job": Shown("job", "show_job", ("job",)),
    **dict.fromkeys(("add_connection", "remove_connection", "refresh_schema"), _CONNECTIONS),
    **dict.fromkeys(("add_api", "sync_api", "schedule_api", "set_api_active", "remove_api"), _APIS),
    **dict.fromkeys(("allow_api_host", "disallow_api_host"), Shown("host", "list_api_hosts", ("provider",))),
    **dict.fromkeys(
        ("set_api_credential", "remove_api_credential"), Shown("credential of", "list_api_credentials", ("provider",))
    ),
    "call_api_endpoint": None,
    **dict.fromkeys(("index_documents", "refresh_repository", "remove_repository", "remove_upload"), _REPOSITORIES),
    "upload_document": _REPOSITORIES,
    "schedule_repository": Shown("repository", "show_repository", ("repository",)),
    "set_guide": Shown("repository", "show_repository", ("repository",)),
    **dict.fromkeys(("add_workspace", "remove_workspace"), _WORKSPACES),
    "set_solution_context": Shown("context", "get_solution_context"),
    **dict.fromkeys(("add_model", "switch_model", "remove_model"), _MODELS),
    "set_settings": Shown("settings", "show_settings", ("thread",)),
    "set_approval_floor": Shown("floor", "approval_floor", ("tenant",)),
    **dict.fromkeys(("set_prompt", "reset_prompt"), _PROMPTS),
    **dict.fromkeys(("rename_thread", "delete_thread"), _THREAD),
    "fork_thread": Shown("conversation"),
    **dict.fromkeys(("trust_pack", "untrust_pack"), _PACKS),
    "set_threshold": Shown("intent", "list_intents"),
    **dict.fromkeys(("add_case", "import_cases", "remove_case"), Shown("case", "list_cases")),
    "refresh_components": None,
    **dict.fromkeys(("purge", "prune_audit", "restart_audit", "train_tools", "make_webhook", "remove_webhook")),
    **dict.fromkeys(("open_relation", "update_relation", "rename_relation", "delete_relations")),
    **dict.fromkeys(("open_value_list", "update_value_list", "rename_value_list", "delete_value_lists")),
    "undo_solution_change": None,
}
"""Verbs that write, each with the verb that shows what it changes; None: its own answer says so."""

OTHERS: Final = frozenset(
    {
        *("ask", "chat", "finish_login", "create_thread", "change_thread", "save_pack_edit"),
        *(
            "evaluate_tools",
            "evaluate_apis",
            "evaluate_chat",
            "evaluate_context",
            "evaluate_documents",
            "evaluate_intents",
        ),
        *("evaluate_relations", "evaluate_results", "evaluate_sql", "improve_tools"),
    }
)
"""Conversations and measurements, whose effect only shows when they are run, and what no command does."""

LOOKS: Final = (
    frozenset(
        {
            *(verb.name for kind in KINDS for verb in kind if verb.access in ("read", "call")),
            *("status", "measure_encoder", "list_keys", "follow_job", "approval_floor"),
        }
    )
    - OTHERS
    - WRITES.keys()
)
"""Verbs that change nothing that a person keeps; what they log of themselves aside."""

_PASSING: Final = frozenset({"id", "job", "hint", "token", "digest"})
"""Fields that are drawn at random, or number what will not be there."""
_NAMES: Final = ("scheme", "host", "name", "id", "path", "tool")


async def rehearse(
    app: App, build: Callable[[App], Mapping[str, Verb]], verb: str, arguments: Mapping[str, Any], tell: Progress
) -> dict[str, Any]:
    """Run a verb so that nothing of it lasts.

    Args:
        app: The running product.
        build: Makes the verbs of a product.
        verb: The verb's name.
        arguments: Its arguments.
        tell: Takes its events.

    Returns:
        `result`, as the verb would have answered; where the verb writes also `plan`: `changes`, rows `{what, name,
        change, before, after}`; `result`, where that alone says what would change; `left_out`, what would not be done
        and why; and `checked`, in words.

    Raises:
        ThresherError: The verb would fail.
    """
    if verb in LOOKS:
        return {"result": await build(app)[verb](arguments, tell)}
    if verb not in WRITES:
        raise InvalidInput(f"There is no dry run of '{verb}'.", hint="Run it without --dry-run.")
    checked: list[str] = []

    def follow(event: Mapping[str, Any]) -> None:
        if said := event.get("checked"):
            checked.append(str(said))
        else:
            tell(event)

    try:
        async with asyncio.timeout(SECONDS), rehearsed(app) as trial:
            verbs, shown = build(trial), WRITES[verb]
            before = await _rows(verbs, shown, arguments)
            try:
                result = _lasting(await verbs[verb](arguments, follow))
            except Planned as planned:
                result = {"change": plain(planned.change)}
            after = await _rows(verbs, shown, arguments, result)
    except TimeoutError:
        raise StoreUnavailable(f"The dry run took longer than {SECONDS:.0f} seconds.", hint="Try again.") from None
    plan: dict[str, Any] = {"verb": verb, "checked": checked, "left_out": _left_out(result)}
    plan |= {"result": result, "changes": []} if shown is None else {"changes": _differences(shown, before, after)}
    return {"result": result, "plan": plan}


def _lasting(value: Any) -> Any:
    """An answer without the jobs that will not be there."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return {name: None if name == "job" else _lasting(item) for name, item in fields.items()}
    return [_lasting(item) for item in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value


def _left_out(result: Any) -> list[str]:
    """What a verb would not do though it was asked to, with the reasons."""
    if not isinstance(result, Mapping):
        return []
    fields = cast("Mapping[str, Any]", result)
    failures = cast("Mapping[str, str]", fields.get("failures") or {})
    problems = [problem for problem in fields.get("problems") or () if isinstance(problem, str)]
    return [*problems, *(f"{name}: {reason}" for name, reason in failures.items())]


async def _rows(
    verbs: Mapping[str, Verb], shown: Shown | None, arguments: Mapping[str, Any], result: Any = None
) -> dict[str, Any]:
    """What a verb shows, by name; with the result of the verb that writes, once it has run."""
    if shown is None:
        return {}
    if not shown.verb:
        return {} if result is None else {"": result}
    given = {name: arguments[name] for name in shown.arguments if arguments.get(name) is not None}
    try:
        return _named(await verbs[shown.verb](given, lambda _event: None), shown.without)
    except NotFound:
        return {}


def _named(value: Any, without: frozenset[str]) -> dict[str, Any]:
    """The rows of an answer: of a list, of a record with a name, or of a record with lists and what is beside them."""
    if isinstance(value, list | tuple):
        return {_name(row): row for row in cast("Sequence[Mapping[str, Any]]", value)}
    fields = {name: field for name, field in cast("Mapping[str, Any]", value).items() if name not in without}
    if name := _name(fields):
        return {name: fields}
    beside = {name: field for name, field in fields.items() if not _is_listing(field)}
    rows = {"": beside} if beside else {}
    for listing in (field for field in fields.values() if _is_listing(field)):
        rows |= _named(listing, without)
    return rows


def _is_listing(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(row, Mapping) for row in cast("Sequence[Any]", value))


def _name(row: Mapping[str, Any]) -> str:
    return str(next((row[name] for name in _NAMES if row.get(name)), ""))


def _differences(shown: Shown, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is added, removed or changed; of a change those fields alone that differ."""
    changes: list[dict[str, Any]] = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = _fields(before.get(name)), _fields(after.get(name))
        if name in before and name in after:
            differ = [field for field in {**old, **new} if _is_other(field, old.get(field), new.get(field))]
            old, new = ({field: row.get(field) for field in differ} for row in (old, new))
        if old != new or (name in before) != (name in after):
            change = "added" if name not in before else "removed" if name not in after else "changed"
            changes.append({"what": shown.what, "name": name, "change": change, "before": old, "after": new})
    return changes


def _is_other(field: str, old: Any, new: Any) -> bool:
    """Whether a field differs by more than the moment at which something was done again."""
    return _timeless(field, old) != _timeless(field, new)


def _timeless(field: str, value: Any) -> Any:
    """A value without the moments in it, and without what is drawn at random: only whether each is there."""
    if field in _PASSING:
        return None
    if field.endswith("_at"):
        return bool(value)
    if isinstance(value, Mapping):
        return {name: _timeless(name, item) for name, item in cast("Mapping[str, Any]", value).items()}
    return [_timeless("", item) for item in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value


def _fields(row: Mapping[str, Any] | None, prefix: str = "") -> dict[str, Any]:
    """The fields of a row, those of records inside it too."""
    flat: dict[str, Any] = {}
    for name, value in (row or {}).items():
        if isinstance(value, Mapping):
            flat |= _fields(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        elif name not in _PASSING:
            flat[prefix + name] = value
    return flat
