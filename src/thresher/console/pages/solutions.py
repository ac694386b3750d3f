"""Solutions: workspaces, the active solution, relations and value lists, and every change before it is written.

Invariant: nothing is written whose difference was not shown: what is written is what was shown, or it is shown again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.responses import Response

from thresher.api import status_of
from thresher.console.declaration import Pages
from thresher.console.forms import Field, arguments, check_confirmed, fields
from thresher.console.rendering import link, page_of
from thresher.console.visit import Visit
from thresher.core import Conflict, InvalidInput, NotAllowed, NotFound, ThresherError, Unconfirmed, plain
from thresher.knowledge.solutions import Change, Planned
from thresher.verbs import SOLUTIONS, Verb, checked

PAGES = Pages()
_BASE = "/knowledge/solutions"
_SCOPES: Final = ("current", "modules", "all")
_PAGE: Final = 200
_MOST_PAGES: Final = 50
_NOT_PROPERTIES: Final = frozenset({"name", "solution", "confirm", "force"})
_ID: Final = re.compile(r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_BELOW: Final = frozenset({"deprecated", "comment", "initial_sort", "sort", "separator", "fallback", "solution"})
"""Short texts that stand beside each other below the others."""
_COLUMN_PAIR: Final = frozenset({"primary_column", "foreign_column"})
"""In short for `items`, which the form of an existing relation has."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What differs between relations and value lists.

    Attributes:
        path: In addresses.
        word: One of them, in words.
        noun: In the names of verbs.
    """

    path: str
    word: str
    noun: str

    def verb(self, action: str) -> Verb:
        """The verb of an action: `open`, `update`, `rename`, `delete` or `list`."""
        plural = "s" if action in ("delete", "list") else ""
        return SOLUTIONS[f"{action}_{self.noun}{plural}"]


_KINDS: Final = {
    one.path: one
    for one in (Kind("relations", "relation", "relation"), Kind("value-lists", "value list", "value_list"))
}
_CHANGES: Final = frozenset(
    {*(kind.verb(action).name for kind in _KINDS.values() for action in ("open", "update", "rename", "delete"))}
    | {"undo_solution_change"}
)


@PAGES.get(_BASE)
async def list_workspaces(visit: Visit) -> Response:
    """All workspaces, where the caller works, and a form that adds one."""
    workspaces = await visit.run(SOLUTIONS["list_workspaces"])
    context = await visit.run(SOLUTIONS["get_solution_context"])
    return visit.page("solutions.html", workspaces=workspaces, context=context)


@PAGES.post(_BASE)
async def add_workspace(visit: Visit) -> Response:
    """Make a folder of solutions known."""
    verb = SOLUTIONS["add_workspace"]
    added = await visit.run_checked(verb, arguments(verb, await visit.form()))
    return visit.go(page_of(f"{_BASE}/workspace", added.name), f"'{added.name}' is known; nothing in it was changed.")


@PAGES.post(f"{_BASE}/active")
async def choose(visit: Visit) -> Response:
    """Choose where new relations and value lists go."""
    verb, form = SOLUTIONS["set_solution_context"], await visit.form()
    context = await visit.run_checked(verb, arguments(verb, form))
    return visit.go(_BASE, f"'{context.active}' is the active solution.")


@PAGES.get(f"{_BASE}/workspace/{{name}}")
async def show_workspace(visit: Visit) -> Response:
    """One workspace: its solutions and modules, what cannot be read, and changes that can be taken back."""
    name = visit.sent.path_params["name"]
    workspace = await visit.run(SOLUTIONS["show_workspace"], workspace=name)
    changes = await visit.run(SOLUTIONS["list_solution_changes"], workspace=name) if workspace.readable else ()
    context = await visit.run(SOLUTIONS["get_solution_context"])
    return visit.page("solution_workspace.html", workspace=workspace, changes=changes, context=context)


@PAGES.post(f"{_BASE}/workspace/{{name}}/remove")
async def remove_workspace(visit: Visit) -> Response:
    """Forget a workspace once its name was written."""
    name = visit.sent.path_params["name"]
    check_confirmed(await visit.form(), name)
    await visit.run(SOLUTIONS["remove_workspace"], workspace=name)
    return visit.go(_BASE, f"'{name}' is forgotten; its files are as they were.")


@PAGES.post(f"{_BASE}/change/{{verb}}")
async def change(visit: Visit) -> Response:
    """Show what a change would write; write it once exactly that was shown."""
    name = visit.sent.path_params["verb"]
    form = {one: text.replace("\r\n", "\n") for one, text in (await visit.form()).items()}
    if name not in _CHANGES:
        raise NotFound(f"There is no change '{name}'.", hint="Use the buttons of the pages.")
    verb = SOLUTIONS[name]
    try:
        given = await _given(visit, verb, form)
        planned = await _planned(visit, verb, given)
    except Conflict as error:
        may_insist = "force" in verb.parameters and "force: true" in error.hint and form.get("force") != "yes"
        consent = "confirm" if isinstance(error, Unconfirmed) else "force" if may_insist else ""
        return _asked(visit, verb, form, error, consent)
    except ThresherError as error:
        return await _refused(visit, verb, form, error)
    if planned is None or not planned.files:
        return visit.go(_place(verb, form), "Nothing would change: the files have it already.")
    shown = _digest(verb, planned)
    if form.get("shown") != shown:
        return visit.page(
            "solution_change.html",
            verb=verb,
            sent=_kept(form),
            planned=planned,
            shown=shown,
            differs=bool(form.get("shown")),
            error=None,
            consent="",
            back=_place(verb, form),
        )
    answer = await visit.run_checked(verb, given)
    done = answer if isinstance(answer, Change) else answer.change
    files = f"{len(done.files)} file{'' if len(done.files) == 1 else 's'}"
    return visit.go(_after(verb, form, answer), f"Written: {files}. The list of changes takes it back.")


def _digest(verb: Verb, planned: Change) -> str:
    """What a difference is known by; ids of what is made are drawn at random each time."""
    diff = _ID.sub("", planned.diff) if verb.name.startswith("open_") else planned.diff
    return hashlib.sha256(diff.encode()).hexdigest()


def _asked(visit: Visit, verb: Verb, form: Mapping[str, str], error: ThresherError, consent: str) -> Response:
    """The page of a change that somebody must agree to, or that cannot be made."""
    return visit.page(
        "solution_change.html",
        200 if consent else status_of(error),
        verb=verb,
        sent=_kept(form),
        planned=None,
        shown="",
        differs=False,
        error=error,
        consent=consent,
        back=_place(verb, form),
    )


def _kept(form: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in form.items() if name not in ("csrf", "shown")}


async def _planned(visit: Visit, verb: Verb, given: Mapping[str, Any]) -> Change | None:
    """What a verb would write; None if it would write nothing."""
    if not visit.may(verb):
        raise NotAllowed("Only the owner may do this here.", hint="Ask whoever runs this Thresher.")
    services = replace(visit.services, solutions=visit.services.solutions.rehearsal())
    try:
        await verb.run(replace(visit.request, services=services, is_rehearsal=True), checked(verb, given))
    except Planned as planned:
        return planned.change
    return None


async def _given(visit: Visit, verb: Verb, form: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a form; of a form that changes something those alone that differ from what is there."""
    given = arguments(verb, form)
    if "custom_values" in given:
        given["custom_values"] = [_custom_value(line) for line in given["custom_values"]]
    kind = _kind_of(verb)
    if kind is None or not verb.name.startswith("update_"):
        return given
    shown = await _shown(visit, kind, form.get("name", ""), form.get("solution", ""))
    was = properties(kind, plain(shown))
    kept = {
        name: value
        for name, value in given.items()
        if name in _NOT_PROPERTIES or form[name].strip() != was.get(name, "").strip()
    }
    texts = (one for one in fields(verb) if one.kind in ("text", "long") and one.name not in _NOT_PROPERTIES)
    cleared = {one.name: "" for one in texts if was.get(one.name) and one.name in form and not form[one.name].strip()}
    if not (kept.keys() | cleared.keys()) - _NOT_PROPERTIES:
        raise InvalidInput("Nothing was changed in the form.", hint="Change a property first.")
    return kept | cleared


def _custom_value(line: str) -> Any:
    """A line of the form: `shown|stored`, or an object where a text has such a stroke."""
    try:
        return json.loads(line) if line.startswith("{") else line
    except (ValueError, RecursionError):
        return line


def _kind_of(verb: Verb) -> Kind | None:
    return next((kind for kind in _KINDS.values() if kind.noun in verb.name), None)


def _place(verb: Verb, form: Mapping[str, str]) -> str:
    """The page that a form was on."""
    kind = _kind_of(verb)
    if kind is None:
        return page_of(f"{_BASE}/workspace", form["workspace"]) if form.get("workspace") else _BASE
    name = form.get("name") or form.get("names", "")
    if not name or verb.name.startswith("open_"):
        return f"{_BASE}/{kind.path}/new" if verb.name.startswith("open_") else f"{_BASE}/{kind.path}"
    return link(page_of(f"{_BASE}/{kind.path}", name), solution=form.get("solution"))


def _after(verb: Verb, form: Mapping[str, str], answer: Any) -> str:
    """The page to show after a change."""
    kind = _kind_of(verb)
    if kind is None:
        return _place(verb, form)
    record = getattr(answer, kind.noun, None)
    if record is None:
        return f"{_BASE}/{kind.path}"
    return link(page_of(f"{_BASE}/{kind.path}", record.name), solution=answer.project)


async def _refused(visit: Visit, verb: Verb, form: Mapping[str, str], error: ThresherError) -> Response:
    """The form again, with what is wrong; the page of the error where there is no form of properties."""
    kind = _kind_of(verb)
    if kind is None or not verb.name.startswith(("open_", "update_")) or isinstance(error, NotFound):
        raise error
    shown = None
    if verb.name.startswith("update_"):
        shown = await _shown(visit, kind, form.get("name", ""), form.get("solution", ""))
    return await _form(visit, kind, verb, shown, form, error)


@PAGES.get(f"{_BASE}/{{kind}}")
async def list_objects(visit: Visit) -> Response:
    """The relations or the value lists of a scope, filtered by words."""
    kind = _named_kind(visit)
    scope, words = visit.query("scope", "modules"), visit.query("q").strip()
    scope = scope if scope in _SCOPES else "modules"
    context = await visit.run(SOLUTIONS["get_solution_context"])
    listing, found, problem = None, list[Any](), None
    cursor = visit.query("cursor")
    try:
        for _ in range(_MOST_PAGES if words else 1):
            given = {"scope": scope, "limit": _PAGE, "cursor": cursor}
            listing = await visit.run_checked(kind.verb("list"), given)
            found += [one for one in listing.objects if _has(one, words)]
            cursor = listing.cursor
            if not cursor:
                break
    except (InvalidInput, NotFound) as error:
        if cursor:
            raise
        problem = error
    return visit.page(
        "solution_objects.html",
        kind=kind,
        context=context,
        scope=scope,
        words=words,
        listing=listing,
        found=found,
        problem=problem,
        cursor=cursor,
    )


def _has(one: Any, words: str) -> bool:
    text = f"{one.name} {one.project} {one.summary}".casefold()
    return all(word in text for word in words.casefold().split())


@PAGES.get(f"{_BASE}/{{kind}}/new")
async def new_object(visit: Visit) -> Response:
    """A form that makes one."""
    kind = _named_kind(visit)
    verb = kind.verb("open")
    return await _form(visit, kind, verb, None, {one.name: visit.query(one.name) for one in fields(verb)}, None)


@PAGES.get(f"{_BASE}/{{kind}}/{{name:path}}")
async def show_object(visit: Visit) -> Response:
    """One relation or value list, with its properties as a form."""
    kind, name = _named_kind(visit), visit.sent.path_params["name"]
    shown = await _shown(visit, kind, name, visit.query("solution"))
    given = {"name": name, "solution": shown.project, **properties(kind, plain(shown))}
    return await _form(visit, kind, kind.verb("update"), shown, given, None)


async def _shown(visit: Visit, kind: Kind, name: str, solution: str) -> Any:
    """One object as it is; looked at as in a dry run, so that nothing is made."""
    verb = kind.verb("open")
    services = replace(visit.services, solutions=visit.services.solutions.rehearsal())
    try:
        given = checked(verb, {"name": name, "solution": solution})
        return await verb.run(replace(visit.request, services=services, is_rehearsal=True), given)
    except (Planned, Unconfirmed, InvalidInput) as error:
        if isinstance(error, InvalidInput) and "several" in error.message.casefold():
            raise
        raise NotFound(f"There is no {kind.word} '{name}' here.", hint="See the list.") from None


async def _form(
    visit: Visit, kind: Kind, verb: Verb, shown: Any, given: Mapping[str, str], error: ThresherError | None
) -> Response:
    left_out = {"confirm", "force", *(() if shown is None else ("name", "solution", *_COLUMN_PAIR))}
    listed = [_filled(one) for one in fields(verb) if one.name not in left_out]
    return visit.page(
        "solution_object.html",
        200 if error is None else status_of(error),
        kind=kind,
        verb=verb,
        shown=shown,
        fields=listed,
        below=_BELOW,
        given=given,
        error=error,
        context=await visit.run(SOLUTIONS["get_solution_context"]),
    )


def _filled(one: Field) -> Field:
    """A field whose description says how it is written here."""
    if one.name != "items":
        return one
    shape = '[{"primary": "customer_id", "foreign": "customer_id", "operator": "="}]'
    return replace(one, description=f"{one.description}. Such as {shape}")


def _named_kind(visit: Visit) -> Kind:
    if (kind := _KINDS.get(visit.sent.path_params["kind"])) is None:
        raise NotFound("There is no such page.", hint="See relations and value lists.")
    return kind


def properties(kind: Kind, answer: Mapping[str, Any]) -> dict[str, str]:
    """The properties of an object as the texts that fill in its form.

    Args:
        kind: Relation or value list.
        answer: The answer of a verb that shows it, as data.
    """
    record = answer[kind.noun]
    values: dict[str, Any] = dict(record)
    if kind.noun == "value_list":
        columns: Sequence[str] = record["columns"]
        values |= {
            "custom_values": [_line(one) for one in record["custom_values"]],
            "display_column": [columns[place] for place in record["display"]],
            "return_column": [columns[place] for place in record["returns"]],
            "global_method": answer["method_name"] or record["method"],
            "fallback": answer["fallback_name"] or record["fallback"],
        }
    known = {one.name: one for one in fields(kind.verb("update"))}
    return {name: _text(known[name], value) for name, value in values.items() if name in known}


def _line(value: Mapping[str, Any]) -> str:
    display, real = value["display"], value["real"]
    if "|" in display or "\n" in f"{display}{real}" or display.startswith("{") or display != display.strip():
        return json.dumps(value if real is not None else {"display": display}, ensure_ascii=False)
    return display if real is None else f"{display}|{real}"


def _text(one: Field, value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    if one.kind == "switch":
        return "yes" if value else "no"
    if one.kind == "list":
        return "\n".join(str(item) for item in value)
    if one.kind == "json":
        return "[" + ",\n ".join(json.dumps(_pair(item), ensure_ascii=False) for item in value) + "]"
    return str(value)


def _pair(item: Mapping[str, Any]) -> dict[str, Any]:
    """A pair of columns as people write it, without its id, which stays."""
    return {name: value for name, value in item.items() if value not in (False, None) and name != "uuid"}
