"""A client's environment variables: its data folder, key and project.

Invariant: `os` and `sys` only, and the same data folder as `thresher.core.settings` (a test compares them).
"""

from __future__ import annotations

import os
import sys


def data_dir() -> str:
    """The data folder as an absolute path: `THRESHER_DATA_DIR`, or the user's own data folder."""
    given = variable("THRESHER_DATA_DIR")
    return os.path.abspath(os.path.expanduser(given or _default_data_dir()))


def own_key() -> str:
    """The key of the caller as whom this client acts: `THRESHER_KEY`; empty: the owner of the data folder."""
    return variable("THRESHER_KEY")


def own_project() -> str:
    """This client's folder: `THRESHER_PROJECT`, or the working directory; empty if that no longer exists."""
    try:
        given = variable("THRESHER_PROJECT")
        return os.path.abspath(os.path.expanduser(given)) if given else os.getcwd()
    except OSError:
        return ""


def own_expose() -> str:
    """What `tools/list` shows to this client: `THRESHER_EXPOSE`; empty: what the daemon's setting says."""
    return variable("THRESHER_EXPOSE")


def own_variables() -> dict[str, str]:
    """The settings in the environment of this client, apart from those that concern the client alone."""
    own = ("THRESHER_DATA_DIR", "THRESHER_EXPOSE", "THRESHER_KEY", "THRESHER_PROJECT")
    names = [name for name in os.environ if name.startswith("THRESHER_") and name not in own]  # noqa: TID251 - as below
    return {name: value for name in names if (value := variable(name))}


def variable(name: str) -> str:
    """A variable of the environment, without blanks around it; empty when it is not set."""
    return os.environ.get(name, "").strip()  # noqa: TID251 - core.settings costs more than Python's own start


def _default_data_dir() -> str:
    if sys.platform == "win32":  # not run by the tests
        return os.path.join(variable("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local"), "thresher")
    if os.geteuid() == 0:
        return "/var/lib/thresher"
    if sys.platform == "darwin":  # not run by the tests
        return os.path.expanduser("~/Library/Application Support/thresher")
    return os.path.join(variable("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "thresher")
