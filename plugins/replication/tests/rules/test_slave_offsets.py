from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from mqframe_replication.rules.slave_offsets import (
    FLOOR_SECONDS,
    OwnCommit,
    OwnCommits,
    OwnCommitTable,
    SlaveOffsets,
    Told,
    is_further,
)
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.wire.loose_json import decode, dumps


def held(offset: int, queue_id: int = 0) -> ConsumerOffsetTable:
    return ConsumerOffsetTable(offset_table={"t@g": {queue_id: offset}})


def followed(clock: ManualClock, offset: int) -> SlaveOffsets:
    """Offsets of a slave whose master has said the same for long enough."""
    offsets = SlaveOffsets(clock)
    for _ in range(4):
        offsets.take(held(offset))
        clock.advance(FLOOR_SECONDS)
    return offsets


@pytest.mark.parametrize(
    ("at_master", "further"),
    [(None, True), (-1, True), (0, False), (39, False), (40, True), (99, True), (100, False), (200, False)],
)
def test_a_commit_counts_where_the_master_came_back_with_less_but_not_where_it_was_moved_back(
    at_master: int | None, further: bool
) -> None:
    assert is_further(OwnCommit(100, 40), at_master) == further


@given(own=st.integers(0, 50), floor=st.integers(-1, 50), at_master=st.integers(0, 50))
def test_what_counts_is_never_behind_the_master_unless_an_operator_moved_it(
    own: int, floor: int, at_master: int
) -> None:
    counts = own if is_further(OwnCommit(own, floor), at_master) else at_master
    assert counts >= at_master
    assert counts == max(own, at_master) or at_master < floor


def test_what_only_the_master_said_follows_it_back() -> None:
    offsets = SlaveOffsets(ManualClock())
    offsets.take(held(50))
    offsets.take(held(3))
    assert offsets.query("g", "t", 0) == 3
    assert offsets.own.all() == []


def test_a_copy_does_not_undo_a_commit_until_the_master_was_told() -> None:
    offsets = SlaveOffsets(ManualClock())
    offsets.take(held(50))
    offsets.commit("g", "t", 0, 60)
    offsets.take(held(50))
    assert offsets.query("g", "t", 0) == 60
    [commit] = offsets.own.all()
    assert commit == Told("g", "t", 0, 60)
    assert offsets.is_news(commit, 50)
    offsets.told(commit)
    assert not offsets.is_news(commit, 50)
    offsets.take(held(50))
    assert offsets.query("g", "t", 0) == 50


def test_what_is_committed_while_the_master_is_told_is_told_later() -> None:
    offsets = SlaveOffsets(ManualClock())
    offsets.commit("g", "t", 0, 60)
    [commit] = offsets.own.all()
    offsets.commit("g", "t", 0, 61)
    offsets.told(commit)
    assert offsets.own.all() == [Told("g", "t", 0, 61)]


def test_other_queues_and_groups_follow_the_master() -> None:
    offsets = SlaveOffsets(ManualClock())
    offsets.commit("g", "t", 0, 60)
    offsets.commit("alone", "t", 0, 7)
    offsets.take(ConsumerOffsetTable(offset_table={"t@g": {0: 50, 1: 5}, "u@g": {0: 1}}))
    assert offsets.offsets_of("g", "t") == {0: 60, 1: 5}
    assert offsets.offsets_of("g", "u") == {0: 1}
    assert offsets.offsets_of("alone", "t") == {0: 7}
    offsets.remove_group("g")
    assert offsets.own.all() == [Told("alone", "t", 0, 7)]
    offsets.remove_topic("t")
    assert offsets.own.all() == []


def test_commits_that_were_not_told_outlive_a_restart() -> None:
    offsets = followed(ManualClock(), 50)
    offsets.commit("g", "t", 0, 60)
    saved = dumps(offsets.own.dump())
    later = SlaveOffsets(ManualClock())
    later.load(offsets.dump())
    later.own.load(decode(saved, OwnCommitTable))
    later.take(held(50))
    assert later.query("g", "t", 0) == 60
    later.take(held(49))  # below the floor: an operator was there
    assert later.query("g", "t", 0) == 49


def test_a_master_that_was_followed_only_just_may_have_saved_nothing() -> None:
    clock = ManualClock()
    offsets = SlaveOffsets(clock)
    offsets.take(held(50))
    offsets.commit("g", "t", 0, 60)
    offsets.take(held(0))
    assert offsets.query("g", "t", 0) == 60
    offsets = followed(clock, 50)
    offsets.commit("g", "t", 0, 60)
    offsets.take(held(0))
    assert offsets.query("g", "t", 0) == 0


def test_a_table_of_commits_says_when_it_changed() -> None:
    commits = OwnCommits()
    commits.note("t", "g", 0, 5, -1)
    before = commits.changes
    commits.forget("t", "g", 1)
    assert commits.changes == before
    commits.forget("t", "g", 0)
    assert commits.changes == before + 1


class MasterAndSlave(RuleBasedStateMachine):
    """One queue of one group: a master that saves every 5 s, a slave that copies every 10 s, clients that
    commit at the one that is there, and an operator who moves them far back."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.slave = SlaveOffsets(self.clock)
        self.there = True
        self.master = self.disk = self.lowest = 1_000_000
        self.saved = self.copied = 0
        self.copy()
        self.time_passes(40)

    def copy(self) -> None:
        self.copied = 0
        self.slave.take(held(self.master))
        for commit in self.slave.own.all():
            if self.slave.is_news(commit, self.master):
                self.master = commit.offset
            self.slave.told(commit)
        self.slave.take(held(self.master))

    @rule(seconds=st.integers(1, 30))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1)
            if not self.there:
                continue
            self.saved += 1
            self.copied += 1
            if self.saved >= 5:
                self.saved, self.disk = 0, self.master
            if self.copied >= 10:
                self.copy()

    @rule(count=st.integers(1, 9))
    def clients_commit(self, count: int) -> None:
        if self.there:
            self.master += count
        else:
            self.slave.commit("g", "t", 0, (self.slave.query("g", "t", 0) or 0) + count)

    @precondition(lambda self: self.there)
    @rule()
    def the_slave_connects_anew(self) -> None:
        self.copy()

    @precondition(lambda self: self.there)
    @rule()
    def the_master_is_killed(self) -> None:
        self.there = False

    @precondition(lambda self: not self.there)
    @rule()
    def the_master_is_back(self) -> None:
        reached = max((commit.offset for commit in self.slave.own.all()), default=0)
        self.there, self.master, self.saved = True, self.disk, 0
        self.copy()
        assert self.master == max(self.disk, reached)

    @precondition(lambda self: not self.there)
    @rule()
    def an_operator_moves_the_group_back_before_the_slave_is_there(self) -> None:
        self.there, self.saved = True, 0
        self.lowest -= 100
        self.master = self.disk = self.lowest
        self.copy()
        assert self.slave.query("g", "t", 0) == self.disk

    @precondition(lambda self: self.there)
    @rule()
    def an_operator_moves_the_group_back(self) -> None:
        self.lowest -= 100
        self.master = self.disk = self.lowest
        self.copy()
        assert self.slave.query("g", "t", 0) == self.master

    @invariant()
    def nothing_is_left_to_tell_a_master_that_is_there(self) -> None:
        assert not (self.there and self.slave.own.all())


TestMasterAndSlave = MasterAndSlave.TestCase
