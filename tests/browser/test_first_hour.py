"""From an empty folder to the first right answer, by what is on the screen alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from tests.browser.checks import tab_to
from tests.browser.conftest import Visit
from tests.fakes import stdio_server
from tests.api.serving import Served

MOST_CLICKS = 8
SERVER = Path(stdio_server.__file__)


class Clicks:
    """Clicks that a person makes, counted."""

    def __init__(self) -> None:
        self.count = 0

    async def on(self, target: Locator) -> None:
        """Click something that is on the screen."""
        await expect(target).to_be_visible()
        await target.click()
        self.count += 1


def _file() -> str:
    return json.dumps({"mcpServers": {"notes": {"command": sys.executable, "args": [str(SERVER)]}}})
