"""Rules: what each reports, where, and in which form."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.architecture.source import ROOT
from tests.openapi.documents import described, document, from_yaml, swagger
from tests.openapi.rule_cases import FROM_ELSEWHERE, GET, NUMBER, OK, OWN, SHARED, Case
from thresher.openapi import RULES, Description, RuleHit, find_problems, finding_of, score

PAGE = (ROOT / "docs" / "reference" / "api-rules.md").read_text(encoding="utf-8")


def _pointers(description: Description, rule: str) -> list[str]:
    return sorted(each.place.pointer for each in find_problems(description) if each.rule == rule)


@pytest.mark.parametrize(("rule", "case"), [*SHARED.items(), *OWN.items()])
def test_a_rule_finds_what_breaks_it(rule: str, case: Case) -> None:
    """There, and nowhere else."""
    assert _pointers(described(case.content), rule) == sorted(case.pointers)


def test_every_rule_is_tried() -> None:
    """Shared rules against the shared cases, our own against ours."""
    shared = {rule.id for rule in RULES.values() if rule.shared}

    assert set(SHARED) == shared
    assert set(OWN) | FROM_ELSEWHERE == RULES.keys() - shared


def test_the_page_lists_the_rules() -> None:
    """Each with its kind, severity and requirement."""
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (\w+) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    listed = {rule: (kind, severity, asks) for rule, kind, severity, asks, _ in rows}

    assert listed == {rule.id: (rule.kind, rule.severity, rule.asks) for rule in RULES.values()}


def test_a_finding_says_where_it_stands_and_what_to_do() -> None:
    """Line, column, operation, reason and fix."""
    description = from_yaml("paths:\n  /pets:\n    get:\n      summary: listpets\n      operationId: listPets\n")

    found = next(each for each in find_problems(description) if each.rule == "summary-repeats-name")

    assert (found.place.pointer, found.place.line, found.operation) == (f"{GET}/summary", 6, "GET /pets")
    assert (found.why, found.fix, found.evidence) == (*_told(found.rule), "listpets")


def _told(rule: str) -> tuple[str, str]:
    return RULES[rule].why, RULES[rule].fix


def test_findings_are_told_worst_first() -> None:
    """By severity, then by line."""
    findings = find_problems(described(SHARED["path-params"].content))

    order = ["error", "warning", "info", "hint"]
    ranks = [(order.index(each.severity), each.place.line) for each in findings]
    assert ranks == sorted(ranks)
    assert {each.severity for each in findings} >= {"error", "warning", "info"}


def test_findings_are_filtered() -> None:
    """By kind and by severity."""
    description = described(SHARED["path-params"].content)

    findings = find_problems(description, kinds=("errors", "clarity"), min_severity="warning")

    assert {each.kind for each in findings} == {"errors", "clarity"}
    assert {each.severity for each in findings} == {"warning"}


def test_an_operation_has_the_findings_of_the_parts_it_shares() -> None:
    """Its own, its path's, and those of components that it references; not those of others."""
    shared = {"in": "query", "name": "a", "schema": {"type": "array"}}
    operation = {"parameters": [{"$ref": "#/components/parameters/A"}], "responses": OK}
    paths = {"/pets/": {"get": operation}, "/shops/": {"get": {"responses": OK}}}
    description = described(document(paths, components={"parameters": {"A": shared}}))

    findings = find_problems(description, operation="GET /pets/")

    assert {(each.rule, each.place.pointer) for each in findings} >= {
        ("path-keys-no-trailing-slash", "/paths/~1pets~1"),
        ("oas3-parameter-description", "/components/parameters/A"),
        ("array-items", "/components/parameters/A/schema"),
        ("operation-tags", "/paths/~1pets~1/get"),
    }
    assert not [each for each in findings if "shops" in each.place.pointer or not each.place.pointer]
    assert find_problems(description, operation="GET /nowhere") == []


def test_a_finding_from_elsewhere_is_made_like_the_others() -> None:
    """With its rule's severity and the operation that it names."""
    description = described(document({"/pets": {"get": {"responses": OK}}}))
    hit = RuleHit("missed-by-queries", GET, "Two queries miss it.", "find a dog", "GET /pets")

    found = finding_of(description, hit)

    assert (found.kind, found.severity, found.operation, found.evidence) == (
        "clarity",
        "warning",
        "GET /pets",
        "find a dog",
    )


def test_a_perfect_operation_has_nothing_found_in_it() -> None:
    """No two rules contradict each other."""
    problem = {"description": "No such pet", "content": {"application/json": {"schema": {"type": "object"}}}}
    answer = {"description": "The pet", "content": {"application/json": {"schema": NUMBER, "example": {"age": 3}}}}
    number = {"in": "path", "name": "id", "required": True, "schema": {"type": "string"}}
    operation = {
        "operationId": "readPet",
        "summary": "Read a pet by its number",
        "description": "Tells the age of one pet. Ask for it when a customer points at a cage.",
        "tags": ["pets"],
        "parameters": [number | {"description": "Number on the cage."}],
        "responses": {"200": answer, "401": problem, "404": problem},
    }
    content = document(
        {"/pets/{id}": {"get": operation}},
        servers=[{"url": "https://pets.test"}],
        security=[{"key": []}],
        tags=[{"name": "pets", "description": "Animals for sale"}],
        components={"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    )
    contact = {"name": "Pets", "url": "https://pets.test", "email": "pets@pets.test"}
    content["info"] |= {
        "description": "A shop",
        "contact": contact,
        "license": {"name": "MIT", "url": "https://x.test"},
    }

    description = described(content)

    assert find_problems(description) == []
    assert score([], description).whole.value == 100


def test_mending_any_finding_never_lowers_a_score() -> None:
    """Neither of the whole nor of a tag or an operation."""
    get = {"tags": ["a"], "responses": OK}
    description = described(document({"/a/": {"get": get, "post": get}, "/b": {"get": {"responses": {}}}}))
    findings = find_problems(description)
    before = score(findings, description)

    for place in range(len(findings)):
        after = score(findings[:place] + findings[place + 1 :], description)

        assert after.whole.value >= before.whole.value
        assert all(after.per_tag[tag].value >= each.value for tag, each in before.per_tag.items())
        assert all(after.per_operation[key].value >= each.value for key, each in before.per_operation.items())
    assert set(before.per_operation) == {"GET /a/", "POST /a/", "GET /b"}


def test_a_score_shows_its_formula() -> None:
    """Repeated by hand, it gives the score."""
    description = described(SHARED["operation-description"].content)

    whole = score(find_problems(description), description).whole
    points = sum(int(count) * int(weight) for count, weight in re.findall(r"(\d+) \w+ x (\d+)", whole.formula))

    assert whole.value == int(100 * 20 / (20 + points))
    assert f"= {whole.value}; points: " in whole.formula


@pytest.mark.parametrize(
    "content",
    [
        document(),
        swagger(),
        document() | {"paths": None, "components": 3, "tags": {"a": 1}, "servers": "x", "info": []},
        document({"/a": None, "/b": [], "/c": {"get": None, "post": 3, "parameters": {}}}),
    ],
)
def test_empty_and_misshapen_descriptions_have_findings_too(content: dict[str, Any]) -> None:
    """None of them raises."""
    description = described(content)

    findings = find_problems(description)

    assert findings
    assert 0 < score(findings, description).whole.value < 100
