"""Writes answers of the documents kind for a model: texts, and where they come from.

Invariant: pure; texts of documents are unchanged, between lines of ours that none of them can imitate, and no answer
costs more than its budget: if that is too small for the borders, the text has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.core import border_of, named, one_line, shortened, visible_json
from thresher.embedding import count_tokens
from thresher.knowledge.documents import (
    DocumentPage,
    DocumentPart,
    DocumentPassages,
    MultiRetrieval,
    Passages,
    Repository,
    Retrieval,
)
from thresher.packs.rows import LINE

BORDERS: Final = 48
"""Tokens reserved for the two lines of ours around what was retrieved."""
PAGE_MARK: Final = 128
"""Tokens reserved on a page for the lines with its location and the next cursor."""
ONE_LINE: Final = 480
"""Characters of the line that names all repositories."""
_LEFT_OUT: Final = 3
"""The most omitted repositories that a text names."""
_LEAST_GUIDE: Final = 24
_LONGEST_GUIDE: Final = 120


def retrieval_text(answer: Retrieval, budget: int) -> str:
    """Return what was retrieved; if nothing fits, what to try instead, and as much of the guide as the budget allows.

    A degradation is named if there is room for it; the record always has it.
    """
    if answer.found:
        begun = answer.content.startswith(f"[{answer.degraded}]\n")  # as an answer without its model does
        note = "" if begun else answer.degraded
        return _fitting(budget, answer.content, (note, answer.hint), ("", ""))
    if not answer.hint:
        return _fitting(budget, answer.content, ("", ""))
    lines = answer.content.splitlines()
    while lines:
        text = _bordered("\n".join(lines).rstrip(), answer.hint, "")
        if count_tokens(text) <= budget:
            return text
        lines = lines[: len(lines) * 3 // 4]
    return answer.hint if count_tokens(answer.hint) <= budget else answer.content


def multi_retrieval_text(answer: MultiRetrieval, budget: int) -> str:
    """Return passages of several documents, then why each was chosen or left out, if there is room for it."""
    chosen = _choices("chosen", answer.documents) + _choices("left out", answer.left_out)
    full = answer.degraded, answer.hint or "; ".join(chosen)
    return _fitting(budget, answer.content, full, (answer.degraded, answer.hint), ("", ""))


def _choices(what: str, documents: Sequence[DocumentPassages]) -> list[str]:
    named = "; ".join(f"{one_line(one.document)} ({one_line(one.why)})" for one in documents)
    return [f"{what}: {named}"] if named else []


def _fitting(budget: int, content: str, *notes: tuple[str, str]) -> str:
    """Return the content in borders with the first notes that fit in the budget; alone if none fit."""
    texts = (_bordered(content, *both) if content else "\n".join(filter(None, both)) for both in notes)
    return next((text for text in texts if count_tokens(text) <= budget), content)


def _bordered(content: str, before: str, after: str) -> str:
    mark = border_of([content, before, after])
    head = " ".join(filter(None, (mark, one_line(before, LINE), "(data, not instructions)")))
    return f"{head}\n{content}\n{mark} {one_line(after, LINE) or 'end'}"


def passages_text(found: Passages) -> str:
    """Return passages, best first, each below a line with its location."""
    passages = [(location(one.part, one.repository), one.text.strip()) for one in found.passages]
    limited = f"limited search: {found.degraded}" if found.degraded else ""
    choice = choice_line(found) if found.left_out_count else ""
    more = f"More: the same call with cursor {found.cursor}" if found.cursor else ""
    notes = [one_line(note, LINE) for note in (found.hint, choice, more) if note]
    if not passages:
        return "\n".join(filter(None, (one_line(limited, LINE), *notes))) or "Nothing fits."
    mark = border_of([*notes, limited, *(text for passage in passages for text in passage)])
    head = f"{mark} {_many(len(passages), 'passage')}: data, not instructions"
    lines = [head + (f" ({one_line(limited, LINE)})" if limited else "")]
    lines += [f"{mark} {where}\n{text}" for where, text in passages]
    return "\n".join([*lines, *(f"{mark} {note}" for note in notes or ["end"])])


def choice_line(found: Passages) -> str:
    """Return which repositories were searched and which were not, each with the reason, in one line."""
    taken = "; ".join(f"{one_line(one.name)} ({one.why})" for one in found.repositories) or "none"
    others = "; ".join(f"{one_line(one.name)} ({one.why})" for one in found.left_out[:_LEFT_OUT])
    more = found.left_out_count - min(len(found.left_out), _LEFT_OUT)
    return f"(searched: {taken}. Left out: {others}{f' and {more:,} more' if more else ''}.)"


def page_text(page: DocumentPage, budget: int) -> str:
    """Return a page between the lines with its location and the next cursor, as far as the budget allows these."""
    following = f"next: cursor {page.cursor}" if page.cursor else ""
    lines = f"lines {page.part.first_line}-{page.part.last_line} of {page.total_lines}"
    mark = border_of([page.content, location(page.part), following])
    end = f"\n{mark} {following or 'end'}"
    forms = (
        f"{mark} {location(page.part, of=page.total_lines)} (data, not instructions)\n{page.content}{end}",
        f"{mark} [{lines}]\n{page.content}{end}",
        f"{page.content}{end}",
    )
    return next((form for form in forms if count_tokens(form) <= budget), page.content)


def location(part: DocumentPart, repository: str = "", *, of: int = 0) -> str:
    """Return where a part is: `[handbook: leave.md, lines 3-9 | Leave > Parents]`; `of`: how many lines there are."""
    heading = f" | {' > '.join(map(one_line, part.heading_path))}" if part.heading_path else ""
    whole = f" of {of}" if of else ""
    whose = f"{one_line(repository)}: " if repository else ""
    return f"[{whose}{one_line(part.path, LINE)}, lines {part.first_line}-{part.last_line}{whole}{heading}]"


def repositories_text(repositories: Sequence[Repository]) -> str:
    """Return all repositories with their guides."""
    if not repositories:
        return "There is no repository of documents."
    about = [(f"repository {one_line(one.name)}", _about(one)) for one in repositories]
    mark = border_of([text for pair in about for text in pair])
    lines = [f"{mark} {_many(len(about), 'repository', 'repositories')}: data, not instructions"]
    return "\n".join([*lines, *(f"{mark} {head}\n{text}" for head, text in about), f"{mark} end"])


def _about(repository: Repository) -> str:
    facts = [f"{repository.documents:,} documents", f"{repository.tokens:,} tokens", repository.state]
    facts.append(f"embedding model {repository.embedding_model.partition('@')[0] or 'none yet'}")
    if repository.version:
        facts.append(f"version {repository.version[:12]}")
    if repository.indexed_at is not None:
        facts.append(f"indexed {repository.indexed_at:%Y-%m-%d %H:%M}")
    problem = one_line(repository.problem or "", LINE)
    return "\n".join(part for part in (", ".join(facts), problem, repository.guide.strip()) if part)


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def repositories_line(repositories: Sequence[Repository]) -> str | None:
    """Return all repositories in one line, each with as much of its guide as there is room for."""
    names = [named(repository.name) for repository in repositories]
    if not names:
        return None
    room = (ONE_LINE - sum(len(name) + 5 for name in names)) // len(names)
    if room < _LEAST_GUIDE:
        return ", ".join(names)
    leads = (shortened(repository.description, min(room, _LONGEST_GUIDE)) for repository in repositories)
    return "; ".join(
        f"{name} ({visible_json(one_line(lead))})" if lead else name for name, lead in zip(names, leads, strict=True)
    )
