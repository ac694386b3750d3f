"""What keeps failing is left alone for a while."""

from __future__ import annotations

from thresher.core import Breaker, Pauses


def test_a_breaker_opens_after_some_failures_and_its_pauses_grow() -> None:
    """Half open it lets one attempt through, which decides; success closes it."""
    now = 100.0
    breaker = Breaker(Pauses(failures=2, pause=1.0, longest=3.0), clock=lambda: now, chance=lambda: 1.0)
    assert breaker.attempt() == 0

    pauses: list[float] = []
    breaker.failed("a")
    assert not breaker.open
    for _ in range(4):
        breaker.failed("b")
        pauses.append(breaker.attempt())
        now += pauses[-1]
        assert breaker.attempt() == 0  # half open: this one may
        assert breaker.attempt() > 0  # and no other beside it

    assert pauses == [1.0, 2.0, 3.0, 3.0]
    assert breaker.reason == "b"
    breaker.connected()
    assert breaker.attempt() == 0
    breaker.succeeded()
    assert (breaker.failures, breaker.open, breaker.reason) == (0, False, "")


def test_pauses_differ_by_chance() -> None:
    """Servers that failed together do not come back together: half a pause to a whole one."""
    pauses: list[float] = []
    for chance in (0.0, 0.5, 1.0):
        breaker = Breaker(Pauses(failures=1, pause=8.0), clock=lambda: 0.0, chance=lambda chance=chance: chance)
        breaker.failed("x")
        pauses.append(breaker.remaining)

    assert pauses == [4.0, 6.0, 8.0]
