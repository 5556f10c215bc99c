"""Sessions of a broker, the stories of elector.txt; the state tables; and whole groups to which anything
happens."""

from __future__ import annotations

from typing import Any

import pytest
from election.group_model import Broker, Fate, Group
from election.state_tables import Checker, Table, name
from election.traces import LIMITS, PLAIN, Story, note, play, stories
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from mqframe_election.rules import elector, events, turns
from mqframe_election.rules.ability import Abdication
from mqframe_election.rules.elector import Elector
from mqframe_election.rules.group import GroupState, GroupView
from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.member import ElectionMember
from mqframe_election.rules.outbox import Outbox
from mqframe_election.rules.states import State, TurnState
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.turns import Turns

MOMENT = events.Moment(0.0, note(1, 0))
NOTHING = GroupView(None, 0, None, {}, {})
EVENTS: list[events.Event] = [
    *PLAIN.values(), events.Opened(5), events.Saw(NOTHING), events.Accepted(1),
    events.Led(SyncSet(GroupState(1, 1, (1,)), 1, 0, SetLimits(1, 1, 1), 0)), events.Unanswered(""),
    events.Failed(""), events.NotRenewed(""), events.Resigned(""), events.Looked(NOTHING), events.Due(0),
    events.HandOver(2, 5),
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
    me = ElectionMember(1, "b", LIMITS, lambda: "w", Abdication())
    for state in TurnState:
        for event in EVENTS:
            if not table.rows_of(state.value, name(event)):
                one = Turns(me, Lease(LeaseTimes(5, 1.5, 1), 0), "", Outbox())
                one.state = state
                with pytest.raises(KeyError):
                    one.on(event)


def test_a_lead_goes_round_its_group_and_nothing_acknowledged_is_lost_by_it() -> None:
    group = Group((1.0, 1.0, 1.0))
    for broker in group.brokers.values():
        group.start(broker)
    group.pass_time(12)
    for to in (2, 3, 1, 3, 2, 1, 0, 0):
        (leader,) = group.leaders()
        if leader.number == to:
            continue
        before, terms, unled = list(group.acknowledged), len(group.terms), 0.0
        group.tell(leader, events.HandOver(to, 2.0))
        for _ in range(100):
            group.pass_time(0.05)
            unled += 0.05 * (not group.leaders())
        (now,) = group.leaders()
        assert leader.answers[-1] == f"{now.number} comes next"
        assert now.number == (to or now.number) != leader.number
        assert len(group.terms) == terms + 1
        # Neither the end of a lease (5 s) nor the patience of the others (1 s) is waited for.
        assert unled < 1
        assert group.acknowledged[: len(before)] == before
        assert len(group.acknowledged) > len(before)
        assert group.engine.state is not None
        assert (group.engine.state.members, group.engine.state.preferred) == ((1, 2, 3), 0)


def test_a_lead_stays_where_the_other_broker_is_not_in_sync() -> None:
    group = Group((1.0, 1.0, 1.0))
    for number in (1, 2):
        group.start(group.brokers[number])
    group.pass_time(12)
    (leader,) = group.leaders()
    for to, why in ((3, "it is not there"), (7, "it is not there"), (leader.number, "it leads already")):
        group.tell(leader, events.HandOver(to, 2.0))
        group.pass_time(1)
        assert leader.answers[-1].startswith(f"broker {to} is not handed the lead: {why}")
        assert group.leaders() == [leader]
        assert leader.takes


WHO = st.sampled_from((1, 2, 3, 0, 0))
"""A broker by its number; 0: the one that leads, if there is any."""
SECONDS = st.sampled_from((0.02, 0.1, 0.5, 1.5, 3.0, 6.0))


class AnythingHappens(RuleBasedStateMachine):
    """Three brokers, of which any may be cut off, stand still, fail, hand over its lead or be killed at any
    time: what `Group` asserts holds, all that happens is in the state tables, and all is well again once
    nothing happens."""

    @initialize(rates=st.tuples(*[st.sampled_from((0.9, 1.0, 1.1))] * 3))
    def begin(self, rates: tuple[float, ...]) -> None:
        self.group = Group(rates)
        for broker in self.group.brokers.values():
            self.group.start(broker)
        self.group.pass_time(5)

    def broker(self, number: int) -> Broker:
        leaders = self.group.leaders()
        return self.group.brokers[number or (leaders[0].number if leaders else 1)]

    @rule(number=WHO, fate=st.sampled_from(("answered", "lost", "done", "late")), seconds=SECONDS)
    def engine_is_reached_or_not(self, number: int, fate: Fate, seconds: float) -> None:
        self.group.reach(self.broker(number), fate)
        self.group.pass_time(seconds)

    @rule(number=WHO, still=st.sampled_from((0.5, 2.0, 4.5, 9.0)), seconds=SECONDS)
    def process_stands_still(self, number: int, still: float, seconds: float) -> None:
        self.group.stand_still(self.broker(number), still)
        self.group.pass_time(seconds)

    @rule(number=WHO, in_order=st.booleans(), seconds=SECONDS)
    def broker_is_stopped(self, number: int, in_order: bool, seconds: float) -> None:
        broker = self.broker(number)
        if in_order:
            self.group.stop(broker)
        else:
            self.group.kill(broker)
        self.group.pass_time(seconds)

    @rule(seconds=SECONDS)
    def all_are_started(self, seconds: float) -> None:
        for broker in self.group.brokers.values():
            self.group.start(broker)
        self.group.pass_time(seconds)

    @rule(number=WHO, unable=st.sampled_from(("", "its disk is full")), seconds=SECONDS)
    def disk_is_full_or_not(self, number: int, unable: str, seconds: float) -> None:
        broker = self.broker(number)
        broker.unable = unable
        self.group.tell(broker, events.Rang())
        self.group.pass_time(seconds)

    @rule(number=WHO, fails=st.booleans(), resigns=st.booleans(), seconds=SECONDS)
    def store_fails_or_not(self, number: int, fails: bool, resigns: bool, seconds: float) -> None:
        broker = self.broker(number)
        broker.fails = fails
        if resigns:
            self.group.tell(broker, events.Resigned("its store has failed"))
        self.group.pass_time(seconds)

    @rule(number=WHO, to=st.sampled_from((0, 1, 2, 3)), seconds=SECONDS)
    def lead_is_handed_over(self, number: int, to: int, seconds: float) -> None:
        self.group.tell(self.broker(number), events.HandOver(to, 2.0))
        self.group.pass_time(seconds)

    def teardown(self) -> None:
        group = getattr(self, "group", None)
        if group is None:
            return
        for broker in group.brokers.values():
            group.reach(broker, "answered")
            broker.unable, broker.fails, broker.stands_until = "", False, group.now
            group.start(broker)
        group.pass_time(40)
        self.all_is_well(group)

    def all_is_well(self, group: Group) -> None:
        (leader,) = group.leaders()
        others = [broker for broker in group.brokers.values() if broker is not leader]
        followed: list[Any] = [broker.follows and broker.follows.id for broker in others]
        assert followed == [leader.number] * 2
        assert group.engine.state is not None
        assert group.engine.state.members == (1, 2, 3)
        assert leader.members is not None
        assert (leader.members.pending, leader.members.state) == (None, group.engine.state)
        assert [broker.elector.trouble for broker in group.brokers.values()] == [""] * 3
        assert [broker.asked for broker in group.brokers.values()] == [0] * 3
        assert (leader.takes, group.engine.state.preferred) == (True, 0)
        before = len(group.acknowledged)
        group.pass_time(1)
        assert len(group.acknowledged) > before


AnythingHappens.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestAnythingHappens = AnythingHappens.TestCase
