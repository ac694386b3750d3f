"""How a query is understood before anything is searched."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.embedding import Encoder
from thresher.knowledge.apis.heads import Brief, ProviderHead
from thresher.knowledge.apis.search import actions, concepts, query, shipped


def _brief(summary: str, description: str = "", path: str = "/x") -> Brief:
    return Brief(1, "op_1", "GET", path, "", summary, description, (), (), "", (), False, "", 0, "")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("list jira apis", "jira"),
        ("", ""),
        ("apis", ""),
        ("list jobs", None),
        ("get", None),
        ("list api keys", None),
        ("which endpoints does a service have", None),
    ],
)
def test_only_a_query_about_nothing_else_asks_for_a_list(text: str, names: str | None) -> None:
    """A query with any other words is searched."""
    assert query.clean_query(text).names == names


@pytest.mark.parametrize("text", ["please", "How to", "api", "the api", "can you", "show me", "GET", "?", "how do I"])
def test_cleaning_never_empties_a_query(text: str) -> None:
    """Words are removed only while others are left."""
    assert query.clean_query(text).text


def test_words_around_a_question_are_removed() -> None:
    """What is embedded is what the query asks for."""
    assert query.clean_query("Please, how do I add a watcher via the API?").text == "add a watcher"
    assert query.clean_query("list api keys").text == "list api keys"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("which pods are running", actions.READ),
        ("create a pod", actions.CREATE),
        ("take her out of the group", actions.DELETE),
        ("turn the flag on", actions.UPDATE),
        ("cancel the job", actions.RUN),
    ],
)
def test_verbs_decide_the_action(text: str, action: int) -> None:
    """Questions read; phrasal verbs count as one verb."""
    assert int(np.argmax(actions.requested_actions(text))) == action


def test_methods_are_recognised_in_capitals_only() -> None:
    """A shouted sentence contains none."""
    assert query.typed_methods("DELETE a pod") == ("DELETE",)
    assert query.typed_methods("POST /pets") == ("POST",)
    assert query.typed_methods("delete a pod") == ()
    assert query.typed_methods("HOW DO I DELETE A POD") == ()


def test_providers_are_named_by_any_of_their_words() -> None:
    """By name, alias and display name, as whole words."""
    head = ProviderHead(1, None, "kubernetes", "Kubernetes API", ("k8s",), "", True, ())

    assert query.named_providers("pods in K8s", [head]) == (head,)
    assert query.named_providers("the api of kubernetes", [head]) == (head,)
    assert query.named_providers("an api for k8", [head]) == ()


def test_a_description_teaches_its_short_forms() -> None:
    """Initials of names, and short forms that a text explains."""
    briefs = [
        _brief("read the specified HorizontalPodAutoscaler"),
        _brief("", "A Service Level Objective (SLO) is kept."),
    ]

    known = query.short_forms(briefs)

    assert query.spelled_out("list HPA and slo", known) == ("horizontal pod autoscaler", "service level objective")


def test_a_common_word_is_not_a_short_form() -> None:
    """The initials of a name may spell one."""
    known = query.short_forms([_brief("List", path="/issue-type-scheme"), _brief("List", path="/add-new-disk")])

    assert query.spelled_out("show its disk and the other", known) == ()


def test_words_show_whether_one_thing_many_or_everything_is_meant() -> None:
    """Beyond one place, and at once, are different."""
    assert query.asks_everywhere("pods across the cluster")
    assert query.asks_together("close five tickets at once")
    assert not query.asks_everywhere("a pod of mine")
    assert not query.asks_together("close a ticket")


def test_a_text_is_hashed_by_its_words_pairs_and_ends() -> None:
    """Equal texts have equal hashes, whatever their case; another order has others."""
    assert actions.hashed_words("List Pods").tolist() == actions.hashed_words("list pods").tolist()
    assert actions.hashed_words("list pods").tolist() != actions.hashed_words("pods list").tolist()
    assert len(actions.hashed_words("")) == 0


def test_a_head_reads_meaning_verbs_and_words_together() -> None:
    """The goal of a text is what the head computes from its inputs."""
    chance = np.random.default_rng(7)
    vector = chance.standard_normal(8).astype(np.float32)
    head = chance.standard_normal((8 + actions.ACTIONS + actions.HASH_SIZE + 1, actions.OUTPUTS)).astype(np.float32)
    values = actions.inputs(vector, "delete all pods") @ head

    wish = actions.goal_of(vector, "delete all pods", head)

    powers = np.exp(values[: actions.ACTIONS] - values[: actions.ACTIONS].max())
    assert wish.actions == pytest.approx(tuple(powers / powers.sum()), rel=1e-3)
    assert wish.one == pytest.approx(float(np.clip(values[-1], -3.9, 3.9)), rel=1e-3)


def test_requests_are_read_with_how_many_things_they_are_about() -> None:
    """An action, `item`, `list` or `-`, and the line; comments are skipped."""
    read = shipped.read_requests("# one\nread\tlist\twho is there\ncreate\t-\tmake one\nread\titem\tthis one\n")

    assert [(one.action, one.several) for one in read] == [("read", True), ("create", None), ("read", False)]


def test_concepts_are_found_by_their_words_without_vectors() -> None:
    """Phrases count if their words are together, or with one word in between."""
    some = concepts.read_concepts("# comment\npod log: docker logs, console output\nimage: picture\n")

    assert [one.name for one in concepts.chosen("show me the docker container logs", None, some)] == ["pod log"]
    assert concepts.chosen("something else", None, some) == ()


async def test_what_ships_is_what_the_encoder_gives(encoder: Encoder) -> None:
    """After a change of `concepts.txt` or `requests.txt`, `make vectors` writes them again."""
    known = shipped.packaged()
    model = await encoder.warm()

    assert known is not None, "run `make vectors`"
    assert known.model == model.id
    (vector,) = await encoder.embed_documents([concepts.CONCEPTS[5].line])
    assert int(np.argmax(known.nearness(vector))) == 5
    (asked,) = await encoder.embed_queries(["which pods are there"], prefixed=True)
    wish = known.goal(asked, "which pods are there")
    assert int(np.argmax(wish.actions)) == actions.READ
    assert wish.one < 0
