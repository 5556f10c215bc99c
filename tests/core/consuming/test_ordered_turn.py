"""Whose turn it is at a queue: the table in the module, checked against a plain model of one worker."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqframe.core.consuming.ordered_turn import OrderedTurn, Turn, Why
from mqframe.core.consuming.queue_locks import LockLease
from mqframe.core.messages.message import ReceivedMessage

HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))


def messages(*offsets: int) -> list[ReceivedMessage]:
    return [
        ReceivedMessage("t", 0, n, n, 9, 0, 0, HOST, HOST, 0, 0, 0, 0, 0, b"x", b"", "b") for n in offsets
    ]


def offsets(batch: list[ReceivedMessage]) -> list[int]:
    return [message.queue_offset for message in batch]


def held() -> LockLease:
    lease = LockLease()
    lease.granted(0.0)
    return lease


class TestTurns:
    def test_one_worker_is_sent_and_stays_until_nothing_waits(self) -> None:
        turn = OrderedTurn(held())
        assert turn.offer(messages(0, 1, 2), 0.0)
        assert not turn.offer(messages(3), 0.0)
        assert offsets(turn.begin(2, 0.0)) == [0, 1]
        assert not turn.offer(messages(4), 0.0)
        turn.end(True)
        assert offsets(turn.begin(9, 0.0)) == [2, 3, 4]
        turn.end(True)
        assert (turn.begin(9, 0.0), turn.why, turn.state) == ([], Why.EMPTY, Turn.RESTING)
        assert turn.offer(messages(5), 0.0)

    def test_failure_stops_the_queue_until_it_is_resumed(self) -> None:
        turn = OrderedTurn(held())
        turn.offer(messages(0, 1, 2), 0.0)
        turn.begin(1, 0.0)
        turn.end(False)
        assert (turn.state, turn.why) == (Turn.PAUSED, Why.FAILED)
        assert not turn.offer(messages(3), 0.0)
        turn.withdraw()
        assert not turn.offer(messages(0, 1, 2, 3), 0.0)
        assert turn.resume(1.0)
        assert offsets(turn.begin(9, 1.0)) == [0, 1, 2, 3]

    def test_resumed_queue_without_messages_rests(self) -> None:
        turn = OrderedTurn(held())
        turn.offer(messages(0), 0.0)
        turn.begin(1, 0.0)
        turn.end(False)
        assert not turn.resume(1.0)
        assert turn.state is Turn.RESTING
        assert not turn.resume(1.0)

    def test_no_batch_without_a_valid_lease(self) -> None:
        lease = LockLease()
        turn = OrderedTurn(lease)
        assert turn.offer(messages(0), 0.0)
        assert (turn.begin(1, 0.0), turn.why) == ([], Why.UNLOCKED)
        lease.granted(5.0)
        assert turn.resume(6.0)
        assert offsets(turn.begin(1, 35.0)) == [0]

    def test_sixty_seconds_without_a_pause_are_enough(self) -> None:
        turn = OrderedTurn(None)
        turn.offer(messages(*range(5)), 0.0)
        for now in (0.0, 60.0):
            assert turn.begin(1, now)
            turn.end(True)
        assert (turn.begin(1, 60.1), turn.why) == ([], Why.LONG)
        assert turn.resume(61.0)
        assert offsets(turn.begin(1, 121.0)) == [2]

    def test_closed_while_a_listener_runs_is_closed_when_it_ends(self) -> None:
        turn = OrderedTurn(held())
        turn.offer(messages(0, 1), 0.0)
        turn.begin(1, 0.0)
        assert not turn.close()
        assert not turn.close()
        assert (turn.state, turn.open) == (Turn.CLOSING, False)
        turn.end(True)
        assert (turn.state, turn.why) == (Turn.CLOSED, Why.CLOSED)
        assert turn.begin(1, 0.0) == []
        assert not turn.offer(messages(2), 0.0)
        assert turn.close()

    def test_what_is_left_of_a_batch_waits_before_all_others(self) -> None:
        for good in (True, False):
            turn = OrderedTurn(held())
            turn.offer(messages(0, 1, 2, 3), 0.0)
            batch = turn.begin(3, 0.0)
            turn.offer(messages(4), 0.0)
            turn.end(good, batch[1:])
            assert turn.waiting_count == 4
            if not good:
                assert turn.resume(0.0)
            assert offsets(turn.begin(9, 0.0)) == [1, 2, 3, 4]

    def test_what_is_left_is_forgotten_where_the_queue_closed_meanwhile(self) -> None:
        turn = OrderedTurn(held())
        turn.offer(messages(0, 1, 2), 0.0)
        batch = turn.begin(3, 0.0)
        turn.close()
        turn.end(True, batch[1:])
        assert (turn.waiting_count, turn.state) == (0, Turn.CLOSED)

    @pytest.mark.parametrize(
        "ends", [lambda turn: turn.end(True), lambda turn: turn.end(False), OrderedTurn.close]
    )
    def test_the_rest_of_a_batch_may_go_on_for_60_s_until_the_turn_ends(self, ends) -> None:
        turn = OrderedTurn(held())
        assert turn.until == -inf, "nothing was begun"
        turn.offer(messages(0, 1, 2), 7.0)
        assert turn.until == -inf, "nothing was begun"
        turn.begin(2, 20.0)
        assert turn.until == 67.0, "without a pause for so long"
        ends(turn)
        assert turn.until == -inf

    def test_the_next_batch_has_no_more_time(self) -> None:
        lease = held()
        turn = OrderedTurn(lease)
        turn.offer(messages(0, 1), 7.0)
        turn.begin(1, 7.0)
        turn.end(True)
        turn.begin(1, 20.0)
        assert turn.until == 67.0
        assert turn.lease is lease

    def test_nothing_ends_the_lease_of_a_queue_without_locks(self) -> None:
        turn = OrderedTurn(None)
        turn.offer(messages(0, 1), 0.0)
        assert offsets(turn.begin(2, 60.0)) == [0, 1]
        assert turn.lease.until == inf

    def test_a_batch_of_all_that_waits_leaves_nothing(self) -> None:
        turn = OrderedTurn(None)
        turn.offer(messages(0, 1), 0.0)
        batch = turn.begin(2, 0.0)
        turn.offer(messages(2), 0.0)
        assert (offsets(batch), turn.waiting_count) == ([0, 1], 1)

    def test_closed_before_a_worker_came(self) -> None:
        turn = OrderedTurn(held())
        turn.offer(messages(0), 0.0)
        assert turn.close()
        assert (turn.begin(1, 0.0), turn.why) == ([], Why.CLOSED)


class Comparison(RuleBasedStateMachine):
    """Beside one list of what still has to be consumed, and at most one batch that is out."""

    def __init__(self) -> None:
        super().__init__()
        self.lease = LockLease()
        self.real = OrderedTurn(self.lease)
        self.now = 0.0
        self.next_offset = 0
        self.waiting: list[int] = []
        self.out: list[int] | None = None
        self.has_worker = False
        self.since = 0.0
        self.paused = False
        self.closed = False

    @rule(count=st.integers(1, 4))
    def offer(self, count: int) -> None:
        new = list(range(self.next_offset, self.next_offset + count))
        self.next_offset += count
        sent = self.real.offer(messages(*new), self.now)
        if self.closed:
            assert not sent
            return
        self.waiting += new
        self.worker(sent)

    def worker(self, sent: bool) -> None:
        assert sent is (bool(self.waiting) and not self.has_worker and not self.paused)
        if sent:
            self.has_worker, self.since = True, self.now

    @precondition(lambda self: self.has_worker and self.out is None)
    @rule(count=st.integers(1, 3))
    def begin(self, count: int) -> None:
        batch = offsets(self.real.begin(count, self.now))
        if self.closed:
            why = Why.CLOSED
        elif not self.lease.valid(self.now):
            why = Why.UNLOCKED
        elif self.now - self.since > 60:
            why = Why.LONG
        else:
            why = Why.EMPTY if not self.waiting else None
        if why is None:
            assert batch == self.waiting[:count]
            del self.waiting[:count]
            self.out = batch
            return
        assert (batch, self.real.why) == ([], why)
        self.has_worker = False
        self.paused = why in (Why.UNLOCKED, Why.LONG)

    @precondition(lambda self: self.out is not None)
    @rule(good=st.booleans(), left=st.integers(0, 2))
    def end(self, good: bool, left: int) -> None:
        assert self.out is not None
        done, rest = self.out[: len(self.out) - left], self.out[len(self.out) - left :]
        if not done:
            done, rest = self.out, []
        self.real.end(good, messages(*rest))
        if not self.closed:
            self.waiting = rest + self.waiting
        if not good and not self.closed:
            self.has_worker, self.paused = False, True
            self.waiting = done + self.waiting
        self.out = None

    @precondition(lambda self: self.paused)
    @rule()
    def resume(self) -> None:
        self.real.withdraw()
        self.real.offer(messages(*self.waiting), self.now)
        sent = self.real.resume(self.now)
        self.paused = False
        self.worker(sent)

    @rule()
    def lock(self) -> None:
        self.lease.granted(self.now)

    @rule(seconds=st.sampled_from([0.5, 10.0, 31.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(really=st.sampled_from([False, False, False, True]))
    def close(self, really: bool) -> None:
        if really:
            assert self.real.close() is (self.out is None)
            self.closed, self.paused = True, False
            self.waiting = []

    @invariant()
    def agree(self) -> None:
        assert self.real.waiting_count == len(self.waiting) or self.paused
        assert self.real.open is not self.closed
        assert self.real.paused is self.paused
        listening = self.real.state in (Turn.LISTENING, Turn.CLOSING)
        assert listening is (self.out is not None)


TestComparison = Comparison.TestCase
TestComparison.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
