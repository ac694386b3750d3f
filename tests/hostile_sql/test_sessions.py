"""Without the guard: what sessions prevent by themselves, with a role that may write.

The guard is one wall and the session another. Here the first is left out, so that its mistakes are shown to do no harm
to data.
"""

from __future__ import annotations

from tests.hostile_sql.corpus import ideas
from tests.hostile_sql.engines import Live


async def test_no_idea_changes_data_or_files_even_unguarded(live: Live) -> None:
    """Each is run as it is; afterwards rows, objects, settings, counters and files are unchanged."""
    before = await live.traces()
    for idea in ideas(live.name):
        text = idea.filled(file=str(live.file))
        if idea.kind == "statement":
            await live.attempt(text)
        else:
            await live.attempt(f"SELECT {text}" if idea.kind == "expression" else f"SELECT * FROM {text}")

    after = await live.traces()

    assert after == before
    assert not live.file.exists()


async def test_no_idea_leaves_anything_in_the_session_even_unguarded(live: Live) -> None:
    """The next user's statement finds settings, locks, role and cursors unchanged."""
    before = await live.kept()
    for idea in ideas(live.name):
        if idea.kind == "statement":
            await live.attempt(idea.filled(file=str(live.file)))

    after = await live.kept()

    assert after == before
