from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqframe.net.deadlines import Deadlines
from mqframe.testing.manual_clock import ManualClock


class Waiter:
    """Stands for a connection: what waits there, and what ran out of time, when."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.waiting: dict[int, object] = {}
        self.expired: list[tuple[float, int]] = []

    def expire(self, opaque: int) -> None:
        del self.waiting[opaque]
        self.expired.append((self.clock.monotonic(), opaque))


calls = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 30), st.booleans()), max_size=30
)  # wait before, time-out, answered


@given(calls)
def test_every_call_ends_at_its_deadline_unless_answered(made: list[tuple[int, int, bool]]) -> None:
    clock = ManualClock()
    waiter = Waiter(clock)
    deadlines = Deadlines(clock)
    expected = []
    for opaque, (pause, timeout, answered) in enumerate(made):
        clock.advance(pause)
        waiter.waiting[opaque] = object()
        deadlines.add(clock.monotonic() + timeout, opaque, waiter)  # type: ignore[arg-type]
        if answered:
            del waiter.waiting[opaque]
        else:
            expected.append((clock.monotonic() + timeout, opaque))
    clock.advance(100)
    assert waiter.expired == sorted(expected)
    assert clock.timers == 0


def test_answered_calls_do_not_pile_up() -> None:
    clock = ManualClock()
    waiter = Waiter(clock)
    deadlines = Deadlines(clock)
    waiter.waiting[0] = object()
    deadlines.add(50, 0, waiter)  # type: ignore[arg-type]
    for opaque in range(1, 50_000):
        waiter.waiting[opaque] = object()
        deadlines.add(100, opaque, waiter)  # type: ignore[arg-type]
        del waiter.waiting[opaque]
    assert deadlines.entries < 10_000
    clock.advance(50)
    assert waiter.expired == [(50, 0)]
    assert clock.timers == 0
