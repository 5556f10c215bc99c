from __future__ import annotations

from mqframe.core.codes import ResponseCode
from mqframe.replication.confirmed import ReplicaLimits, ReplicaWaits, flushed_as_configured
from mqframe.testing.manual_clock import ManualClock

OK, AWAY, LATE = (
    ResponseCode.SUCCESS,
    ResponseCode.SLAVE_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
)


def test_what_is_flushed_as_configured():
    assert flushed_as_configured(False, lambda: 10, lambda: 5)() == 10
    assert flushed_as_configured(True, lambda: 10, lambda: 5)() == 5


class Place:
    """Sends that wait for slaves, which are at `known`."""

    def __init__(self, *known: int, slaves: int = 1) -> None:
        self.clock = ManualClock()
        self.known = list(known)
        self.waits = ReplicaWaits(self.clock, ReplicaLimits(slaves, 3, 1000), lambda: self.known)
        self.told: list[tuple[int, int]] = []

    def ask(self, end: int) -> None:
        self.waits.when_replicated(end, lambda code: self.told.append((end, code)))


def test_a_send_is_answered_when_a_slave_has_it() -> None:
    place = Place(100)
    place.ask(150)
    place.ask(200)
    assert place.told == []
    place.known = [150]
    place.waits.settle()
    assert place.told == [(150, OK)]
    place.known = [200]
    place.waits.settle()
    assert place.told == [(150, OK), (200, OK)]


def test_so_many_slaves_have_to_have_it_as_were_asked_for() -> None:
    place = Place(100, 100, 100, slaves=2)
    place.ask(150)
    place.known = [150, 149, 100]
    place.waits.settle()
    assert place.told == []
    place.known = [150, 149, 151]
    place.waits.settle()
    assert place.told == [(150, OK)]


def test_without_slaves_or_with_such_that_are_far_behind_the_answer_comes_at_once() -> None:
    place = Place()
    place.ask(10)
    place.known = [0]
    place.ask(1000)
    place.ask(999)
    assert place.told == [(10, AWAY), (1000, AWAY)]


def test_what_takes_too_long_is_told() -> None:
    place = Place(100)
    place.ask(150)
    place.clock.advance(1)
    place.ask(160)
    place.clock.advance(1.9)
    place.waits.expire()
    assert place.told == []
    place.clock.advance(0.1)
    place.waits.expire()
    assert place.told == [(150, LATE)]
    place.waits.give_up()
    assert place.told == [(150, LATE), (160, LATE)]


def test_a_master_that_needs_no_slave_waits_for_none() -> None:
    place = Place(slaves=0)
    place.ask(150)
    assert place.told == [(150, OK)]
