"""How much of its log a master counts as safe."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_replication.rules.in_sync import InSync, InSyncLimits

from mqframe.core.storage.outcome import Outcome

AWAY = Outcome.TOO_FEW_COPIES
BEHIND = 1000


@dataclass
class Master:
    """A log that ends at `end`, and slaves at `known`."""

    limits: InSyncLimits
    end: int = 0
    known: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.moves = 0
        self.rule = InSync(self.limits, 3, lambda: self.known)
        self.rule.attach(self.end, self._moved)

    def _moved(self) -> None:
        self.moves += 1

    def heard(self, *known: int) -> None:
        self.known = list(known)
        self.rule.heard()

    def store(self, size: int) -> int:
        self.end += size
        return self.end

    @property
    def confirmed(self) -> int:
        return self.rule.confirmed(self.end)


def master(in_sync: int = 2, *known: int, min_in_sync: int = 1, **more: bool) -> Master:
    limits = InSyncLimits(in_sync, min_in_sync, behind_bytes_max=BEHIND, **more)
    return Master(limits, max(known, default=0), list(known))


def test_a_message_counts_when_a_slave_has_it() -> None:
    broker = master(2, 100)
    end = broker.store(50)
    assert broker.confirmed == 100
    broker.heard(140)
    assert broker.confirmed == 140
    broker.heard(150)
    assert broker.confirmed == end
    assert broker.rule.trouble(end) is None
    assert broker.moves == 2


def test_as_many_slaves_have_to_have_it_as_were_asked_for() -> None:
    broker = master(3, 100, 100, 100)
    broker.store(50)
    broker.heard(150, 149, 100)
    assert broker.confirmed == 149
    broker.heard(150, 149, 151)
    assert broker.confirmed == 150


def test_each_slave_in_sync_has_to_have_it_where_that_is_asked_for() -> None:
    broker = master(2, 100, 100, every=True)
    end = broker.store(50)
    broker.heard(150, 120)
    assert broker.confirmed == 120
    broker.heard(150, 150)
    assert broker.confirmed == end
    end = broker.store(BEHIND)
    broker.heard(end, 150)
    assert (broker.confirmed, broker.rule.brokers) == (end, 2), "the other one is not in sync any more"


def test_a_lone_master_confirms_alone_and_says_that_no_slave_has_it() -> None:
    broker = master(2)
    end = broker.store(50)
    assert (broker.confirmed, broker.rule.refusal()) == (end, None)
    assert broker.rule.trouble(end) is AWAY


def test_what_was_confirmed_without_slaves_is_never_called_a_success_before_they_have_it() -> None:
    broker = master(2)
    end = broker.store(50)
    assert broker.confirmed == end
    broker.heard(10)
    assert broker.confirmed == end
    assert broker.rule.trouble(end) is AWAY
    broker.store(50)
    assert broker.confirmed == end, "it does not go back, and waits until the slave has caught up"
    broker.heard(50)
    assert broker.rule.trouble(end) is None


def test_a_slave_that_is_far_behind_is_not_in_sync() -> None:
    broker = master(2, 100)
    end = broker.store(BEHIND - 1)
    assert (broker.confirmed, broker.rule.brokers) == (100, 2)
    end = broker.store(1)
    assert (broker.confirmed, broker.rule.brokers) == (end, 1)
    assert broker.rule.trouble(end) is AWAY


def test_with_fewer_than_the_least_nothing_is_taken_and_nothing_confirmed() -> None:
    broker = master(2, 100, min_in_sync=2)
    broker.store(50)
    broker.heard()
    assert broker.confirmed == 100
    refusal = str(broker.rule.refusal())
    assert refusal.startswith("in-sync replicas not enough: 1 of at least 2 brokers are in sync")
    assert broker.rule.trouble(150) is AWAY
    broker.heard(120)
    assert (broker.confirmed, broker.rule.refusal()) == (120, None)


def test_between_the_least_and_what_is_asked_for_the_least_have_to_have_it() -> None:
    broker = master(3, 100, min_in_sync=2)
    end = broker.store(50)
    assert (broker.confirmed, broker.rule.refusal()) == (100, None)
    broker.heard(end)
    assert broker.confirmed == end
    assert broker.rule.trouble(end) is AWAY


def test_as_many_as_there_are_will_do_where_that_is_said() -> None:
    broker = master(3, 100, adapt=True)
    end = broker.store(50)
    assert broker.confirmed == 100
    broker.heard(end)
    assert (broker.confirmed, broker.rule.trouble(end)) == (end, None)
    broker.heard()
    end = broker.store(50)
    assert (broker.confirmed, broker.rule.trouble(end)) == (end, None)


def test_a_master_that_asks_for_no_slave_waits_for_none() -> None:
    broker = master(1, 0)
    end = broker.store(150)
    assert (broker.confirmed, broker.rule.trouble(end)) == (end, None)


def test_what_a_start_finds_is_confirmed() -> None:
    broker = Master(InSyncLimits(2, 2), end=300)
    assert broker.confirmed == 300


@given(st.integers(1, 4), st.integers(1, 4), st.booleans(), st.lists(st.integers(0, 100), max_size=5))
def test_as_many_are_waited_for_as_the_reference_would(
    in_sync: int, least: int, adapt: bool, known: list[int]
) -> None:
    limits = InSyncLimits(max(in_sync, least), least, adapt=adapt, behind_bytes_max=BEHIND)
    broker = Master(limits)
    broker.store(100)
    broker.heard(*known)
    present = 1 + len(known)
    needed = limits.in_sync if not adapt else max(least, min(limits.in_sync, present))
    assert (broker.rule.refusal() is not None) == (present < least)
    if present >= needed:
        have = sum(each >= broker.confirmed for each in known)
        assert have >= needed - 1
        assert sum(each > broker.confirmed for each in known) < max(needed - 1, 1) or broker.confirmed == 100


class AnyGroup(RuleBasedStateMachine):
    """Slaves come, report and go, the log grows; what is confirmed is looked at now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.broker = master(2)
        self.last = 0

    @rule(
        in_sync=st.integers(1, 3), least=st.integers(1, 3), every=st.booleans(), adapt=st.booleans(),
        end=st.integers(0, 50),
    )  # fmt: skip
    def start(self, in_sync: int, least: int, every: bool, adapt: bool, end: int) -> None:
        limits = InSyncLimits(max(in_sync, least), least, every, adapt, behind_bytes_max=40)
        self.broker = Master(limits, end)
        self.last = end

    @rule(size=st.integers(1, 60))
    def store(self, size: int) -> None:
        if self.broker.rule.refusal() is None:
            self.broker.store(size)

    @rule(back=st.integers(0, 60))
    def come(self, back: int) -> None:
        self.broker.heard(*self.broker.known, max(0, self.broker.end - back))

    @rule(number=st.integers(0, 3), more=st.integers(0, 60))
    def report(self, number: int, more: int) -> None:
        known = list(self.broker.known)
        if number < len(known):
            known[number] = min(self.broker.end, known[number] + more)
            self.broker.heard(*known)

    @rule(number=st.integers(0, 3))
    def go(self, number: int) -> None:
        known = list(self.broker.known)
        if number < len(known):
            del known[number]
            self.broker.heard(*known)

    @invariant()
    def what_is_confirmed_is_what_enough_have(self) -> None:
        broker, limits = self.broker, self.broker.limits
        before, now = self.last, broker.confirmed
        assert before <= now <= broker.end, "it went back, or beyond the log"
        self.last = now
        near = [each for each in broker.known if broker.end - each < limits.behind_bytes_max]
        present = 1 + len(near)
        if now > before:
            assert present >= limits.min_in_sync
            enough = limits.adapt or present >= limits.in_sync
            needed = min(limits.in_sync, present) if enough else limits.min_in_sync
            have = sum(each >= now for each in near)
            assert have >= max(needed, limits.min_in_sync) - 1
            if limits.every:
                assert have == len(near)
        assert (broker.rule.refusal() is None) == (present >= limits.min_in_sync)
        if broker.rule.trouble(now) is None and now > before and not limits.adapt:
            assert sum(each >= now for each in near) >= limits.in_sync - 1


TestAnyGroup = pytest.mark.timeout(120)(AnyGroup.TestCase)
