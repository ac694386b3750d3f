"""Writes answers of the documents kind for a model: the text that stands there, and where it stands.

Invariant: pure; texts of documents go out as they are, and no answer costs more than the budget that was given for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.core import shortened
from thresher.embedding import count_tokens
from thresher.knowledge.documents import Page, Part, Passages, Repository, Retrieval

PAGE_MARK: Final = 96
"""Tokens kept free on a page for the line that says where it lies and how to go on."""
ONE_LINE: Final = 480
"""Characters of the line that names all repositories."""
_LEFT_OUT: Final = 3
"""Repositories left out that a model is told of by name."""
_LEAST_GUIDE: Final = 24
_LONGEST_GUIDE: Final = 120


def retrieval_text(answer: Retrieval, budget: int) -> str:
    """What was retrieved; where nothing fits, what to try instead, and as much of the guide as the budget leaves.

    What is weaker than asked for is said where there is room for it; the record says it always.
    """
    if answer.found:
        said = f"[{answer.degraded}]\n"  # an answer that a model should have written begins with it
        note = f"({answer.degraded})\n" if answer.degraded and not answer.content.startswith(said) else ""
        advice = f"\n({answer.hint})" if answer.hint else ""
        noted = f"{note}{answer.content}{advice}".strip() if note or advice else answer.content
        return noted if count_tokens(noted) <= budget else answer.content
    if not answer.hint:
        return answer.content
    lines = [answer.hint, "", *answer.content.splitlines()]
    while len(lines) > 1 and count_tokens("\n".join(lines)) > budget:
        lines = lines[: max(1, len(lines) * 3 // 4)]
    text = "\n".join(lines).rstrip()
    return text if count_tokens(text) <= budget else answer.content


def passages_text(found: Passages) -> str:
    """Passages, best first, each under the line that says where it lies."""
    parts = [f"{place(one.part, one.repository)}\n{one.text.strip()}" for one in found.passages]
    if found.degraded:
        parts.insert(0, f"(limited search: {found.degraded})")
    if found.hint:
        parts.append(found.hint)
    if found.left_out_count:
        parts.append(choice_line(found))
    if found.cursor:
        parts.append(f"More: the same call with cursor {found.cursor}")
    return "\n\n".join(parts) or "Nothing fits."


def choice_line(found: Passages) -> str:
    """Which repositories were searched and which left out, each with the reason, in one line."""
    taken = "; ".join(f"{one.name} ({one.why})" for one in found.repositories) or "none"
    others = "; ".join(f"{one.name} ({one.why})" for one in found.left_out[:_LEFT_OUT])
    more = found.left_out_count - min(len(found.left_out), _LEFT_OUT)
    return f"(searched: {taken}. Left out: {others}{f' and {more:,} more' if more else ''}.)"


def page_text(page: Page, room: int) -> str:
    """Where a page lies, and how to go on, in so many tokens; the page itself is a text of its own."""
    where = place(page.part, of=page.total_lines)
    after = f"; next: cursor {page.cursor}]" if page.cursor else "]"
    lines = f"[lines {page.part.first_line}-{page.part.last_line} of {page.total_lines}{after}"
    forms = (f"{where[:-1]}{after}", lines, f"[{after[2:]}" if page.cursor else "")
    return next((form for form in forms if count_tokens(form) <= room), "")


def place(part: Part, repository: str = "", *, of: int = 0) -> str:
    """Where a stretch lies: `[handbook: leave.md, lines 3-9 | Leave > Parents]`; `of` how many lines, where known."""
    heading = f" | {' > '.join(part.heading_path)}" if part.heading_path else ""
    whole = f" of {of}" if of else ""
    whose = f"{repository}: " if repository else ""
    return f"[{whose}{part.path}, lines {part.first_line}-{part.last_line}{whole}{heading}]"


def repositories_text(repositories: Sequence[Repository]) -> str:
    """All repositories with their guides."""
    return "\n\n".join(map(_repository, repositories)) or "There is no repository of documents."


def _repository(repository: Repository) -> str:
    facts = [f"{repository.documents:,} documents", f"{repository.tokens:,} tokens", repository.state]
    facts.append(f"embedding model {repository.embedding_model.partition('@')[0] or 'none yet'}")
    if repository.version:
        facts.append(f"version {repository.version[:12]}")
    if repository.indexed_at is not None:
        facts.append(f"indexed {repository.indexed_at:%Y-%m-%d %H:%M}")
    head = f"# Repository {repository.name}\n{', '.join(facts)}"
    return "\n".join(part for part in (head, repository.problem, repository.guide.strip()) if part)


def repositories_line(repositories: Sequence[Repository]) -> str | None:
    """All repositories in one line, each with as many words of its guide as there is room for."""
    names = [repository.name for repository in repositories]
    if not names:
        return None
    room = (ONE_LINE - sum(len(name) + 5 for name in names)) // len(names)
    if room < _LEAST_GUIDE:
        return ", ".join(names)
    leads = (shortened(repository.description, min(room, _LONGEST_GUIDE)) for repository in repositories)
    return "; ".join(f"{name} ({lead})" if lead else name for name, lead in zip(names, leads, strict=True))
