"""Who may begin, and who waits for others to end."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mqframe_rate_limits.in_flight import NO_LIMIT, InFlight


def test_those_who_wait_begin_in_their_order() -> None:
    gate, woken = InFlight(2), []
    assert gate.enter(1, lambda: woken.append("a"))
    assert gate.enter(1, lambda: woken.append("b"))
    assert not gate.enter(2, lambda: woken.append("c"))
    assert not gate.enter(1, lambda: woken.append("d"))
    gate.leave(1)
    assert (woken, gate.count, gate.waiting) == ([], 1, 2), "the first of them has no room yet"
    gate.leave(1)
    assert (woken, gate.count, gate.waiting) == (["c"], 2, 1)
    gate.leave(2)
    assert (woken, gate.count, gate.waiting) == (["c", "d"], 1, 0)


def test_more_than_the_limit_begin_alone() -> None:
    gate, woken = InFlight(2), []
    assert gate.enter(5, lambda: woken.append("a"))
    assert not gate.enter(1, lambda: woken.append("b"))
    gate.leave(5)
    assert woken == ["b"]


def test_without_a_limit_nobody_waits() -> None:
    gate = InFlight(NO_LIMIT)
    assert all(gate.enter(100, lambda: None) for _ in range(100))


def test_who_gives_up_lets_those_behind_it_begin() -> None:
    gate, woken = InFlight(2), []

    def big() -> None:
        woken.append("big")

    assert gate.enter(1, lambda: woken.append("a"))
    assert not gate.enter(2, big)
    assert not gate.enter(1, lambda: woken.append("b"))
    gate.give_up(2, big)
    assert (woken, gate.count, gate.waiting) == (["b"], 2, 0)


def test_who_gives_up_too_late_has_ended() -> None:
    gate, woken = InFlight(1), []

    def late() -> None:
        woken.append("late")

    assert gate.enter(1, lambda: None)
    assert not gate.enter(1, late)
    gate.leave(1)
    gate.give_up(1, late)
    assert (woken, gate.count) == (["late"], 0)


class InFlightMachine(RuleBasedStateMachine):
    """Calls of any size, in any order: the limit holds, and whoever can begin has begun."""

    @initialize(limit=st.integers(1, 6))
    def begin(self, limit: int) -> None:
        self.limit = limit
        self.gate = InFlight(limit)
        self.running: list[int] = []
        self.waiting: list[tuple[int, list[bool], object]] = []

    @rule(count=st.integers(1, 8))
    def call(self, count: int) -> None:
        woken: list[bool] = []

        def wake() -> None:
            woken.append(True)

        if self.gate.enter(count, wake):
            self.running.append(count)
        else:
            self.waiting.append((count, woken, wake))
        self._look()

    @precondition(lambda self: self.running)
    @rule(which=st.integers(0, 99))
    def end(self, which: int) -> None:
        self.gate.leave(self.running.pop(which % len(self.running)))
        self._look()

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 99))
    def give_up(self, which: int) -> None:
        count, _, wake = self.waiting.pop(which % len(self.waiting))
        self.gate.give_up(count, wake)  # type: ignore[arg-type]
        self._look()

    def _look(self) -> None:
        while self.waiting and self.waiting[0][1]:
            self.running.append(self.waiting.pop(0)[0])

    @invariant()
    def the_limit_holds_and_nobody_waits_in_vain(self) -> None:
        if not hasattr(self, "gate"):
            return
        assert not any(woken for _, woken, _ in self.waiting), "in their order"
        assert self.gate.count == sum(self.running)
        assert self.gate.waiting == len(self.waiting)
        assert sum(self.running) <= self.limit or len(self.running) == 1
        if self.waiting:
            assert self.running
            assert sum(self.running) + self.waiting[0][0] > self.limit


TestInFlightMachine = InFlightMachine.TestCase
