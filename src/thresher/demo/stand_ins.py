"""Two small MCP servers that replace reference servers which are not installed.

It is a program: `python -P stand_ins.py time`, or `python -P stand_ins.py git FOLDER`.

Invariant: tools have the names and parameters of those in mcp-server-time and mcp-server-git. The git server works in
one folder only.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastmcp import FastMCP
from mcp_types import ToolAnnotations
from pydantic import Field

from thresher import __version__

Zone = Annotated[str, Field(description="IANA timezone name, such as 'America/New_York' or 'Europe/London'")]
Clock = Annotated[str, Field(description="Time to convert, HH:MM in 24 hours")]
_READS = ToolAnnotations(read_only_hint=True)
_VERSION = f"{__version__} of Thresher"


def time_server() -> FastMCP[Any]:
    """A server that returns and converts times."""
    server: FastMCP[Any] = FastMCP("time", version=_VERSION)

    @server.tool(annotations=_READS)
    def get_current_time(timezone: Zone) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction] - registered
        """Get current time in a specific timezone."""
        return _moment(datetime.now(ZoneInfo(timezone)))

    @server.tool(annotations=_READS)
    def convert_time(source_timezone: Zone, time: Clock, target_timezone: Zone) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction] - registered
        """Convert time between timezones."""
        clock = datetime.strptime(time, "%H:%M").time()
        source = datetime.combine(datetime.now(ZoneInfo(source_timezone)), clock, ZoneInfo(source_timezone))
        target = source.astimezone(ZoneInfo(target_timezone))
        hours = (_offset(target) - _offset(source)) / 3600
        return {"source": _moment(source), "target": _moment(target), "time_difference": f"{hours:+g}h"}

    return server


def git_server(folder: Path) -> FastMCP[Any]:
    """A server that reads a repository and commits to it.

    Args:
        folder: The repository; other paths are refused.
    """
    server: FastMCP[Any] = FastMCP("git", version=_VERSION)

    def git(repo_path: str, *arguments: str) -> str:
        if Path(repo_path).resolve() != folder.resolve():
            raise ValueError(f"This server works in {folder} alone.")
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    @server.tool(annotations=_READS)
    def git_status(repo_path: str) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        """Shows the working tree status."""
        return git(repo_path, "status")

    @server.tool(annotations=_READS)
    def git_log(repo_path: str, max_count: int = 10) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        """Shows the commit logs."""
        form = "Commit: %H%nAuthor: %an%nDate: %ai%nMessage: %s%n"
        return "Commit history:\n" + git(repo_path, "log", f"--max-count={max_count}", f"--format={form}")

    @server.tool(annotations=_READS)
    def git_diff_unstaged(repo_path: str) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        """Shows changes in the working directory that are not yet staged."""
        return git(repo_path, "diff")

    @server.tool(annotations=_READS)
    def git_diff_staged(repo_path: str) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        """Shows changes that are staged for commit."""
        return git(repo_path, "diff", "--cached")

    @server.tool
    def git_add(repo_path: str, files: list[str]) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        """Adds file contents to the staging area."""
        return git(repo_path, "add", "--", *files) or "Files staged successfully"

    @server.tool
    def git_commit(repo_path: str, message: str) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        """Records changes to the repository."""
        return git(repo_path, "commit", f"--message={message}")

    return server


def _moment(at: datetime) -> dict[str, Any]:
    return {
        "timezone": str(at.tzinfo),
        "datetime": at.isoformat(timespec="seconds"),
        "day_of_week": f"{at:%A}",
        "is_dst": bool(at.dst()),
    }


def _offset(at: datetime) -> float:
    return offset.total_seconds() if (offset := at.utcoffset()) is not None else 0.0


if __name__ == "__main__":
    which, *places = sys.argv[1:]
    (time_server() if which == "time" else git_server(Path(places[0]))).run(show_banner=False)
