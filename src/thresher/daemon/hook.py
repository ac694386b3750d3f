"""`thresher hook`: a client's prompt-submit event in, the rules that the prompt needs out.

    hook:   {"thresher": version, "token": ..., "mode": "hook", "key": ...}
    daemon: {"ok": true, ...}
    hook:   text 123                                (or `json 123`), then 123 bytes: the event as the client sent it
    daemon: +the text to print                      (or `-` or `!`, the latter for the person, and a line of complaint)

Invariant: it never holds a prompt up: whatever goes wrong, nothing is on standard output, one line on standard error
says why, and the exit code lets the prompt through (never 2, at which clients block it); every wait is within its time
limit. A person waits for it at each prompt, so that it imports next to nothing while all goes well: `json` and `socket`
alone would double its time.
"""

from __future__ import annotations

import os
import sys
from _socket import socket  # the module `socket` imports `selectors` and `enum`
from itertools import pairwise
from select import select
from time import monotonic

from thresher import __version__
from thresher.daemon.folder import data_dir, own_key

SECONDS = 2.0
"""The maximum time that a prompt waits by default."""
EVENT_LIMIT = 4 * 1024 * 1024
"""Bytes of an event: a prompt with a pasted log fits."""
PASSED, WRONG = 0, 1
"""Exit codes. Both let the prompt through; with 1 the client shows the person the line on standard error."""
USAGE = "usage: thresher hook [--timeout SECONDS] [--json] < EVENT; or thresher hook --settings claude"
CLIENTS = ("claude",)
"""Clients whose settings `--settings` knows."""
_CHUNK = 65_536
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_UNIX, _INTERNET, _STREAM = 1, 2, 1  # AF_UNIX, AF_INET and SOCK_STREAM everywhere


class _Trouble(Exception):
    """The reason why there are no rules."""

    def __init__(self, line: str, code: int = PASSED) -> None:
        super().__init__(line)
        self.code = code


class Options:
    """The options of the command line.

    Args:
        seconds: How long the prompt waits at most.
        form: `text`, or `json` for `hookSpecificOutput`.
        settings: The settings to print instead of rules; empty to print rules.
    """

    __slots__ = ("form", "seconds", "settings")

    def __init__(self, seconds: float = SECONDS, form: str = "text", settings: str = "") -> None:
        self.seconds = seconds
        self.form = form
        self.settings = settings


def run_hook(arguments: list[str]) -> int:
    """Read an event from standard input and print the rules that its prompt needs.

    Args:
        arguments: The command line after `hook`.

    Returns:
        0, or 1 where the person should read the line on standard error. The prompt goes through in either case.
    """
    try:
        options = _options(arguments)
        said = options.settings.encode() if options.settings else _answer(options)
        _print(said)
        return PASSED
    except _Trouble as trouble:
        return _complain(str(trouble), trouble.code)
    except TimeoutError:
        return _complain("no answer in time; the prompt goes on without rules.", PASSED)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - a face: a prompt goes through whatever went wrong
        return _complain(f"something unexpected went wrong: {type(error).__name__}: {error}", PASSED)


def _options(arguments: list[str]) -> Options:
    options, rest = Options(), list(arguments)
    while rest:
        name, joined, value = rest.pop(0).partition("=")
        if name == "--json" and not joined:
            options.form = "json"
            continue
        if not joined and rest:
            value = rest.pop(0)
        if name == "--timeout" and (seconds := _number(value)):
            options.seconds = seconds
        elif name == "--settings" and value in CLIENTS:
            options.settings = _settings()
        else:
            raise _Trouble(USAGE, WRONG)
    return options


def _settings() -> str:
    """The entry for the client's settings file; its command needs no PATH, and no folder can shadow its module."""
    import json  # noqa: PLC0415 - see the invariant
    from shlex import quote  # noqa: PLC0415 - as above

    # In double quotes both shells of Windows take a path as it is, and no path there holds one.
    python = f'"{sys.executable}"' if sys.platform == "win32" else quote(sys.executable)
    hook = {"type": "command", "command": f"{python} -P -m thresher hook", "timeout": 5}
    return json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}, indent=2, ensure_ascii=False) + "\n"


def _number(text: str) -> float:
    """A number of seconds above 0; 0 for anything else."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return min(seconds, 600.0) if seconds > 0 else 0.0  # no number is greater than NaN


def _answer(options: Options) -> bytes:
    deadline = monotonic() + options.seconds
    event = _input(deadline)
    link = _greeted(deadline)
    if link is None:
        return _start(event)
    link.settimeout(_left(deadline))
    link.sendall(f"{options.form} {len(event)}\n".encode() + event)
    answer = _all(link, deadline)
    if answer[:1] == b"+":
        return answer[1:]
    if answer[:1] in (b"-", b"!"):
        raise _Trouble(answer[1:].decode("utf-8", "replace"), WRONG if answer[:1] == b"!" else PASSED)
    raise _Trouble("the daemon ended before it had answered; the prompt goes on without rules.")


def _input(deadline: float) -> bytes:
    if os.isatty(_STDIN):
        raise _Trouble(f"an event is expected on standard input. {USAGE}", WRONG)
    pieces: list[bytes] = []
    size = 0
    while size <= EVENT_LIMIT:
        if sys.platform != "win32" and not select([_STDIN], [], [], _left(deadline))[0]:
            raise TimeoutError
        piece = os.read(_STDIN, _CHUNK)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
    raise _Trouble(f"the event is longer than {EVENT_LIMIT} bytes; the prompt goes on without rules.", WRONG)


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _greeted(deadline: float) -> socket | None:
    """A connection after its handshake; None if no daemon runs."""
    card = _card()
    if card is None or (link := _connected(card[0], deadline)) is None:
        return None
    link.settimeout(_left(deadline))
    link.sendall(_line({"thresher": __version__, "token": card[1], "mode": "hook", "key": own_key()}))
    said = b""
    while not said.endswith(b"\n"):
        link.settimeout(_left(deadline))
        piece = link.recv(_CHUNK)
        if not piece:
            raise _Trouble("the daemon is ending; the prompt goes on without rules.")
        said += piece
    if not said.startswith(b'{"ok": true'):
        refusal = _decoded(said)
        raise _Trouble(f"{refusal.get('message')} {refusal.get('hint')}")
    return link


def _card() -> tuple[str, str] | None:
    """Address and token of the daemon that wrote its card last."""
    try:
        with open(os.path.join(data_dir(), "daemon.json"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    fields = _decoded(text) if "\\" in text else _strings(text)
    address, token = fields.get("address"), fields.get("token")
    return (str(address), str(token)) if address and token else None


def _strings(text: str) -> dict[str, object]:
    """The text values of a JSON object without escapes, by name: each string by the one before it."""
    strings = text.split('"')[1::2]
    return dict(pairwise(strings))


def _decoded(text: str | bytes) -> dict[str, object]:
    import json  # noqa: PLC0415 - see the invariant

    try:
        value: object = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON has no others


def _connected(address: str, deadline: float) -> socket | None:
    scheme, _, target = address.partition(":")
    link = socket(_UNIX if scheme == "unix" else _INTERNET, _STREAM)
    link.settimeout(_left(deadline))
    try:
        if scheme == "unix":
            link.connect(target)
        else:  # not run by the tests
            from thresher.daemon.lock import is_free  # noqa: PLC0415 - see the invariant

            if is_free(os.path.join(data_dir(), "daemon.lock")):  # the port may belong to somebody else by now
                raise ConnectionRefusedError
            host, _, port = target.rpartition(":")
            link.connect((host, int(port)))
    except TimeoutError:
        raise
    except (OSError, ValueError):
        link.close()
        return None
    return link


def _line(fields: dict[str, str]) -> bytes:
    """A line of JSON; plain values, as ours always are, need no encoder."""
    text = "".join(fields.values())
    if not text.isascii() or not text.isprintable() or '"' in text or "\\" in text:
        import json  # noqa: PLC0415 - see the invariant

        return json.dumps(fields).encode() + b"\n"
    return ("{" + ", ".join(f'"{name}": "{value}"' for name, value in fields.items()) + "}\n").encode()


def _all(link: socket, deadline: float) -> bytes:
    pieces: list[bytes] = []
    while True:
        link.settimeout(_left(deadline))
        try:
            piece = link.recv(_CHUNK)
        except ConnectionError:
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _start(data: bytes) -> bytes:
    """Start a daemon for the next prompt without waiting, which takes seconds."""
    from thresher.daemon import event, failure, paths, process  # noqa: PLC0415 - see the invariant

    try:
        event.read_event(data)
        process.start_in_background(paths.here())
    except event.WrongEvent as error:
        raise _Trouble(str(error), WRONG) from None
    except failure.DaemonFailure as error:
        raise _Trouble(str(error)) from None
    raise _Trouble("no daemon ran; one is starting, and the next prompt gets its rules.")


def _print(text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(_STDOUT, view) :]


def _complain(line: str, code: int) -> int:
    """Print one line; a closed standard error is not a failure."""
    try:
        os.write(_STDERR, f"thresher hook: {' '.join(line.split())}\n".encode("utf-8", "replace"))
    except OSError:
        return code
    return code
