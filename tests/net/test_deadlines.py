from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqframe.net.deadlines import Deadlines


class Calls:
    """Stands for a connection: the calls that wait there."""

    def __init__(self) -> None:
        self.pending: set[int] = set()

    def expire(self, opaque: int, now: float) -> None:
        raise AssertionError("who looks what is due sees to it")


calls = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 30), st.booleans()), max_size=30
)  # wait before, time-out, answered


@given(calls)
def test_every_call_is_due_at_its_deadline_unless_answered(made: list[tuple[int, int, bool]]) -> None:
    connection = Calls()
    deadlines = Deadlines()
    expected = []
    begun = {}
    now = 0
    for opaque, (pause, timeout, answered) in enumerate(made):
        now += pause
        begun[opaque] = now + timeout
        connection.pending.add(opaque)
        deadlines.add(now + timeout, opaque, connection)
        if answered:
            connection.pending.discard(opaque)
        else:
            expected.append((now + timeout, opaque))
    ended = []
    for moment in range(700):
        for opaque, owner in deadlines.due(moment):
            assert owner is connection
            owner.pending.discard(opaque)
            ended.append((begun[opaque], opaque))
            assert begun[opaque] == moment
        assert deadlines.next > moment
    assert ended == sorted(expected)
    assert deadlines.next == float("inf")


def test_answered_calls_do_not_pile_up() -> None:
    connection = Calls()
    deadlines = Deadlines()
    connection.pending.add(0)
    deadlines.add(50, 0, connection)
    for opaque in range(1, 50_000):
        connection.pending.add(opaque)
        deadlines.add(100, opaque, connection)
        connection.pending.discard(opaque)
    assert deadlines.entries < 10_000
    assert deadlines.due(49) == []
    assert deadlines.due(50) == [(0, connection)]
    assert deadlines.entries == 0


def test_a_closed_client_forgets_all() -> None:
    connection = Calls()
    deadlines = Deadlines()
    connection.pending.add(1)
    deadlines.add(5, 1, connection)
    deadlines.clear()
    assert deadlines.due(10) == []
