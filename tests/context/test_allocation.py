"""Which pieces are worth their tokens, and each kind's share."""

from __future__ import annotations

from dataclasses import replace

from thresher.context.allocation import LEAST, LEAST_ANY, LEAST_VALUE, PRICE, allocate, delivered
from thresher.context.sources import SourcePieces
from thresher.core import Piece


def piece(kind: str, name: str, value: float, tokens: int = 50, text: str = "words") -> Piece:
    """A piece; of a passage the text is in the data too."""
    return Piece(kind, name, text, kind, {"text": text}, value, "", tokens, content=f"{name}\n{text}")


def test_a_kind_that_is_needed_too_improbably_gets_nothing() -> None:
    """And its share says so."""
    offer = SourcePieces((piece("tools", "log", 0.9),))

    found = allocate([("tools", offer)], {"tools": (LEAST["tools"] - 0.01,)})

    (share,) = found.shares
    assert (found.pieces, share.offered, share.taken) == ((), 1, 0)
    assert "improbably" in share.why


def test_a_piece_is_taken_if_its_probability_pays_for_its_tokens() -> None:
    """The probability of the kind counts; a long piece must be more probable than a short one."""
    short, long = piece("passages", "a", 0.1, 100), piece("passages", "b", 0.1, int(0.09 / PRICE))
    offer = SourcePieces((short, long))

    sure, unsure = (allocate([("passages", offer)], {"passages": (chance,)}).pieces for chance in (1.0, 0.4))

    assert [one.name for one in sure] == ["a", "b"]
    assert [(one.name, round(one.value, 3)) for one in unsure] == [("a", 0.04)]


def test_a_message_that_needs_hardly_anything_gets_nothing_unless_rules_fit() -> None:
    """No kind is probable, though each alone reaches its least probability."""
    schemas = SourcePieces((piece("schemas", "shop", 0.9),))
    rules = SourcePieces((piece("rules", "databases", 0.9),))
    chances = {"schemas": (LEAST_ANY - 0.01,)}

    alone = allocate([("schemas", schemas)], chances)
    ruled = allocate([("rules", rules), ("schemas", schemas)], chances)

    assert alone.pieces == ()
    assert [one.name for one in ruled.pieces] == ["databases", "shop"]


def test_a_cheap_piece_that_is_hardly_ever_needed_is_left_out() -> None:
    """However few tokens it has."""
    offer = SourcePieces((piece("tools", "mail", 0.5), piece("tools", "chart", LEAST_VALUE / 2, 1)))

    assert [one.name for one in allocate([("tools", offer)], {"tools": (0.9,)}).pieces] == ["mail"]


def test_pieces_of_a_task_that_does_not_need_them_are_left_out() -> None:
    """Each counts by the probability of the task that it was found for."""
    offer = SourcePieces((piece("tools", "mail", 0.5), piece("tools", "chart", 0.5)), tasks=(0, 1))

    found = allocate([("tools", offer)], {"tools": (0.9, 0.01)})

    assert [one.name for one in found.pieces] == ["mail"]


def test_what_is_not_offered_is_there_with_the_reason() -> None:
    """Every piece is either worth its tokens or refused."""
    offer = SourcePieces(
        (piece("tools", "mail", 0.5), piece("tools", "long", 0.1, 900), piece("tools", "chart", 0.5)), (0, 0, 1)
    )
    same = SourcePieces((piece("endpoints", "mail", 0.9),))

    found = allocate([("tools", offer), ("endpoints", same)], {"tools": (0.9, 0.01), "endpoints": (0.9, 0.9)})

    assert [one.name for one in found.pieces] == ["mail"]
    assert {(one.kind, one.name, why) for one, why in found.refused} == {
        ("tools", "long", "worthless"),
        ("tools", "chart", "improbable"),
        ("endpoints", "mail", "repeated"),
    }


def test_rules_have_no_price() -> None:
    """A message that needs them needs them whole, however long they are; doubtful ones are left out."""
    offer = SourcePieces((piece("rules", "deploy", 0.9, 9_000), piece("rules", "git", LEAST["rules"] - 0.1, 100)))

    found = allocate([("rules", offer)], {})

    assert [one.name for one in found.pieces] == ["deploy"]
    assert found.shares[0].probability == 0.9


def test_an_operation_that_is_also_a_tool_is_given_once() -> None:
    """Names are compared without case and separators; the tool, which can be called, stays."""
    tool = SourcePieces((piece("tools", "tracker_create_issue", 0.9),))
    operations = SourcePieces((piece("endpoints", "createIssue", 0.9), piece("endpoints", "deleteIssue", 0.8)))

    found = allocate([("tools", tool), ("endpoints", operations)], {"tools": (0.9,), "endpoints": (0.9,)})

    assert [one.name for one in found.pieces] == ["tracker_create_issue", "deleteIssue"]
    assert "1 said by another kind" in found.shares[1].why


def test_a_passage_that_repeats_rules_is_left_out() -> None:
    """The same words in a row; a passage about the same subject stays."""
    law = "Never rewrite the history of a branch that others have seen. Ask before you force a push."
    rules = SourcePieces((piece("rules", "git", 0.9, text=f"# Git\n\n{law}\nAnswer briefly."),))
    passages = SourcePieces(
        (piece("passages", "copy", 0.8, text=law.upper()), piece("passages", "other", 0.7, text=f"Why: {law[:20]} ..."))
    )

    found = allocate([("rules", rules), ("passages", passages)], {"passages": (0.9,)})

    assert [one.name for one in found.pieces] == ["git", "other"]


def test_shares_say_what_was_delivered() -> None:
    """With the cost, and with what found no room."""
    first, second = piece("tools", "log", 0.9, 30), piece("tools", "show", 0.8, 40)
    shares = allocate([("tools", SourcePieces((first, second)))], {"tools": (0.9,)}).shares

    (share,) = delivered(shares, [replace(first, value=0.8)], ["tools"])

    assert (share.offered, share.taken, share.tokens, share.probability) == (2, 1, 30, 0.9)
    assert "1 over the budget" in share.why
