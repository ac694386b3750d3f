"""Every verb as a form made from its declaration: what has no page of its own is here.

Invariant: a verb that removes something asks for the name of what it removes, if it has one, before it is run.
"""

from __future__ import annotations

from starlette.responses import Response

from thresher.console.declaration import Pages
from thresher.console.forms import arguments, fields
from thresher.console.visit import Visit
from thresher.core import InvalidInput, NotFound, ThresherError, did_you_mean, nearest, plain
from thresher.verbs import KINDS, Verb

PAGES = Pages()


@PAGES.get("/actions")
async def list_actions(visit: Visit) -> Response:
    """All verbs that the caller may use, by kind."""
    kinds = [(kind.name, [verb for verb in kind if visit.may(verb)]) for kind in KINDS]
    return visit.page("actions.html", kinds=[(name, verbs) for name, verbs in kinds if verbs])


@PAGES.get("/actions/{kind}/{verb}")
async def show_action(visit: Visit) -> Response:
    """The form of a verb; the address fills in its fields."""
    verb = _verb(visit)
    given = {field.name: visit.query(field.name) for field in fields(verb)}
    return visit.page("action.html", verb=verb, fields=fields(verb), given=given, answer=None, error=None)


@PAGES.post("/actions/{kind}/{verb}")
async def run_action(visit: Visit) -> Response:
    """Run a verb, and show what it returns below its form."""
    verb = _verb(visit)
    form = await visit.form()
    answer, error = None, None
    try:
        given = arguments(verb, form)
        _check_confirmed(verb, form)
        answer = {"value": plain(await visit.run_checked(verb, given))}
    except ThresherError as failure:
        error = failure
    status = 200 if error is None else 422
    return visit.page("action.html", status, verb=verb, fields=fields(verb), given=form, answer=answer, error=error)


def _verb(visit: Visit) -> Verb:
    named = {kind.name: kind for kind in KINDS}
    wanted = visit.sent.path_params
    verbs = {verb.name: verb for verb in named.get(wanted["kind"], ())}
    if wanted["verb"] not in verbs:
        near = did_you_mean(nearest(wanted["verb"], [verb.name for kind in KINDS for verb in kind]))
        raise NotFound(f"There is no action '{wanted['verb']}'.", hint=near or "All of them: /actions")
    return verbs[wanted["verb"]]


def _check_confirmed(verb: Verb, form: dict[str, str]) -> None:
    """Refuse to remove anything whose name was not written twice.

    Raises:
        InvalidInput: It was not.
    """
    needed = next((one.name for one in verb.parameters.values() if one.required), "")
    if verb.destroys and form.get("confirm", "").strip() != (form.get(needed, "").strip() or verb.name):
        what = f"the {needed} again" if needed else f"'{verb.name}'"
        raise InvalidInput("Nothing was removed: it was not confirmed.", hint=f"Write {what} into the last field.")
