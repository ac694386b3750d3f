"""Variables in rule texts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from thresher.context.variables import VALUE_CHARACTERS, Situation, Variables, filled, names_in
from thresher.core import Caller, InvalidInput, Tenant

CALLER = Caller(Tenant(1, "local"), "ana", project="/projects/shop")
HERE = Situation(CALLER, ("src/a.py", "b c.sql"))


def test_values_take_the_places_of_their_names() -> None:
    """Every occurrence is filled, with or without blanks inside the braces."""
    result = filled(
        "{{ PROJECT_NAME }} of {{USER_NAME}}, {{PROJECT_NAME}}", {"PROJECT_NAME": "shop", "USER_NAME": "ana"}
    )

    assert result.text == "shop of ana, shop"
    assert (result.without_value, result.unknown) == ((), ())


def test_a_line_whose_variable_has_no_value_is_left_out_and_the_variable_listed() -> None:
    """A model reads what is known; the rest is not mentioned."""
    text = "- Project: {{PROJECT_NAME}}\n- Solution: {{ACTIVE_SOLUTION}}\nAsk first.\n"
    result = filled(text, {"PROJECT_NAME": "shop", "ACTIVE_SOLUTION": None})

    assert result.text == "- Project: shop\nAsk first.\n"
    assert result.without_value == ("ACTIVE_SOLUTION",)


def test_a_heading_of_which_nothing_is_left_goes_with_its_lines() -> None:
    """One with other lines stays, and so does one whose subsections have any."""
    text = (
        "# Top\n\n## Here\n\n- {{USER_NAME}}\n\n## Rules\n\n- {{USER_NAME}}\n- Ask.\n\n"
        "## Parts\n\n{{USER_NAME}}\n\n### One\n\nYes.\n\n## Last\n\n{{USER_NAME}}"
    )
    result = filled(text, {"USER_NAME": None})

    assert result.text == "# Top\n\n## Rules\n\n- Ask.\n\n## Parts\n\n\n### One\n\nYes.\n"


def test_a_name_that_nobody_knows_is_reported_and_stays() -> None:
    """It may be meant for another tool, and nothing is lost silently."""
    result = filled("{{TICKET_PREFIX}}", {})
    small = filled("{{project_name}}", {"PROJECT_NAME": "shop"})

    assert (result.text, result.unknown) == ("{{TICKET_PREFIX}}", ("TICKET_PREFIX",))
    assert (small.text, small.unknown) == ("{{project_name}}", ("project_name",))


def test_a_value_is_never_looked_at_for_variables() -> None:
    """A project called {{USER_NAME}} keeps its name."""
    result = filled("{{PROJECT_NAME}}", {"PROJECT_NAME": "{{USER_NAME}}", "USER_NAME": "ana"})

    assert result.text == "{{USER_NAME}}"


@pytest.mark.parametrize("text", ["{{ user.name }}", "{% if x %}", "{{#each}}", "{{{{", "{{A B}}"])
def test_other_braces_are_no_variables(text: str) -> None:
    """Templates of other tools have other names."""
    assert (names_in(text), filled(text, {}).text) == ((), text)


async def test_the_situation_gives_project_user_and_files() -> None:
    """What the caller and its client reported."""
    values = await Variables().values(HERE, ["PROJECT_NAME", "USER_NAME", "RECENT_FILES", "DATABASE_SERVERS", "NEW"])

    assert values == {
        "PROJECT_NAME": "shop",
        "USER_NAME": "ana",
        "RECENT_FILES": 'src/a.py, "b c.sql"',
        "DATABASE_SERVERS": None,
    }


async def test_a_value_stays_on_one_line_and_bounded() -> None:
    """A folder's name cannot write rules."""
    project = "/home/x\n\n# New rules\x1b[2J: " + "y" * 5000

    (value,) = (await Variables().values(Situation(replace(CALLER, project=project)), ["PROJECT_NAME"])).values()

    assert value is not None
    assert value.startswith("x # New rules [2J: yyy")
    assert len(value) <= VALUE_CHARACTERS


async def test_a_pack_registers_a_variable_that_its_own_rules_alone_see() -> None:
    """One pack cannot add text to another's rules."""
    variables = Variables()

    async def version(_: Situation) -> str:
        return "7"

    variables.register("SCHEMA_VERSION", version, pack="relations")

    own = await variables.values(HERE, ["SCHEMA_VERSION"], pack="relations")
    others = await variables.values(HERE, ["SCHEMA_VERSION"], pack="git")
    variables.forget("relations")

    assert (own, others) == ({"SCHEMA_VERSION": "7"}, {})
    assert await variables.values(HERE, ["SCHEMA_VERSION"], pack="relations") == {}


async def test_a_provider_that_fails_or_hangs_gives_no_value() -> None:
    """Rules come without it, and without delay."""
    variables = Variables()

    async def fails(_: Situation) -> str:
        raise ZeroDivisionError

    async def hangs(_: Situation) -> str:
        await asyncio.Event().wait()
        return "never"

    variables.register("DATABASE_SERVERS", fails)
    variables.register("AVAILABLE_DATASOURCES", hangs)

    values = await variables.values(HERE, ["DATABASE_SERVERS", "AVAILABLE_DATASOURCES"])

    assert values == {"DATABASE_SERVERS": None, "AVAILABLE_DATASOURCES": None}


@pytest.mark.parametrize("name", ["", "lower", "A-B", "A" * 65, "A}}"])
def test_a_name_that_cannot_be_written_is_refused(name: str) -> None:
    """A provider under such a name would never be called."""

    async def nothing(_: Situation) -> None:
        return None

    with pytest.raises(InvalidInput, match="cannot be the name of a variable"):
        Variables().register(name, nothing)
