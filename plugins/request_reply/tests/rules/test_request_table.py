"""Requests that wait for replies, against a simple model."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_request_reply.rules.request_table import Expired, RequestTable

from mqframe.core.errors import TooMuchInFlight


def test_a_reply_finds_who_waits_once():
    table: RequestTable[str] = RequestTable()
    table.add("r1", "a", 5.0)
    table.add("r2", "b", 5.0)
    assert table.answer("r2") == "b"
    assert table.answer("r2") is None
    assert table.answer("unknown") is None
    assert len(table) == 1


def test_whose_time_is_up_is_told_how_far_it_got():
    table: RequestTable[str] = RequestTable()
    table.add("late", "a", 7.0)
    table.add("sent", "b", 5.0)
    table.add("unsent", "c", 6.0)
    table.sent("sent")
    table.sent("unknown")
    assert table.next_deadline() == 5.0
    assert table.expire(4.9) == []
    assert table.expire(6.0) == [Expired("sent", "b", True), Expired("unsent", "c", False)]
    assert table.answer("sent") is None
    assert table.next_deadline() == 7.0


def test_no_more_than_may_wait():
    table: RequestTable[str] = RequestTable(2)
    table.add("1", "a", 5.0)
    table.add("2", "b", 5.0)
    with pytest.raises(TooMuchInFlight, match="2 requests wait"):
        table.add("3", "c", 5.0)
    table.remove("1")
    table.add("3", "c", 5.0)
    assert table.clear() == ["b", "c"]
    assert (len(table), table.next_deadline()) == (0, None)


def test_what_is_answered_early_leaves_nothing_behind():
    table: RequestTable[int] = RequestTable()
    for number in range(10_000):
        table.add(str(number), number, 1e9 + number)
        assert table.answer(str(number)) == number
    assert table.next_deadline() is None
    assert table.expire(2e9) == []


class Waiting(RuleBasedStateMachine):
    """Any order of requests, answers, ends and time."""

    def __init__(self):
        super().__init__()
        self.table: RequestTable[int] = RequestTable(20)
        self.model: dict[str, list] = {}  # waiter, deadline, sent
        self.now = 0.0
        self.count = 0

    names = st.integers(0, 30).map(str)

    @rule(seconds=st.integers(0, 5))
    def add(self, seconds):
        name = str(self.count)
        self.count += 1
        if len(self.model) == 20:
            with pytest.raises(TooMuchInFlight):
                self.table.add(name, self.count, self.now + seconds)
        else:
            self.table.add(name, self.count, self.now + seconds)
            self.model[name] = [self.count, self.now + seconds, False]

    @rule(name=names)
    def sent(self, name):
        self.table.sent(name)
        if name in self.model:
            self.model[name][2] = True

    @rule(name=names)
    def answer(self, name):
        expected = self.model.pop(name, [None])[0]
        assert self.table.answer(name) == expected

    @rule(name=names)
    def remove(self, name):
        self.table.remove(name)
        self.model.pop(name, None)

    @rule(seconds=st.integers(0, 3))
    def wait(self, seconds):
        self.now += seconds
        due = {name: entry for name, entry in self.model.items() if entry[1] <= self.now}
        expired = self.table.expire(self.now)
        assert {each.correlation_id: [each.waiter, each.sent] for each in expired} == {
            name: [entry[0], entry[2]] for name, entry in due.items()
        }
        assert [due[each.correlation_id][1] for each in expired] == sorted(entry[1] for entry in due.values())
        for name in due:
            del self.model[name]

    @invariant()
    def agrees(self):
        assert len(self.table) == len(self.model)
        assert self.table.next_deadline() == min((entry[1] for entry in self.model.values()), default=None)


Waiting.TestCase.settings = settings(max_examples=50, stateful_step_count=40)
TestWaiting = Waiting.TestCase
