"""Sessions of a broker, the stories of elector.txt; the state tables; and whole groups to which anything
happens."""

from __future__ import annotations

from typing import Any

import pytest
from core.election.group_model import Fate, Group
from core.election.state_tables import Checker, Table, name
from core.election.traces import LIMITS, PLAIN, Story, note, play, stories
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from mqframe.core.election import elector, events, turns
from mqframe.core.election.ability import Abdication
from mqframe.core.election.elector import Elector
from mqframe.core.election.group import GroupState, GroupView
from mqframe.core.election.lease import Lease, LeaseTimes
from mqframe.core.election.member import Member
from mqframe.core.election.outbox import Outbox
from mqframe.core.election.states import State, TurnState
from mqframe.core.election.sync_set import SetLimits, SyncSet
from mqframe.core.election.turns import Turns

MOMENT = events.Moment(0.0, note(1, 0))
NOTHING = GroupView(None, 0, None, {}, {})
EVENTS: list[events.Event] = [
    *PLAIN.values(), events.Opened(5), events.Saw(NOTHING), events.Accepted(1),
    events.Led(SyncSet(GroupState(1, 1, (1,)), 1, 0, SetLimits(1, 1, 1), 0)), events.Unanswered(""),
    events.Failed(""), events.NotRenewed(""), events.Resigned(""), events.Looked(NOTHING), events.Due(0),
]  # fmt: skip


@pytest.mark.parametrize("story", stories("elector.txt"), ids=lambda story: story.title)
def test_story(story: Story) -> None:
    play(story, Checker())


def test_each_row_of_the_state_tables_is_shown_by_a_story() -> None:
    checker = Checker()
    for story in stories("turns.txt") + stories("elector.txt"):
        play(story, checker)
    assert checker.turns.unused == []
    assert checker.sessions.unused == []


def test_what_no_row_names_is_a_mistake_of_the_caller() -> None:
    table = Table(elector, State)
    for state in State:
        for event in EVENTS:
            if not table.rows_of(state.value, name(event)):
                one = Elector(1, "b", LIMITS, lambda: "w")
                one.state = state
                with pytest.raises(KeyError):
                    one.on(event, MOMENT)


def test_what_no_row_of_turns_names_is_a_mistake_of_the_caller() -> None:
    table = Table(turns, TurnState)
    me = Member(1, "b", LIMITS, lambda: "w", Abdication())
    for state in TurnState:
        for event in EVENTS:
            if not table.rows_of(state.value, name(event)):
                one = Turns(me, Lease(LeaseTimes(5, 1.5, 1), 0), "", Outbox())
                one.state = state
                with pytest.raises(KeyError):
                    one.on(event)


NUMBERS = st.sampled_from((1, 2, 3))


class AnythingHappens(RuleBasedStateMachine):
    """Three brokers, of which any may be cut off, stand still, fail or be killed at any time: what `Group`
    asserts holds, all that happens is in the state tables, and all is well again once nothing happens."""

    @initialize(rates=st.tuples(*[st.sampled_from((0.9, 1.0, 1.1))] * 3))
    def begin(self, rates: tuple[float, ...]) -> None:
        self.group = Group(rates)
        for broker in self.group.brokers.values():
            self.group.start(broker)
        self.group.pass_time(3)

    @rule(seconds=st.sampled_from((0.02, 0.1, 0.3, 1.0, 3.0, 6.0)))
    def time_passes(self, seconds: float) -> None:
        self.group.pass_time(seconds)

    @rule(number=NUMBERS, fate=st.sampled_from(("answered", "answered", "lost", "done", "late")))
    def engine_is_reached_or_not(self, number: int, fate: Fate) -> None:
        self.group.reach(self.group.brokers[number], fate)

    @rule(number=NUMBERS, seconds=st.sampled_from((0.5, 2.0, 4.5, 9.0)))
    def process_stands_still(self, number: int, seconds: float) -> None:
        self.group.stand_still(self.group.brokers[number], seconds)

    @rule(number=NUMBERS, again=st.booleans())
    def process_is_killed(self, number: int, again: bool) -> None:
        self.group.kill(self.group.brokers[number])
        if again:
            self.group.start(self.group.brokers[number])

    @rule(number=NUMBERS)
    def broker_is_stopped(self, number: int) -> None:
        self.group.stop(self.group.brokers[number])

    @rule(number=NUMBERS)
    def broker_is_started(self, number: int) -> None:
        self.group.start(self.group.brokers[number])

    @rule(number=NUMBERS, unable=st.sampled_from(("", "its disk is full")))
    def disk_is_full_or_not(self, number: int, unable: str) -> None:
        self.group.brokers[number].unable = unable
        self.group.tell(self.group.brokers[number], events.Rang())

    @rule(number=NUMBERS, fails=st.booleans())
    def store_can_be_opened_or_not(self, number: int, fails: bool) -> None:
        self.group.brokers[number].fails = fails

    @rule(number=NUMBERS)
    def broker_resigns(self, number: int) -> None:
        self.group.tell(self.group.brokers[number], events.Resigned("its store has failed"))

    def teardown(self) -> None:
        group = getattr(self, "group", None)
        if group is None:
            return
        for broker in group.brokers.values():
            group.reach(broker, "answered")
            broker.unable, broker.fails, broker.stands_until = "", False, group.now
            group.start(broker)
        group.pass_time(90)
        self.all_is_well(group)

    def all_is_well(self, group: Group) -> None:
        (leader,) = group.leaders()
        others = [broker for broker in group.brokers.values() if broker is not leader]
        followed: list[Any] = [broker.follows and broker.follows.id for broker in others]
        assert followed == [leader.number] * 2
        assert group.engine.state is not None
        assert group.engine.state.members == (1, 2, 3)
        assert [broker.elector.trouble for broker in group.brokers.values()] == [""] * 3
        before = len(group.acknowledged)
        group.pass_time(1)
        assert len(group.acknowledged) > before


AnythingHappens.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestAnythingHappens = AnythingHappens.TestCase
