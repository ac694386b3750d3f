"""Who registers which models, who sees them, and what becomes of their keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import SecretStr

from tests.agent_models.conftest import KEY
from tests.fakes.chat_server import ChatServer
from thresher.agent import AgentSettings, ChatSettings, Models
from thresher.core import Caller, Conflict, InvalidInput, ModelError, NotAllowed, NotFound, Settings
from thresher.store import Database, SecretBox

URL = "http://127.0.0.1:9/v1"
ALL = ChatSettings.model_validate({})


async def names(models: Models, caller: Caller) -> list[str]:
    """What the caller sees."""
    return [model.name for model in await models.list(caller)]


async def test_a_registered_model_is_listed_without_its_key(models: Models, ada: Caller) -> None:
    """That there is one is told."""
    kept = await models.add(ada, "big", f"{URL}?api-version=7", "gpt-5", key=KEY)

    listed = (await models.list(ada))[0]

    assert (kept.name, kept.model, kept.keyed, kept.enabled, kept.owner) == ("big", "gpt-5", True, True, "ada")
    assert replace(listed, chosen=False) == kept
    assert listed.url == URL
    assert KEY not in repr(await models.list(ada))


async def test_a_key_lies_sealed(models: Models, ada: Caller, database: Database) -> None:
    """Nothing in the row holds it."""
    await models.add(ada, "big", URL, "gpt-5", key=KEY)

    rows = await database.once(ada.tenant, lambda driver: driver.execute("select m::text, key from chat_model m"))

    assert rows[0][1] is not None
    assert KEY not in rows[0][0]
    assert KEY.encode() not in bytes(rows[0][1])


async def test_users_have_their_own_models_and_those_of_the_tenant(
    models: Models, ada: Caller, bob: Caller, everybody: Caller, other_tenant: object
) -> None:
    """An own one hides the tenant's of the same name; another user's is not visible."""
    await models.add(everybody, "shared", URL, "tenants")
    await models.add(ada, "mine", URL, "adas")
    await models.add(ada, "shared", URL, "adas-own")

    seen = {model.name: model.model for model in await models.list(ada)}

    assert seen == {"mine": "adas", "shared": "adas-own"}
    assert [model.model for model in await models.list(bob)] == ["tenants"]
    assert [model.model for model in await models.list(everybody)] == ["tenants"]
    assert await names(models, Caller(other_tenant, "ada")) == []  # type: ignore[arg-type]


async def test_only_the_owner_changes_a_model(models: Models, ada: Caller, bob: Caller, everybody: Caller) -> None:
    """The one can be seen, the other cannot."""
    await models.add(everybody, "shared", URL, "m")
    await models.add(bob, "bobs", URL, "m")

    for change in (models.enable, models.disable, models.remove):
        with pytest.raises(NotAllowed, match="the tenant's"):
            await change(ada, "shared")
        with pytest.raises(NotFound):
            await change(ada, "bobs")


async def test_a_taken_name_is_kept_unless_it_shall_be_replaced(models: Models, ada: Caller) -> None:
    """The same once more is no conflict where no key is in it."""
    await models.add(ada, "m", URL, "one")

    assert (await models.add(ada, "m", URL, "one")).model == "one"
    with pytest.raises(Conflict, match="already"):
        await models.add(ada, "m", URL, "two", key=KEY)
    assert (await models.add(ada, "m", URL, "two", key=KEY, replace=True)).keyed


@pytest.mark.parametrize(
    ("name", "url", "model", "key", "words"),
    [
        ("a b", URL, "m", None, "no name"),
        ("default", URL, "m", None, "THRESHER_LLM_URL"),
        ("thresher", URL, "m", None, "clients"),
        ("m", "127.0.0.1/v1", "m", None, "not a valid service address"),
        ("m", "ftp://127.0.0.1", "m", None, "not a valid service address"),
        ("m", "http://ana:secret@127.0.0.1/v1", "m", None, "password"),
        ("m", "http://127.0.0.1/v1#x", "m", None, "#"),
        ("m", URL, "  ", None, "name of a model"),
        ("m", URL, "a\nb", None, "name of a model"),
        ("m", URL, "m", "two words", "not a valid key"),
        ("m", URL, "m", "line\r\nX-Header: 1", "not a valid key"),
    ],
    ids=range(11),
)
async def test_what_cannot_be_used_is_not_registered(
    models: Models, ada: Caller, name: str, url: str, model: str, key: str | None, words: str
) -> None:
    """And the message repeats no password."""
    with pytest.raises(InvalidInput, match=words) as refused:
        await models.add(ada, name, url, model, key=key)

    assert "secret" not in str(refused.value)
    assert await names(models, ada) == []


async def test_with_a_key_only_named_hosts_are_reached(models: Models, ada: Caller) -> None:
    """By their name, or name and port; the machine's user reaches any."""
    keyed = replace(ada, keyed=True)
    for url in ("http://127.0.0.1:10/v1", "http://localhost:9/v1", "https://models.example.com.evil.org"):
        with pytest.raises(NotAllowed, match="key") as refused:
            await models.add(keyed, "m", url, "m")
        assert "THRESHER_MODEL_HOSTS" in refused.value.hint

    await models.add(keyed, "by-port", URL, "m")
    await models.add(keyed, "by-name", "https://MODELS.example.com/v1", "m")
    await models.add(ada, "any", "http://127.0.0.1:10/v1", "m")

    assert set(await names(models, ada)) == {"by-port", "by-name", "any"}


async def test_without_any_model_none_is_opened(models: Models, ada: Caller) -> None:
    """Callers go on without."""
    assert await models.open(ada, settings=ALL) is None


async def test_a_named_model_that_is_not_there_or_disabled_is_an_error(models: Models, ada: Caller) -> None:
    """With what to do about it."""
    await models.add(ada, "sonnet", URL, "m")
    await models.disable(ada, "sonnet")

    with pytest.raises(NotFound, match="sonnet"):
        await models.open(ada, "sonet", settings=ALL)
    with pytest.raises(Conflict, match="thresher models enable sonnet"):
        await models.open(ada, settings=ChatSettings.model_validate({"model": "sonnet"}))
    await models.enable(ada, "sonnet")
    assert await models.open(ada, "sonnet", settings=ALL) is not None


async def test_where_none_is_named_own_models_come_before_the_tenants(
    models: Models, ada: Caller, everybody: Caller
) -> None:
    """And disabled ones not at all; the list says which."""
    await models.add(everybody, "shared", URL, "m")
    await models.add(ada, "first", URL, "m")
    await models.add(ada, "second", URL, "m")
    await models.disable(ada, "first")

    opened = await models.open(ada, settings=ALL)

    assert opened is not None
    assert (opened.name, opened.address) == ("second", "127.0.0.1:9")
    assert [model.name for model in await models.list(ada) if model.chosen] == ["second"]
    chosen = await models.open(ada, settings=ChatSettings.model_validate({"model": "shared"}))
    assert chosen is not None
    assert chosen.name == "shared"


async def test_the_model_of_the_settings_is_everybodys_and_stays(
    database: Database, secrets: SecretBox, ada: Caller, fake: ChatServer
) -> None:
    """It is called `default`, and it answers where no other is named."""
    given = Settings(llm_url=fake.url, llm_model="fake", llm_key=SecretStr(KEY))
    models = Models(database, secrets, given)
    await models.add(ada, "other", URL, "m")

    listed = {model.name: model for model in await models.list(ada)}
    opened = await models.open(ada, settings=ALL)

    assert (listed["default"].configured, listed["default"].chosen, listed["default"].keyed) == (True, True, True)
    assert opened is not None
    assert (await opened.complete([("user", "hello you")])).text == "hello you"
    assert fake.authorizations == [f"Bearer {KEY}"]
    for change in (models.disable, models.remove):
        with pytest.raises(InvalidInput, match="THRESHER_LLM_URL"):
            await change(ada, "default")
    await models.close()


async def test_a_check_tells_what_the_model_says(models: Models, ada: Caller, fake: ChatServer) -> None:
    """How long it took, too; disabled ones can be checked."""
    fake.model = lambda _: "ok"
    await models.add(ada, "m", fake.url, "fake", key=KEY)
    await models.disable(ada, "m")

    checked = await models.check(ada, "m")

    assert (checked.ok, checked.says, checked.model, checked.problem) == (True, "ok", "fake", "")
    assert checked.ms >= 0


async def test_a_check_tells_what_is_wrong(models: Models, ada: Caller, fake: ChatServer) -> None:
    """In our words: the service's may hold the key."""
    fake.mode = "401"
    await models.add(ada, "m", fake.url, "fake", key=KEY)

    checked = await models.check(ada, "m")

    assert not checked.ok
    assert "HTTP 401" in checked.problem
    assert "thresher models add m ... --key - --replace" in checked.problem
    with pytest.raises(NotFound):
        await models.check(ada, "n")


async def test_a_check_asks_a_model_that_is_left_alone(models: Models, ada: Caller, fake: ChatServer) -> None:
    """It does not tell to check, and once it goes well everybody may ask again."""
    await models.add(ada, "m", fake.url, "fake", key=KEY)
    opened = await models.open(ada, "m", settings=ALL)
    assert opened is not None
    fake.script.extend(["503:90"] * 4)
    for _ in range(3):
        with pytest.raises(ModelError, match=r"HTTP 503.*thresher models check m"):
            await opened.complete([("user", "one")])
    with pytest.raises(ModelError, match="left alone"):
        await opened.complete([("user", "one")])

    failed = await models.check(ada, "m")
    checked = await models.check(ada, "m")

    assert not failed.ok
    assert "HTTP 503" in failed.problem
    assert "thresher models list" in failed.problem
    assert "models check" not in failed.problem
    assert checked.ok
    assert (await opened.complete([("user", "two")])).text == "two"


async def test_the_list_says_which_model_answers_for_the_caller(
    database: Database, secrets: SecretBox, ada: Caller, bob: Caller
) -> None:
    """The one that the caller chose; none if that is disabled, as then there is no answer."""
    models = Models(database, secrets, Settings(llm_url=URL, llm_model="fake"))
    await models.add(ada, "mine", URL, "m")
    await AgentSettings(database, models.names).put(ada, {"model": "mine"})

    assert [model.name for model in await models.list(ada) if model.chosen] == ["mine"]
    assert [model.name for model in await models.list(bob) if model.chosen] == ["default"]
    await models.disable(ada, "mine")
    assert [model.name for model in await models.list(ada) if model.chosen] == []
    await models.close()


async def test_a_replaced_model_is_asked_at_its_new_place(models: Models, ada: Caller, fake: ChatServer) -> None:
    """With its new key."""
    await models.add(ada, "m", URL, "fake", key="old")
    await models.open(ada, "m", settings=ALL)
    await models.add(ada, "m", fake.url, "fake", key=KEY, replace=True)

    opened = await models.open(ada, "m", settings=ALL)

    assert opened is not None
    assert (await opened.complete([("user", "hello you")])).text == "hello you"
    assert fake.authorizations == [f"Bearer {KEY}"]


async def test_a_removed_model_answers_to_the_end(models: Models, ada: Caller, fake: ChatServer) -> None:
    """And then it is gone."""
    fake.tokens_per_second = 50
    await models.add(ada, "m", fake.url, "fake")
    opened = await models.open(ada, "m", settings=ALL)
    assert opened is not None
    stream = opened.stream([("user", "one two three four")])
    texts = [(await anext(stream)).text]

    await models.remove(ada, "m")
    texts += [chunk.text async for chunk in stream]

    assert "".join(texts) == "one two three four"
    with pytest.raises(NotFound):
        await models.open(ada, "m", settings=ALL)


async def test_a_turn_goes_on_with_the_model_that_it_began_with(models: Models, ada: Caller, fake: ChatServer) -> None:
    """Also where that is replaced or removed between two of its requests."""
    await models.add(ada, "m", fake.url, "fake")
    opened = await models.open(ada, "m", settings=ALL)
    assert opened is not None
    await opened.complete([("user", "one")])

    await models.remove(ada, "m")

    assert (await opened.complete([("user", "two")])).text == "two"
