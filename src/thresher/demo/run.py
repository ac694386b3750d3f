"""`thresher demo`: the tour on a terminal, or as JSON.

Invariant: an interrupt ends it with 130 and leaves no process; standard output holds the JSON document alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from thresher.core import ConfigurationError, Settings, configure_logging, dumps
from thresher.demo import present
from thresher.demo.catalogue import Catalogue, read_catalogue
from thresher.demo.clients import clients, own_command
from thresher.demo.place import place_of
from thresher.demo.report import Answer, Called, Consulted, Guided, Indexing, LiveServer, Report, report_json
from thresher.demo.servers import LeftOut
from thresher.demo.tour import tour

INTERRUPTED = 130


class Screen:
    """Shows the tour as it happens."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._number = 0
        self._called = False
        self._guided = 0
        self._consulted = 0
        self._progress = Progress(
            TextColumn("  indexing"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TextColumn("tools"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._status = console.status("starting an embedded PostgreSQL")
        self._bar = self._progress.add_task("index", total=None)

    def begin(self) -> None:
        """Before anything has been started."""
        self._status.start()

    def started(self, seconds: float, folder: Path) -> None:
        """The database is ready."""
        self._console.print(present.heading("Database"))
        self._console.print(f"  An embedded PostgreSQL of its own, ready in {seconds:.1f} s", soft_wrap=True)
        self._console.print(f"  {folder}", style="dim", soft_wrap=True)
        self._console.print(present.heading("Servers"))
        self._status.update("starting real MCP servers; those from npm are downloaded the first time")

    def connected(self, servers: Sequence[LiveServer], left_out: Sequence[LeftOut]) -> None:
        """The real servers have answered, or not."""
        self._status.stop()
        self._console.print(present.server_table(servers, left_out))
        self._console.print(present.heading("Index"))

    def indexed(self, done: int, total: int) -> None:
        """So many tools are in the index."""
        if not self._progress.live.is_started:
            self._progress.reset(self._bar)
            self._progress.start()
        self._progress.update(self._bar, completed=done, total=total)

    def ready(self, indexing: Indexing, encoder: str) -> None:
        """All tools are in the index."""
        self._progress.stop()
        self._console.print(present.indexing_line(indexing, encoder))
        self._console.print(present.heading("Messages"))
        self._console.print(present.legend())

    def answered(self, answer: Answer) -> None:
        """Tools were found for a message."""
        self._number += 1
        self._console.print("", present.answer(self._number, answer), sep="\n")

    def guided(self, guided: Guided) -> None:
        """Rules were found for a message, or rightly none."""
        if not self._guided:
            self._console.print(present.heading("Rules"))
        self._guided += 1
        self._console.print(*([""] if self._guided > 1 else []), present.guided(self._guided, guided), sep="\n")

    def called(self, called: Called) -> None:
        """A tool was called."""
        if not self._called:
            self._console.print(present.heading("Calls"))
            self._called = True
        self._console.print(present.call(called))

    def consulted(self, consulted: Consulted) -> None:
        """Passages were found for a question, or rightly none."""
        if not self._consulted:
            self._console.print(present.heading("Documents"))
        self._consulted += 1
        spaced = [""] if self._consulted > 1 else []
        self._console.print(*spaced, present.consulted(self._consulted, consulted), sep="\n")

    def close(self) -> None:
        """Give the terminal back, whatever happened."""
        self._status.stop()
        self._progress.stop()

    def finished(self, report: Report, command: str) -> None:
        """The summary, and how to go on."""
        self._console.print(present.heading("Summary"))
        self._console.print(present.summary(report))
        self._console.print(present.heading("Connect your client"))
        for line in present.connections(clients(command)):
            self._console.print(line, soft_wrap=True)
        self._console.print(present.next_steps())


def run(
    settings: Settings,
    *,
    json: bool = False,
    fresh: bool = False,
    console: Console | None = None,
    catalogue: Catalogue | None = None,
) -> int:
    """Run the demo.

    Args:
        settings: The user's settings; the demo's data lie in `demo` below their data folder.
        json: Print one JSON document and nothing else.
        fresh: Begin with an empty database, so that every tool is embedded again.
        console: Where to show the tour; the terminal unless given.
        catalogue: The tool definitions beside the real servers'; the shipped ones unless given.

    Returns:
        0; 130 after an interrupt.

    Raises:
        ThresherError: The database or the encoder cannot be used.
    """
    console = console or Console(highlight=False)
    if console.width > present.WIDTH or not console.is_terminal:
        console.width = present.WIDTH
    screen = Screen(Console(quiet=True) if json else console)
    try:
        screen.begin()
        report = _recorded(settings, catalogue or read_catalogue(), screen, fresh=fresh)
    except KeyboardInterrupt:
        screen.close()
        if not json:
            console.print("Interrupted: nothing was left running.", style="yellow")
        return INTERRUPTED
    finally:
        screen.close()
    if json:
        sys.stdout.write(dumps(report_json(report), indent=2) + "\n")
    else:
        screen.finished(report, own_command(sys.executable))
    return 0


def _recorded(settings: Settings, catalogue: Catalogue, screen: Screen, *, fresh: bool) -> Report:
    place = place_of(settings)
    try:
        place.prepare(fresh=fresh)
        log = place.log.open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{place.root} cannot be used: {error.strerror}.", hint="Set THRESHER_DATA_DIR."
        ) from error
    with log:
        configure_logging(settings.log_level, log, text=settings.log_text == "on")
        return asyncio.run(tour(settings, place, catalogue, screen))
