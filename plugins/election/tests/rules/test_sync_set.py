"""The set in sync, and what all of it has."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mqframe_election.rules.group import GroupState
from mqframe_election.rules.sync_set import SetLimits, SyncSet

LIMITS = SetLimits(members_min=1, lag_seconds=5, away_seconds=1)


def sync_set(
    members: tuple[int, ...], *, start: int = 100, confirmed: int = 80, limits: SetLimits = LIMITS
) -> SyncSet:
    return SyncSet(GroupState(3, 1, members, confirmed), version=9, start=start, limits=limits, now=0.0)


def settle(group: SyncSet, log_end: int, now: float) -> tuple[int, ...] | None:
    """Have the engine take what is wanted; the new set."""
    wanted = group.wanted(log_end, now)
    if wanted is None:
        return None
    group.sent(wanted)
    group.settled(wanted, group.version + 1)
    return wanted.members


def test_what_all_members_have_is_confirmed_and_nothing_before_each_has_said_so_in_this_term() -> None:
    group = sync_set((1, 2, 3))
    assert group.confirm(100) == 80  # as the last leader knew
    group.joined(2, 0, is_clean=True)
    group.joined(3, 0, is_clean=True)
    group.acknowledged(2, 100, 100, 0)
    assert group.confirm(100) == 80
    group.acknowledged(3, 90, 100, 0)
    assert group.confirm(100) == 90
    group.acknowledged(3, 150, 150, 0)
    group.acknowledged(2, 150, 150, 0)
    assert group.confirm(120) == 120  # the leader itself has no more on its disk
    assert group.confirm(150) == 150


def test_an_acknowledgement_of_a_connection_that_ended_counts_no_more() -> None:
    group = sync_set((1, 2))
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 200, 200, 0)
    group.left(2, 0)
    assert group.confirm(200) == 80
    group.joined(2, 0, is_clean=True)
    assert group.confirm(200) == 80
    group.acknowledged(2, 150, 200, 0)
    assert group.confirm(200) == 150


def test_a_member_that_is_away_leaves_after_a_while_and_counts_until_that_is_recorded() -> None:
    group = sync_set((1, 2))
    assert group.wanted(100, 1.0) is None
    wanted = group.wanted(100, 1.1)
    assert wanted is not None
    assert wanted.members == (1,)
    group.sent(wanted)
    assert group.confirm(100) == 80
    assert group.wanted(100, 2.0) is None  # one change at a time
    group.settled(wanted, 10)
    assert group.confirm(100) == 100
    assert (group.version, group.state.members) == (10, (1,))


def test_a_member_that_lags_leaves_and_one_that_follows_closely_stays() -> None:
    group = sync_set((1, 2, 3))
    group.joined(2, 0, is_clean=True)
    group.joined(3, 0, is_clean=True)
    group.acknowledged(2, 100, 100, 0)
    group.acknowledged(3, 100, 100, 0)
    for second in range(1, 12):
        end = 100 + 10 * second
        group.acknowledged(2, end - 10, end, second)  # never at the end, and never a second behind
        group.acknowledged(3, 101, end, second)
        if second <= 5:
            assert group.wanted(end, second) is None
    assert settle(group, 210, 11) == (1, 2)


def test_a_broker_joins_once_it_has_all_that_is_confirmed_and_the_beginning_of_this_term() -> None:
    group = sync_set((1,))
    assert group.confirm(150) == 150
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 149, 160, 0)
    assert group.wanted(160, 0) is None
    group.acknowledged(2, 150, 160, 0)
    wanted = group.wanted(160, 0)
    assert wanted is not None
    group.sent(wanted)
    assert group.confirm(160) == 150  # from now on it counts
    group.settled(wanted, 10)
    group.acknowledged(2, 158, 160, 0)
    assert group.confirm(160) == 158


def test_a_broker_that_left_since_it_lagged_does_not_join_before_it_lags_no_more() -> None:
    group = sync_set((1, 2), start=100, confirmed=100)
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 100, 200, 0)
    assert settle(group, 200, 6) == (1,)
    assert group.wanted(200, 6) is None  # it has all that is confirmed, and held that up
    group.acknowledged(2, 200, 200, 7)
    assert settle(group, 200, 7) == (1, 2)


def test_a_broker_joins_with_all_that_others_were_counted_on_for_though_the_leader_has_it_not_on_disk() -> (
    None
):
    group = sync_set((1,))
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 150, 200, 0)
    group.counted_on = 200
    assert group.confirm(120) == 120
    assert group.wanted(200, 0) is None
    group.acknowledged(2, 200, 200, 0)
    assert settle(group, 200, 0) == (1, 2)


def test_those_of_a_set_that_was_sent_count_at_once() -> None:
    group = sync_set((1, 2))
    for number, end in ((2, 180), (3, 150)):
        group.joined(number, 0, is_clean=True)
        group.acknowledged(number, end, 200, 0)
    assert group.least == 180
    wanted = group.wanted(200, 0)
    assert wanted is not None
    assert wanted.members == (1, 2, 3)
    group.sent(wanted)
    assert group.least == 150
    group.settled(wanted, 10)
    assert group.least == 150
    group.settled(GroupState(3, 1, (1, 2)), 11)
    assert group.least == 180


def test_a_change_that_was_refused_leaves_the_set_that_the_engine_has() -> None:
    group = sync_set((1, 2))
    wanted = group.wanted(100, 5)
    assert wanted is not None
    group.sent(wanted)
    group.settled(GroupState(3, 1, (1, 2), 80), 11)
    assert group.confirm(100) == 80
    assert group.wanted(100, 5) == wanted


def test_a_broker_that_may_lack_what_it_acknowledged_leaves_before_anything_of_it_counts() -> None:
    group = sync_set((1, 2))
    group.joined(2, 0, is_clean=False)
    group.acknowledged(2, 120, 120, 0)
    assert group.confirm(120) == 80
    assert settle(group, 120, 0) == (1,)
    assert group.confirm(120) == 120
    assert settle(group, 120, 0) == (1, 2)  # what it says now, it has
    group.acknowledged(2, 130, 130, 0)
    assert group.confirm(130) == 130


def test_it_leaves_when_it_comes_back_clean_before_that_was_recorded() -> None:
    group = sync_set((1, 2))
    group.joined(2, 0, is_clean=False)
    group.left(2, 0)
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 120, 120, 0)
    assert settle(group, 120, 0) == (1,)


def test_the_set_stays_at_its_least_and_nothing_is_confirmed_with_fewer() -> None:
    group = sync_set((1, 2), limits=SetLimits(members_min=2, lag_seconds=5, away_seconds=1))
    assert not group.has_enough
    assert group.wanted(100, 60) is None
    assert group.confirm(100) == 80
    group.joined(2, 60, is_clean=True)
    group.acknowledged(2, 100, 100, 60)
    assert group.has_enough
    assert group.confirm(100) == 100


def test_a_broker_replaces_one_that_is_gone_where_the_least_allows_no_fewer() -> None:
    group = sync_set((1, 2), limits=SetLimits(members_min=2, lag_seconds=5, away_seconds=1))
    group.joined(3, 0, is_clean=True)
    group.acknowledged(3, 100, 100, 0)
    assert settle(group, 100, 0) == (1, 2, 3)
    assert settle(group, 100, 9) == (1, 3)


def test_words_of_strangers_change_nothing() -> None:
    group = sync_set((1,))
    group.acknowledged(7, 500, 100, 0)
    group.left(7, 0)
    assert group.wanted(100, 0) is None
    assert group.confirm(100) == 100


class Term(RuleBasedStateMachine):
    """One term with two followers, whose logs, and the engine's answers, go their own ways."""

    @initialize(members=st.sampled_from(((1, 2, 3), (1, 2), (1,))))
    def begin(self, members: tuple[int, ...]) -> None:
        self.now = 0.0
        self.end = 100
        self.group = sync_set(members, confirmed=60)
        self.logs = {2: 70, 3: 100}
        """What followers really have of this leader's log."""
        self.connected: set[int] = set()
        self.recorded, self.version = self.group.state, 9
        self.sent: list[GroupState] = []
        """Changes that are under way, each with the version before them."""
        self.confirmed = 60

    @rule(size=st.integers(1, 30))
    def store(self, size: int) -> None:
        self.end += size

    @rule(seconds=st.sampled_from((0.1, 1.0, 3.0, 6.0)))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(number=st.sampled_from((2, 3)))
    def connect(self, number: int) -> None:
        self.group.joined(number, self.now, is_clean=True)
        self.connected.add(number)

    @rule(number=st.sampled_from((2, 3)), lost=st.integers(1, 50))
    def fail(self, number: int, lost: int) -> None:
        """Its machine fails, and takes what was not synced."""
        self.logs[number] = max(0, self.logs[number] - lost)
        self.group.left(number, self.now)
        self.group.joined(number, self.now, is_clean=False)
        self.connected.add(number)

    @rule(number=st.sampled_from((2, 3)))
    def disconnect(self, number: int) -> None:
        self.group.left(number, self.now)
        self.connected.discard(number)

    @rule(number=st.sampled_from((2, 3)), size=st.integers(0, 200))
    def follow(self, number: int, size: int) -> None:
        if number in self.connected:
            self.logs[number] = min(self.end, self.logs[number] + size)
            self.group.acknowledged(number, self.logs[number], self.end, self.now)

    @rule()
    def want(self) -> None:
        wanted = self.group.pending or self.group.wanted(self.end, self.now)
        if wanted is not None:
            self.group.sent(wanted)
            self.sent.append(wanted)

    @precondition(lambda self: self.sent)
    @rule(answered=st.booleans())
    def take(self, answered: bool) -> None:
        """The engine takes a change; its answer may be lost."""
        self.recorded, self.version = self.sent.pop(0), self.version + 1
        self.sent.clear()  # whatever else is under way names an older version
        if answered:
            self.group.settled(self.recorded, self.version)

    @rule()
    def read(self) -> None:
        if self.group.version != self.version:
            self.group.settled(self.recorded, self.version)

    @invariant()
    def whoever_may_be_elected_has_all_that_is_confirmed(self) -> None:
        unclean_now = [number for number in self.recorded.members if number != 1 and self._left_out(number)]
        confirmed = self.group.confirm(self.end)
        assert confirmed >= self.confirmed
        if confirmed > self.confirmed:
            for number in self.recorded.members:
                if number != 1:
                    assert number not in unclean_now
                    assert self.logs[number] >= confirmed
        self.confirmed = confirmed

    def _left_out(self, number: int) -> bool:
        return number not in self.connected


Term.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestTerm = Term.TestCase


@pytest.mark.parametrize("members_min", [1, 2])
def test_a_leader_without_others_has_enough_for_itself_alone(members_min: int) -> None:
    group = sync_set((1,), limits=SetLimits(members_min, 5, 1))
    assert group.has_enough is (members_min == 1)


def test_a_member_that_connects_again_and_again_and_gets_nothing_leaves_after_a_while() -> None:
    group = sync_set((1, 2), start=100, confirmed=100)
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 100, 100, 0)
    assert group.wanted(100, 0) is None
    now, end = 0.0, 100
    while group.wanted(end, now) is None:
        now, end = now + 0.3, end + 10
        group.left(2, now - 0.01)
        group.joined(2, now, is_clean=True)
        group.acknowledged(2, 100, end, now)  # where its log ends, as it says first of all
        group.left(2, now + 0.01)
        assert now < 2
    assert settle(group, end, now) == (1,)
    # It has nothing that it lacked, and is not taken in by connecting.
    group.joined(2, now + 1, is_clean=True)
    group.acknowledged(2, 100, end, now + 1)
    assert group.confirm(end) == end
    assert group.wanted(end, now + 1) is None


def test_a_member_that_gets_something_by_each_of_its_connections_stays() -> None:
    group = sync_set((1, 2), start=100, confirmed=100)
    for number in range(20):
        now, end = number * 0.5, 100 + 10 * number
        group.joined(2, now, is_clean=True)
        group.acknowledged(2, end - 5, end + 10, now)
        group.acknowledged(2, end + 5, end + 10, now + 0.1)
        group.left(2, now + 0.1)
        assert group.wanted(end + 10, now + 0.4) is None


def test_a_member_that_says_that_it_cannot_store_leaves_at_once_and_does_not_join() -> None:
    group = sync_set((1, 2, 3), start=100, confirmed=100)
    for number in (2, 3):
        group.joined(number, 0, is_clean=True)
        group.acknowledged(number, 100, 100, 0)
    assert group.keeping_up(100, 0) == (2, 3)
    group.unable = frozenset({2})
    assert group.keeping_up(100, 0) == (3,)
    assert settle(group, 100, 0) == (1, 3)
    group.acknowledged(2, 100, 100, 1)
    assert group.wanted(100, 1) is None
    group.unable = frozenset()
    assert settle(group, 100, 1) == (1, 2, 3)


def test_of_a_pair_that_both_have_to_store_one_that_cannot_stays_and_is_not_enough() -> None:
    group = sync_set((1, 2), limits=SetLimits(members_min=2, lag_seconds=5, away_seconds=1))
    group.joined(2, 0, is_clean=True)
    group.acknowledged(2, 100, 100, 0)
    assert group.has_enough
    group.unable = frozenset({2})
    assert group.wanted(100, 0) is None
    assert not group.has_enough
