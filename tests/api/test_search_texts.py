"""Words, rewrites and categories over a real port."""

from __future__ import annotations

import datetime as dt

from tests.api.serving import Served, assert_problem
from tests.support.product import CATALOGUE
from thresher.core import Caller
from thresher.knowledge.tools.queries import ToolKey, put_questions

WORDS, REWRITES, CATEGORIES = "/v1/tools/words", "/v1/tools/rewrites", "/v1/tools/categories"
QUESTIONS = "/v1/tools/questions"


async def test_words_are_added_listed_matched_and_removed(product: Served) -> None:
    """The answer to a search has those that matched; an empty filter of a removal is refused, not taken for all."""
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    added = await product.web.post(WORDS, json={"name": "mail_send_email", "words": ["zorbify", "drop a line"]})
    listed = (await product.web.get(WORDS)).json()
    found = (await product.find({"queries": ["drop a line to Bob"]})).json()
    empty = await product.web.delete(f"{WORDS}?name=mail_send_email&words=")
    some = await product.web.delete(WORDS, params={"name": "mail_send_email", "words": ["zorbify"]})
    rest = (await product.web.delete(WORDS, params={"name": "mail_send_email"})).json()

    assert added.status_code == 200
    assert listed["tools"] == [added.json()]
    assert added.json()["words"] == ["zorbify", "drop a line"]
    assert set(found["tools"][0]["why"]["own_words"]) == set(found["tools"][0]["why"]["terms"]) != set()
    assert empty.status_code == 422
    assert (some.json()["words"], rest["words"]) == (["drop a line"], [])


async def test_a_rewrite_is_applied_listed_and_removed(product: Served) -> None:
    """Without a description it is the proposal."""
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    applied = await product.web.post(REWRITES, json={"name": "mail_send_email"})
    listed = (await product.web.get(REWRITES, params={"name": "mail_send_email"})).json()
    removed = await product.web.delete(REWRITES, params={"name": "mail_send_email"})
    again = await product.web.delete(REWRITES, params={"name": "mail_send_email"})

    assert applied.json()["description"].startswith("Send an email")
    assert listed["tools"] == [applied.json()]
    assert removed.status_code == 204
    assert_problem(again, 404, "not_found")


async def test_questions_are_listed_and_removed(product: Served) -> None:
    """By tool; what is not there is a problem."""
    services = product.app.services
    caller = services.caller
    await services.tools.import_tools(caller, CATALOGUE)
    key, digest, now = ToolKey(None, "mail", "send_email"), b"d", dt.datetime.now(dt.UTC)
    async with services.database.transaction(caller.tenant) as connection:
        await put_questions(connection, caller.tenant, "m@host", {key: (digest, ["ping Bob", "tell Ann"])}, now)
    listed = (await product.web.get(QUESTIONS)).json()
    some = await product.web.delete(QUESTIONS, params={"name": "mail_send_email", "questions": ["ping Bob"]})
    rest = await product.web.delete(QUESTIONS, params={"name": "mail_send_email"})
    again = await product.web.delete(QUESTIONS, params={"name": "mail_send_email"})

    assert [(one["questions"], one["model"], one["holds"]) for one in listed["tools"]] == [
        (["ping Bob", "tell Ann"], "m@host", False)
    ]
    assert some.json()["tools"][0]["questions"] == ["tell Ann"]
    assert rest.json() == {"tools": []}
    assert_problem(again, 404, "not_found")


async def test_categories_are_derived_changed_and_search_inside(product: Served) -> None:
    """Over their own paths; a search inside one finds nothing else."""
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    derived = await product.web.post(CATEGORIES, json={})
    chosen = await product.web.put(f"{CATEGORIES}/post", json={"tools": ["mail_send_email"]})
    renamed = await product.web.patch(f"{CATEGORIES}/post", json={"to": "letters"})
    listed = (await product.web.get(CATEGORIES)).json()
    found = (await product.find({"queries": ["read a file"], "categories": ["letters"], "threshold": 0})).json()
    removed = await product.web.delete(f"{CATEGORIES}/letters")
    again = await product.web.delete(f"{CATEGORIES}/letters")

    assert sum(len(one["tools"]) for one in derived.json()["categories"]) >= len(CATALOGUE)
    assert (chosen.json()["tools"], renamed.json()["name"]) == (["mail_send_email"], "letters")
    assert renamed.json() in listed["categories"]
    assert {tool["name"] for tool in found["tools"]} <= {"mail_send_email"}
    assert removed.status_code == 204
    assert_problem(again, 404, "not_found")


async def test_the_name_of_a_category_may_contain_a_slash(product: Served) -> None:
    """Written into the path as `%2F`, or as it is."""
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    chosen = await product.web.put(f"{CATEGORIES}/CI%2FCD", json={"tools": ["mail_send_email"]})
    renamed = await product.web.patch(f"{CATEGORIES}/CI%2FCD", json={"to": "post/mail"})
    removed = await product.web.delete(f"{CATEGORIES}/post/mail")

    assert (chosen.json()["name"], renamed.json()["name"]) == ("CI/CD", "post/mail")
    assert removed.status_code == 204
    assert (await product.web.get(CATEGORIES)).json() == {"categories": []}


async def test_bad_input_is_a_problem(product: Served) -> None:
    """With the reason, and nothing is stored."""
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    for body in (
        {"name": "mail_send_email", "words": []},
        {"name": "mail_send_email", "words": ["the"]},
        {"name": "mail_send_email", "words": ["x" * 301]},
        {"name": "mail_send_email", "words": "zorbify"},
        {"name": "mail_send_email", "words": [7]},
        {"words": ["zorbify"]},
    ):
        assert_problem(await product.web.post(WORDS, json=body), 422, "invalid_input")
    assert_problem(await product.web.post(WORDS, json={"name": "nothing", "words": ["ping"]}), 404, "not_found")
    assert_problem(await product.web.get(WORDS, params={"name": "nothing"}), 404, "not_found")

    assert (await product.web.get(WORDS)).json() == {"tools": []}


async def test_a_key_sees_its_tenants_words_alone(product: Served) -> None:
    """Both tenants have a tool of the name."""
    services = product.app.services
    red, as_red = await product.key("red")
    blue, as_blue = await product.key("blue")
    for tenant in (red, blue):
        await services.tools.import_tools(Caller(tenant), CATALOGUE)
    await product.web.post(WORDS, json={"name": "mail_send_email", "words": ["zorbify"]}, headers=as_red)
    seen = (await product.web.get(WORDS, headers=as_blue)).json()
    refused = await product.web.delete(WORDS, params={"name": "mail_send_email"}, headers=as_blue)

    assert seen == {"tools": []}
    assert_problem(refused, 404, "not_found")
    assert len((await product.web.get(WORDS, headers=as_red)).json()["tools"]) == 1
