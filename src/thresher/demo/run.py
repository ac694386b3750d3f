"""`thresher demo`: the tour on a terminal, or as JSON.

Invariant: an interrupt ends it with 130 and leaves no process. With `json`, standard output holds one document only.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from thresher.core import ConfigurationError, Settings, configure_logging, dumps
from thresher.demo import views
from thresher.demo.catalogue import Catalogue, read_catalogue
from thresher.demo.folder import demo_folder
from thresher.demo.report import (
    CallRecord,
    DemoReport,
    IndexingResult,
    LiveServer,
    PassageResult,
    RulesResult,
    ToolsResult,
    report_json,
)
from thresher.demo.servers import MissingServer
from thresher.demo.tour import tour
from thresher.gateway import clients, own_command

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
        """Show that the tour begins."""
        self._status.start()

    def started(self, seconds: float, folder: Path) -> None:
        """Show that the database is ready."""
        self._console.print(views.heading("Database"))
        self._console.print(f"  An embedded PostgreSQL of its own, ready in {seconds:.1f} s", soft_wrap=True)
        self._console.print(f"  {folder}", style="dim", soft_wrap=True)
        self._console.print(views.heading("Servers"))
        self._status.update("starting real MCP servers; those from npm are downloaded the first time")

    def connected(self, servers: Sequence[LiveServer], left_out: Sequence[MissingServer]) -> None:
        """Show which servers answered."""
        self._status.stop()
        self._console.print(views.server_table(servers, left_out))
        self._console.print(views.heading("Index"))

    def indexed(self, done: int, total: int) -> None:
        """Show how many tools are indexed."""
        if not self._progress.live.is_started:
            self._progress.reset(self._bar)
            self._progress.start()
        self._progress.update(self._bar, completed=done, total=total)

    def ready(self, indexing: IndexingResult, encoder: str) -> None:
        """Show that all tools are indexed."""
        self._progress.stop()
        self._console.print(views.indexing_line(indexing, encoder))
        self._console.print(views.heading("Messages"))
        self._console.print(views.legend())

    def answered(self, answer: ToolsResult) -> None:
        """Show the tools for a message."""
        self._number += 1
        self._console.print("", views.answer(self._number, answer), sep="\n")

    def guided(self, guided: RulesResult) -> None:
        """Show the rules for a message."""
        if not self._guided:
            self._console.print(views.heading("Rules"))
        self._guided += 1
        self._console.print(*([""] if self._guided > 1 else []), views.guided(self._guided, guided), sep="\n")

    def called(self, called: CallRecord) -> None:
        """Show a call."""
        if not self._called:
            self._console.print(views.heading("Calls"))
            self._called = True
        self._console.print(views.call(called))

    def consulted(self, consulted: PassageResult) -> None:
        """Show the passages for a question."""
        if not self._consulted:
            self._console.print(views.heading("Documents"))
        self._consulted += 1
        spaced = [""] if self._consulted > 1 else []
        self._console.print(*spaced, views.consulted(self._consulted, consulted), sep="\n")

    def close(self) -> None:
        """Restore the terminal, however the tour ended."""
        self._status.stop()
        self._progress.stop()

    def finished(self, report: DemoReport, command: str) -> None:
        """Show the summary and the next steps."""
        self._console.print(views.heading("Summary"))
        self._console.print(views.summary(report))
        self._console.print(views.heading("Connect your client"))
        for line in views.connections(clients(command)):
            self._console.print(line, soft_wrap=True)
        self._console.print(views.next_steps())


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
        settings: The user's settings; the demo's data is in `demo` in their data folder.
        json: Print one JSON document only.
        fresh: Start with an empty database, so that every tool is embedded again.
        console: Where the tour is shown; the terminal by default.
        catalogue: Tool definitions besides the real servers'; the shipped ones by default.

    Returns:
        0; 130 after an interrupt.

    Raises:
        ThresherError: The database or the encoder cannot be used.
    """
    console = console or Console(highlight=False)
    if console.width > views.WIDTH or not console.is_terminal:
        console.width = views.WIDTH
    screen = Screen(Console(quiet=True) if json else console)
    try:
        screen.begin()
        report = _recorded(settings, catalogue or read_catalogue(), screen, fresh=fresh)
    except KeyboardInterrupt:
        screen.close()
        if not json:
            console.print("Interrupted. Nothing was left running.", style="yellow")
        return INTERRUPTED
    finally:
        screen.close()
    if json:
        sys.stdout.write(dumps(report_json(report), indent=2) + "\n")
    else:
        screen.finished(report, own_command(sys.executable))
    return 0


def _recorded(settings: Settings, catalogue: Catalogue, screen: Screen, *, fresh: bool) -> DemoReport:
    folder = demo_folder(settings)
    try:
        folder.prepare(fresh=fresh)
        log = folder.log.open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{folder.root} cannot be used: {error.strerror}.", hint="Set THRESHER_DATA_DIR."
        ) from error
    with log:
        configure_logging(settings.log_level, log, text=settings.log_text == "on")
        return asyncio.run(tour(settings, folder, catalogue, screen))
