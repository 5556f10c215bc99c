"""Who waits for the confirmed offset, and what they are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqframe_replication.rules.in_sync import InSync, InSyncLimits
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.outcome import Outcome
from mqframe.store.log.waits import Waits

OK, LATE_DISK, AWAY, LATE = (
    Outcome.CONFIRMED,
    Outcome.NOT_ON_DISK,
    Outcome.TOO_FEW_COPIES,
    Outcome.NOT_COPIED,
)


@dataclass
class Log:
    """A log with `max_offset` bytes, flushed up to `flushed`, which slaves have up to `known`."""

    max_offset: int = 0
    flushed: int = 0
    known: list[int] = field(default_factory=list)
    least: int = 1
    copies_seconds: float = 3

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.replicas = InSync(InSyncLimits(2, self.least), self.copies_seconds, lambda: self.known)
        self.replicas.attach(0, lambda: None)
        any_log: Any = self
        self.waits = Waits(self.clock, any_log, disk_seconds=5)
        self.told: list[tuple[int, object]] = []

    def confirmed(self) -> int:
        return min(self.flushed, self.replicas.confirmed(self.max_offset))

    def ask(self, end: int) -> bool:
        self.max_offset = max(self.max_offset, end)
        return self.waits.add(end, lambda what: self.told.append((end, what)))

    def heard(self, *known: int) -> None:
        self.known = list(known)
        self.replicas.heard()
        self.waits.settle()

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.waits.expire()


def test_both_the_disk_and_a_slave_are_waited_for() -> None:
    log = Log(known=[0])
    assert log.ask(50)
    assert log.ask(90)
    log.heard(50)
    assert log.told == []
    log.flushed = 90
    log.waits.settle()
    assert log.told == [(50, OK)]
    log.heard(90)
    assert log.told == [(50, OK), (90, OK)]
    assert not log.waits


def test_what_is_confirmed_is_told_at_once() -> None:
    log = Log(known=[70], flushed=70, max_offset=70)
    assert not log.ask(70)
    assert not log.ask(60)
    assert log.told == [(70, OK), (60, OK)]


def test_each_is_told_which_of_both_took_too_long() -> None:
    log = Log(known=[0])
    log.ask(50)
    log.clock.advance(1)
    log.ask(90)
    log.heard(50)
    log.pass_time(2.9)
    assert log.told == []
    log.pass_time(0.2)
    assert log.told == [(90, LATE)], "slaves may not take so long, though one before it waits for the disk"
    log.pass_time(0.8)
    assert log.told == [(90, LATE)]
    log.pass_time(0.2)
    assert log.told == [(90, LATE), (50, LATE_DISK)]


def test_a_disk_that_takes_too_long_is_told_before_slaves_may_be() -> None:
    log = Log(known=[0], copies_seconds=8)
    log.ask(50)
    log.ask(50)
    log.pass_time(5)
    assert log.told == [(50, LATE_DISK), (50, LATE_DISK)]


def test_those_who_stay_keep_their_order() -> None:
    log = Log(known=[20], flushed=0)
    for end in (10, 30, 20, 40):
        log.ask(end)
    log.pass_time(3)
    assert log.told == [(30, LATE), (40, LATE)]
    log.flushed = 40
    log.waits.settle()
    assert log.told[2:] == [(10, OK), (20, OK)]


def test_when_too_few_are_left_all_who_wait_for_them_are_told_at_once() -> None:
    log = Log(known=[0], least=2)
    log.ask(50)
    log.ask(90)
    log.heard(50)
    log.heard()
    assert log.told == [(90, AWAY)]
    log.ask(100)
    assert log.told == [(90, AWAY), (100, AWAY)]
    log.flushed = 100
    log.waits.settle()
    assert log.told == [(90, AWAY), (100, AWAY), (50, OK)]


def test_when_slaves_are_fed_no_more_those_who_wait_for_them_are_told() -> None:
    log = Log(known=[0])
    log.ask(50)
    log.ask(90)
    log.heard(50)
    log.waits.give_up_copies()
    assert log.told == [(90, LATE)]
    log.waits.give_up()
    assert log.told == [(90, LATE), (50, LATE_DISK)]


def test_one_who_asks_again_when_told_waits_behind_those_who_stay() -> None:
    log = Log(known=[0])

    def again(code: object) -> None:
        log.told.append((50, code))
        log.ask(95)

    log.max_offset = 90
    log.waits.add(50, again)
    log.ask(90)
    log.heard(90)
    log.waits.give_up_copies()
    assert log.told == []
    log.flushed = 60
    log.waits.settle()
    assert log.told == [(50, OK)]
    log.flushed = 95
    log.heard(95)
    assert log.told == [(50, OK), (90, OK), (95, OK)]


class Pause(StoreUnavailable):
    """Nothing is taken, and what is there is confirmed all the same."""

    ends_waits = False


def test_who_waits_goes_on_to_do_so_while_nothing_more_is_taken() -> None:
    log = Log(known=[0])
    assert log.ask(50)
    log.replicas.refusal = lambda: Pause("for a moment")  # type: ignore[method-assign, assignment, return-value]
    log.waits.settle()
    assert log.ask(90)
    assert log.told == []
    log.flushed = 90
    log.heard(90)
    assert log.told == [(50, OK), (90, OK)]
