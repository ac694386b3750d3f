"""Memory that only the start needed goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LOADED_AND_RETURNED = r"""
import psutil
from thresher.daemon.memory import return_memory
from thresher.embedding import count_tokens

text = "All of it can still be read: na\u00efve \u6f22\u5b57."
counted = count_tokens(text)
before = psutil.Process().memory_info().rss
return_memory()
after = psutil.Process().memory_info().rss
assert count_tokens(text) == counted
print(before - after)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are returned on Linux alone")
def test_pages_of_libraries_that_were_read_once_are_returned_and_can_still_be_used() -> None:
    """The tables of the token counter alone are 32 MB; the process lives on without them, and counts as before."""
    told = subprocess.run([sys.executable, "-c", _LOADED_AND_RETURNED], capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr
    assert int(told.stdout) > 30 * 2**20
