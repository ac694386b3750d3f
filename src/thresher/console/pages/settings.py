"""Settings: who may what. Keys, models, what holds in conversations, prompts, jobs, and what the owner looks after.

Signing in with a key, signing out, and the colours that a browser chose are here, too. An identity provider becomes
another way to open a session, beside `sign_in`.

Invariant: a key's text is in one answer alone, and never comes back to a browser that signs in with it: its session is
what the cookie holds. What removes something asks for its name first.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from thresher.agent import ChatSettings
from thresher.api import SESSION
from thresher.console.declaration import Pages
from thresher.console.forms import Field, arguments, check_confirmed, schema_fields, values, whole
from thresher.console.rendering import page_of, render
from thresher.console.streams import live
from thresher.console.visit import THEME, THEMES, Visit, safe_return
from thresher.core import AccessDenied, InvalidInput, NotAllowed, NotFound, ThresherError
from thresher.store import LONGEST_SESSION
from thresher.verbs import AUDIT, COMPONENTS, JOBS, KEYS, PROMPTS, SETTINGS, TOOLS

PAGES = Pages()
_BASE: Final = "/settings"
_JOBS_SHOWN: Final = 50
_FIELDS: Final = {
    "Model": ("model", "temperature", "max_tokens", "history_tokens"),
    "What it may use": ("documents", "sql", "packs", "servers", "connection"),
    "How much of it": ("grading", "top_k", "document_tokens", "tools", "result_tokens"),
    "Approval and limits": ("approval", "recursion", "model_seconds", "first_seconds", "tool_seconds"),
}


@PAGES.get(_BASE)
async def show_access(visit: Visit) -> Response:
    """Who the caller is, and who else may ask."""
    return await _access(visit)


async def _access(visit: Visit, made: tuple[str, Any] | None = None, error: ThresherError | None = None) -> Response:
    keys = await visit.run(KEYS["list_keys"]) if visit.is_owner else ()
    return visit.page(
        "settings.html",
        200 if error is None else 422,
        keys=sorted(keys, key=lambda one: one.revoked_at is not None),
        made=made,
        error=error,
        consents=await visit.run(TOOLS["list_consents"]),
        floor=await visit.run(SETTINGS["approval_floor"]),
        settings=await visit.run(SETTINGS["show_settings"]),
        runs=visit.services.settings,
    )


@PAGES.post(f"{_BASE}/keys")
async def add_key(visit: Visit) -> Response:
    """Make a key, and show its text this once."""
    verb = KEYS["add_key"]
    try:
        made = await visit.run_checked(verb, arguments(verb, await visit.form()))
    except NotAllowed:
        raise
    except ThresherError as error:
        return await _access(visit, error=error)
    return await _access(visit, made)


@PAGES.post(f"{_BASE}/keys/{{name}}/revoke")
async def revoke_key(visit: Visit) -> Response:
    """Refuse a key from now on."""
    name = visit.sent.path_params["name"]
    check_confirmed(await visit.form(), name)
    await visit.run(KEYS["revoke_key"], name=name)
    return visit.go(_BASE, f"The key '{name}' is refused from now on, and what was open with it is closed.")


@PAGES.post(f"{_BASE}/consents/forget")
async def forget_consent(visit: Visit) -> Response:
    """Ask again before a tool is called."""
    tool = (await visit.form()).get("tool", "")
    await visit.run_checked(TOOLS["forget_consent"], {"tool": tool})
    return visit.go(f"{_BASE}#consents", f"You are asked again before '{tool}' is called.")


@PAGES.post(f"{_BASE}/floor")
async def set_floor(visit: Visit) -> Response:
    """Set the least approval for all callers of the tenant."""
    floor = (await visit.form()).get("floor", "")
    await visit.run_checked(SETTINGS["set_approval_floor"], {"floor": floor})
    return visit.go(f"{_BASE}#policies", "The policy is set, from the next message on.")


@PAGES.get(f"{_BASE}/models")
async def show_models(visit: Visit) -> Response:
    """The chat models."""
    return await _models(visit)


async def _models(visit: Visit, *, check: Any = None, form: Any = None, error: ThresherError | None = None) -> Response:
    return visit.page(
        "settings_models.html",
        200 if error is None else 422,
        models=await visit.run(SETTINGS["list_models"]),
        check=check,
        form=form or {},
        error=error,
    )


@PAGES.post(f"{_BASE}/models")
async def add_model(visit: Visit) -> Response:
    """Register a chat model."""
    verb, form = SETTINGS["add_model"], await visit.form()
    try:
        model = await visit.run_checked(verb, arguments(verb, form))
    except ThresherError as error:
        return await _models(visit, form=form, error=error)
    return visit.go(f"{_BASE}/models", f"'{model.name}' is registered; check whether it answers.")


@PAGES.post(f"{_BASE}/models/{{name}}/{{change}}")
async def change_model(visit: Visit) -> Response:
    """Check, switch or forget a model."""
    name, change, form = visit.sent.path_params["name"], visit.sent.path_params["change"], await visit.form()
    match change:
        case "check":
            return await _models(visit, check=await visit.run(SETTINGS["check_model"], name=name))
        case "switch":
            is_on = form.get("enabled") == "yes"
            await visit.run(SETTINGS["switch_model"], name=name, enabled=is_on)
            said = f"Conversations may{'' if is_on else ' not'} use '{name}'."
        case "remove":
            check_confirmed(form, name)
            await visit.run(SETTINGS["remove_model"], name=name)
            said = f"'{name}' and its key are forgotten."
        case _:
            raise InvalidInput(f"A model has no '{change}'.", hint="Use the buttons of its page.")
    return visit.go(f"{_BASE}/models", said)


def _chat_fields() -> dict[str, Field]:
    fields = schema_fields(ChatSettings.model_json_schema())
    return {one.of: one for one in fields}


@PAGES.get(f"{_BASE}/conversations")
async def show_conversations(visit: Visit) -> Response:
    """What holds in the caller's conversations, and where each value comes from."""
    return await _conversations(visit)


async def _conversations(visit: Visit, form: Any = None, error: ThresherError | None = None) -> Response:
    view, fields = await visit.run(SETTINGS["show_settings"]), _chat_fields()
    chosen = {name for name, source in view.sources.items() if source == "owner"}
    shown = {True: "yes", False: "no"}
    given = {name: getattr(view.settings, name) for name in chosen}
    return visit.page(
        "settings_conversations.html",
        200 if error is None else 422,
        groups={title: [fields[name] for name in names] for title, names in _FIELDS.items()},
        given=form or {fields[name].name: shown.get(value, value) for name, value in given.items()},
        sources=view.sources,
        approval=view.settings.approval,
        error=error,
    )


@PAGES.post(f"{_BASE}/conversations")
async def set_conversations(visit: Visit) -> Response:
    """Choose for the caller's conversations; an empty field takes a choice back."""
    form, fields = await visit.form(), _chat_fields()
    try:
        given = values(list(fields.values()), form)
        view = await visit.run(SETTINGS["show_settings"])
        back = {name: None for name, source in view.sources.items() if source == "owner" and name not in given}
        await visit.run_checked(SETTINGS["set_settings"], {"changes": back | given})
    except ThresherError as error:
        return await _conversations(visit, form, error)
    return visit.go(f"{_BASE}/conversations", "The choices hold from the next message on.")


@PAGES.get(f"{_BASE}/prompts")
async def list_prompts(visit: Visit) -> Response:
    """The prompts of conversations."""
    return visit.page("settings_prompts.html", prompts=await visit.run(PROMPTS["list_prompts"]))


@PAGES.get(f"{_BASE}/prompts/{{name}}")
async def show_prompt(visit: Visit) -> Response:
    """One prompt: its text to edit, its versions, and what differs between two of them."""
    return await _prompt(visit)


async def _prompt(visit: Visit, text: str | None = None, error: ThresherError | None = None) -> Response:
    name = visit.sent.path_params["name"]
    prompt = await visit.run(PROMPTS["show_prompt"], name=name)
    old, new = _version(visit, "old"), _version(visit, "new")
    given = {"name": name} | ({"old": old} if old is not None else {}) | ({"new": new} if new is not None else {})
    return visit.page(
        "settings_prompt.html",
        200 if error is None else 422,
        prompt=prompt,
        text=prompt.text if text is None else text,
        versions=await visit.run(PROMPTS["list_prompt_versions"], name=name),
        diff=await visit.run(PROMPTS["diff_prompt"], **given),
        old=old or 0,
        new=prompt.version if new is None else new,
        may_change=visit.may(PROMPTS["set_prompt"]) and visit.caller.user is None,
        error=error,
    )


def _version(visit: Visit, name: str) -> int | None:
    text = visit.query(name)
    if text and whole(text) is None:
        raise InvalidInput(f"'{text[:20]}' is not a version.", hint="Choose one from the list.")
    return whole(text)


@PAGES.post(f"{_BASE}/prompts/{{name}}")
async def set_prompt(visit: Visit) -> Response:
    """Give a prompt the tenant's own text, if nobody else has meanwhile."""
    name, form = visit.sent.path_params["name"], await visit.form()
    text, expected = form.get("text", "").replace("\r\n", "\n"), whole(form.get("expected", ""))
    try:
        given = {"name": name, "text": text} | ({} if expected is None else {"expected": expected})
        prompt = await visit.run_checked(PROMPTS["set_prompt"], given)
    except NotAllowed:
        raise
    except ThresherError as error:
        return await _prompt(visit, text, error)
    return visit.go(
        page_of(f"{_BASE}/prompts", name), f"Version {prompt.version} is in force, from the next message on."
    )


@PAGES.post(f"{_BASE}/prompts/{{name}}/reset")
async def reset_prompt(visit: Visit) -> Response:
    """Go back to the shipped text; the tenant's own stays as a version."""
    name = visit.sent.path_params["name"]
    await visit.run(PROMPTS["reset_prompt"], name=name)
    return visit.go(
        page_of(f"{_BASE}/prompts", name), "The shipped text is in force again; yours is kept as a version."
    )


@PAGES.get(f"{_BASE}/jobs")
async def list_jobs(visit: Visit) -> Response:
    """Long work: how far it is, and how it ended."""
    return visit.page("settings_jobs.html", **await _listed(visit))


@PAGES.get(f"{_BASE}/jobs/live")
async def follow_jobs(visit: Visit) -> Response:
    """The same table, as long as somebody looks at it."""

    async def show() -> str:
        return render("part_jobs.html", {"visit": visit, **await _listed(visit)})

    return live(visit, show)


async def _listed(visit: Visit) -> dict[str, Any]:
    wanted = whole(visit.query("job"))
    jobs = await visit.run(JOBS["list_jobs"], limit=_JOBS_SHOWN)
    if wanted is not None and not any(one.id == wanted for one in jobs):
        jobs = (await visit.run_checked(JOBS["show_job"], {"job": wanted}), *jobs)
    return {"jobs": jobs, "wanted": wanted, "most": _JOBS_SHOWN}


@PAGES.post(f"{_BASE}/jobs/{{job}}/cancel")
async def cancel_job(visit: Visit) -> Response:
    """End a job."""
    if (number := whole(visit.sent.path_params["job"])) is None:
        raise NotFound("There is no such job.", hint="Use the buttons of the page.")
    job = await visit.run_checked(JOBS["cancel_job"], {"job": number})
    ended = "has ended" if job.ended else "ends soon"
    return visit.go(f"{_BASE}/jobs", f"Job {job.id} {ended}; what it has done so far stays.")


@PAGES.get(f"{_BASE}/system")
async def show_system(visit: Visit) -> Response:
    """What the owner looks after: the folder of components, the log of statements, old rows of the logs."""
    if not visit.is_owner:
        raise NotAllowed("Only the owner looks after these.", hint="Ask whoever runs this Thresher.")
    proof = await visit.run(AUDIT["verify_audit"]) if visit.query("verify") == "yes" else None
    return visit.page("settings_system.html", components=await visit.run(COMPONENTS["list_components"]), proof=proof)


@PAGES.post(f"{_BASE}/system/{{change}}")
async def change_system(visit: Visit) -> Response:
    """Load components again, continue the log of statements, or remove old lines."""
    change, form = visit.sent.path_params["change"], await visit.form()
    match change:
        case "components":
            report = await visit.run(COMPONENTS["refresh_components"])
            said, bad = f"{len(report.files):,} modules were loaded.", bool(report.problem)
            return visit.go(f"{_BASE}/system", report.problem or said, is_error=bad)
        case "restart":
            if form.get("confirm", "").strip() != "restart":
                raise NotAllowed("Nothing was done: it was not confirmed.", hint="Write 'restart' to confirm.")
            link = await visit.run(AUDIT["restart_audit"])
            said = f"The log goes on with link {link:,}; what is before it stays as it was found."
        case "prune" | "purge":
            days = form.get("older_than", "").strip()
            if form.get("confirm", "").strip() != change:
                raise NotAllowed("Nothing was removed: it was not confirmed.", hint=f"Write '{change}' to confirm.")
            verb = AUDIT["prune_audit"] if change == "prune" else TOOLS["purge"]
            removed = await visit.run_checked(verb, arguments(verb, {"older_than": days}))
            said = (
                f"{removed:,} lines of the log of statements are removed."
                if change == "prune"
                else f"{removed.rows:,} old rows of the logs are removed."
            )
        case _:
            raise InvalidInput(f"There is no '{change}' here.", hint="Use the buttons of the page.")
    return visit.go(f"{_BASE}/system", said)


@PAGES.get("/sign-in", is_open=True)
async def sign_in_form(visit: Visit) -> Response:
    """A field for a key."""
    return visit.page("sign_in.html", next=safe_return(visit.query("next", "/")), error="")


@PAGES.post("/sign-in", is_open=True)
async def sign_in(visit: Visit) -> Response:
    """Open a session."""
    form = await visit.sent.form()
    back = safe_return(str(form.get("next", "/")))
    try:
        token = await visit.services.sessions.open(str(form.get("key", "")).strip())
    except AccessDenied as error:
        return visit.page("sign_in.html", 403, next=back, error=error.message)
    if former := visit.cookie(SESSION):
        await visit.services.sessions.close(former)
    answer = visit.go(back)
    visit.set_cookie(answer, SESSION, token, int(LONGEST_SESSION.total_seconds()))
    return answer


@PAGES.post("/sign-out")
async def sign_out(visit: Visit) -> Response:
    """Close the session."""
    if token := visit.cookie(SESSION):
        await visit.services.sessions.close(token)
    answer = visit.go("/sign-in")
    visit.set_cookie(answer, SESSION, "")
    return answer


@PAGES.post("/theme", is_open=True)
async def choose_theme(visit: Visit) -> Response:
    """Remember whether pages are light or dark."""
    form = await visit.sent.form()
    chosen = str(form.get("theme", ""))
    answer = visit.go(safe_return(str(form.get("next", "/"))))
    visit.set_cookie(answer, THEME, chosen if chosen in THEMES else "", 365 * 24 * 3_600)
    return answer
