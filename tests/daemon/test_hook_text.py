"""What a hook prints of a prompt: within the client's limit, and what is left out is named."""

from __future__ import annotations

from thresher.context import Prompt
from thresher.core import Rule
from thresher.daemon.server.hook_session import CHARACTERS, hook_text
from thresher.knowledge.intents import Decision


def prompt(**rules: str) -> Prompt:
    """A prompt with the rules of some packs, best first."""
    return Prompt("the person's words", Decision(), tuple(Rule(name, text, "user") for name, text in rules.items()))


def lines(characters: int) -> str:
    """Rules of about so many characters."""
    return "".join(f"{number}. Do this, then that.\n" for number in range(1, characters // 24))


def test_rules_are_printed_whole_without_the_request() -> None:
    """The model gets the request anyway."""
    text, whole = hook_text(prompt(git="Commit often.", mail="Be polite."))

    assert "Commit often." in text
    assert "Be polite." in text
    assert "the person's words" not in text
    assert whole == ("git", "mail")


def test_rules_that_do_not_fit_are_named_with_the_way_to_them() -> None:
    """The best rules stay whole, and only they count as given."""
    text, whole = hook_text(prompt(git=lines(7_000), mail=lines(6_000), note="Short."))

    assert len(text) <= CHARACTERS
    assert lines(7_000).strip() in text
    assert "Short." in text
    assert "process_prompt" in text
    assert ": mail" in text or "\nmail" in text
    assert whole == ("git", "note")


def test_rules_that_are_too_long_alone_are_cut_between_lines() -> None:
    """A part is better than nothing; they do not count as given."""
    text, whole = hook_text(prompt(git=lines(30_000)))

    assert len(text) <= CHARACTERS
    assert len(text) > CHARACTERS * 0.8
    assert "1. Do this, then that.\n" in text
    assert "process_prompt" in text
    assert whole == ()


def test_a_rule_without_line_breaks_is_cut_too() -> None:
    """Whatever a pack holds, the limit holds."""
    text, _ = hook_text(prompt(git="x" * 50_000))

    assert len(text) <= CHARACTERS
