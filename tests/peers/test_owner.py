"""The process at the other end: one contract for each way to determine its user."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from thresher.peers import ConnectionPeer, processes, sockets
from thresher.peers.sockets import End, end

NOBODY = 65534
STRANGER = 4_242
"""A user number without an account."""
Way = Callable[[End, End], bool]
Ends = tuple[tuple[str, int], tuple[str, int]]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes the place of another user")


@pytest.fixture(params=[sockets.is_own_socket, processes.in_table, processes.among_own], ids=["kernel", "table", "own"])
def way(request: pytest.FixtureRequest) -> Way:
    """One way to determine it; Linux offers all three."""
    return request.param


@contextmanager
def connected(family: socket.AddressFamily, host: str, reached_by: str) -> Iterator[tuple[socket.socket, Ends]]:
    """A client's socket, and the ends of its connection as the accepting side names them."""
    with socket.socket(family) as door, socket.socket(socket.AF_INET6 if ":" in reached_by else socket.AF_INET) as one:
        if family == socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        door.bind((host, 0))
        door.listen()
        one.connect((reached_by, door.getsockname()[1]))
        accepted, theirs = door.accept()
        with accepted:
            yield one, (theirs[:2], accepted.getsockname()[:2])


V4 = (socket.AF_INET, "127.0.0.1", "127.0.0.1")
ADDRESSES = {"IPv4": V4, "IPv6": (socket.AF_INET6, "::1", "::1"), "mapped": (socket.AF_INET6, "::", "127.0.0.1")}


@pytest.mark.parametrize("where", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_a_socket_of_our_own_user_is_ours(way: Way, where: tuple[socket.AddressFamily, str, str]) -> None:
    """Over IPv4, over IPv6, and over IPv4 where a socket of IPv6 accepts it."""
    with connected(*where) as (_, ends):
        theirs, ours = (end(*pair) for pair in ends)

        assert way(theirs, ours)
        assert not way(theirs, (ours[0], ours[1] ^ 1))


@pytest.mark.parametrize("where", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_a_closed_socket_is_nobodys(way: Way, where: tuple[socket.AddressFamily, str, str]) -> None:
    """The kernel lists it as root's, which a daemon of root must not take for its own."""
    with connected(*where) as (client, ends):
        client.close()

        assert not way(*(end(*pair) for pair in ends))


CONNECT_AS = """
import ctypes, encodings.idna, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # may be looked at by its user, as after an exec
client = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
print("connected", flush=True)
sys.stdin.read()
"""


@contextmanager
def connected_as(user: int) -> Iterator[Ends]:
    """A connection from a process of another user."""
    pipe = subprocess.PIPE
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = str(door.getsockname()[1])
        process = subprocess.Popen([sys.executable, "-c", CONNECT_AS, str(user), port], stdin=pipe, stdout=pipe)
        door.settimeout(30)
        accepted, theirs = door.accept()
        with accepted, process:
            yield theirs[:2], accepted.getsockname()[:2]
            process.communicate()


@as_root
def test_another_users_socket_is_not_ours(way: Way) -> None:
    """Every account on the machine can use loopback."""
    with connected_as(STRANGER) as ends:
        assert not way(*(end(*pair) for pair in ends))


JUDGE_AS = """
import os, sys
from thresher.peers import processes, sockets
from thresher.peers.sockets import end
ends = end(sys.argv[2], int(sys.argv[3])), end(sys.argv[4], int(sys.argv[5]))
ways = sockets.is_own_socket, processes.is_own_socket, processes.among_own
[way(*ends) for way in ways]  # what Python imports late lies where another user may not read
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
print(*(way(*ends) for way in ways))
"""


def judged_as(user: int, ends: Ends) -> list[str]:
    """The results of all ways in a process of another user."""
    arguments = [str(part) for pair in ends for part in pair]
    command = [sys.executable, "-c", JUDGE_AS, str(user), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@as_root
def test_root_is_not_the_owner_of_another_users_daemon() -> None:
    """A proxy or port forwarder of root speaks for others."""
    with connected(*V4) as (_, ends):
        assert judged_as(STRANGER, ends) == ["False", "False", "False"]


@as_root
def test_a_user_without_rights_recognises_its_own_sockets() -> None:
    """No way needs the rights of root."""
    with connected_as(STRANGER) as ends:
        assert judged_as(STRANGER, ends) == ["True", "True", "True"]


@as_root
def test_a_user_whom_our_namespace_does_not_know_is_not_ours() -> None:
    """The kernel shows all such users by one number, which some daemon may run as."""
    with connected_as(NOBODY) as ends:
        assert judged_as(NOBODY, ends)[0] == "False"


async def test_a_connection_is_judged_once() -> None:
    """The result is valid for the whole connection; it is not determined again for each request."""
    with connected(*V4) as (client, ends):
        peer = ConnectionPeer(*ends)
        before = await peer.is_own_user()
        client.close()

        assert before
        assert await peer.is_own_user()
        assert not await ConnectionPeer(*ends).is_own_user()


@pytest.mark.parametrize("theirs", [("192.0.2.7", 5), ("testclient", 50_000), ("", 0)])
async def test_what_is_not_this_machine_is_not_ours(theirs: tuple[str, int]) -> None:
    """Another machine's address, and the names that other servers have for an end."""
    assert not await ConnectionPeer(theirs, ("127.0.0.1", 80)).is_own_user()


def test_a_peer_is_recognised_once() -> None:
    """The connection is notified once its peer is recognised, and not for each request."""
    heard: list[str] = []
    peer = ConnectionPeer(("127.0.0.1", 1), ("127.0.0.1", 2), lambda: heard.append("recognised"))
    peer.recognise()
    peer.recognise()

    assert heard == ["recognised"]
