"""The state machine of a group member: what follows from each event, and that leaving undoes joining."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqframe.core.consuming.group_member import JOINING, LEAVING, Do, GroupMember, MemberKind, QueueAction
from mqframe.core.errors import CallTimeout, ConnectionLost, answer_error
from mqframe.core.messages.message import MessageQueue

PUSH = MemberKind(listens=True, retries=True)
ORDERED = MemberKind(listens=True, ordered=True, retries=True)
POLLING = MemberKind()
ASSIGNED = MemberKind(rebalances=False)
UNKNOWN = answer_error(24, "who are you", "a:1")


def queue(number: int, topic: str = "orders") -> MessageQueue:
    return MessageQueue(topic, "broker-a", number)


def joined(kind: MemberKind) -> GroupMember:
    member = GroupMember(kind)
    list(member.join())
    return member


def names(actions: Iterable[QueueAction]) -> list[Do]:
    return [action.do for action in actions]


class TestJoining:
    def test_a_push_consumer_registers_before_it_listens_and_shares_queues_last(self) -> None:
        steps = list(GroupMember(PUSH).join())
        assert steps == [
            Do.LOAD_OFFSETS,
            Do.LOOK_UP_TOPICS,
            Do.CHECK_FILTERS,
            Do.SERVE_OPERATORS,
            Do.REGISTER,
            Do.START_LISTENERS,
            Do.START_TIMERS,
            Do.ATTACH_HOOKS,
            Do.START_REBALANCE,
            Do.FIND_RETRY_ROUTE,
        ]

    def test_an_ordered_one_reads_the_interval_of_its_group_before_it_listens(self) -> None:
        steps = list(GroupMember(ORDERED).join())
        assert steps.index(Do.REGISTER) < steps.index(Do.READ_GROUP_CONFIG) < steps.index(Do.START_LISTENERS)

    def test_one_whose_queues_are_assigned_shares_none(self) -> None:
        steps = set(GroupMember(ASSIGNED).join())
        assert not steps & {Do.CHECK_FILTERS, Do.START_REBALANCE, Do.START_LISTENERS, Do.FIND_RETRY_ROUTE}

    def test_joining_a_second_time_does_nothing(self) -> None:
        assert list(joined(PUSH).join()) == []

    @given(
        st.sampled_from([PUSH, ORDERED, POLLING, ASSIGNED]),
        st.integers(0, len(JOINING)),
    )
    def test_leaving_undoes_exactly_what_was_begun(self, kind: MemberKind, failed_at: int) -> None:
        member = GroupMember(kind)
        begun = set()
        for number, step in enumerate(member.join()):
            begun.add(step)
            if number == failed_at:
                break
        left = member.leave()
        assert left == tuple(do for do, needs in LEAVING if needs in begun)
        assert member.leave() == ()
        assert not member.joined

    def test_offsets_are_committed_after_listeners_stopped_and_before_the_store_closes(self) -> None:
        steps = joined(PUSH).leave()
        order = [Do.STOP_REBALANCE, Do.STOP_PULLS, Do.STOP_LISTENERS, Do.GIVE_UP_ALL, Do.UNREGISTER]
        assert [step for step in steps if step in order] == order
        assert steps[-1] is Do.CLOSE_OFFSETS

    def test_leaving_while_joining_ends_the_joining(self) -> None:
        member = GroupMember(PUSH)
        steps = member.join()
        assert next(steps) is Do.LOAD_OFFSETS
        assert member.leave() == (Do.CLOSE_OFFSETS,)
        assert list(steps) == []


class TestSubscriptions:
    def test_listeners_go_on_until_the_rebalance_takes_their_queues(self) -> None:
        found = joined(PUSH).subscriptions_changed([queue(0)], [])
        assert found == (QueueAction(Do.HEARTBEAT), QueueAction(Do.REBALANCE))

    def test_polled_queues_of_other_topics_are_given_up_at_once(self) -> None:
        owned = [queue(0), queue(1), queue(0, "other")]
        found = joined(POLLING).subscriptions_changed(owned, ["other"])
        assert found == (QueueAction(Do.GIVE_UP, (queue(0), queue(1))), QueueAction(Do.ANNOUNCE))
        assert joined(POLLING).subscriptions_changed(owned, ["orders", "other"]) == (
            QueueAction(Do.ANNOUNCE),
        )

    def test_a_change_during_a_heartbeat_causes_another_one(self) -> None:
        member = joined(PUSH)
        member.subscriptions_changed([], ["a"])
        assert names(member.subscriptions_changed([], ["a", "b"])) == [Do.REBALANCE]
        assert names(member.heartbeat_ended()) == [Do.HEARTBEAT]
        assert member.heartbeat_ended() == ()

    def test_an_unknown_subscription_waits_for_the_heartbeat_under_way(self) -> None:
        member = joined(POLLING)
        assert names(member.subscription_unknown()) == [Do.HEARTBEAT]
        assert member.subscription_unknown() == ()
        assert member.heartbeat_ended() == ()
        assert names(member.subscription_unknown()) == [Do.HEARTBEAT]


@pytest.mark.parametrize(
    ("kind", "problem", "expected"),
    [
        (PUSH, UNKNOWN, (QueueAction(Do.HEARTBEAT),)),
        (POLLING, UNKNOWN, (QueueAction(Do.HEARTBEAT),)),
        (ORDERED, ConnectionLost("gone"), (QueueAction(Do.DOUBT_LOCK, (queue(3),)),)),
        (PUSH, ConnectionLost("gone"), ()),
        (ORDERED, CallTimeout("late"), ()),
    ],
)
def test_failed_pulls(kind: MemberKind, problem: Exception, expected: tuple[QueueAction, ...]) -> None:
    assert joined(kind).pull_failed(queue(3), problem) == expected


@pytest.mark.parametrize(
    ("kind", "members", "routes"),
    [
        (PUSH, [Do.REBALANCE], [Do.REBALANCE, Do.FIND_RETRY_ROUTE]),
        (POLLING, [Do.REBALANCE], [Do.REBALANCE]),
        (ASSIGNED, [], []),
        (MemberKind(listens=True), [Do.REBALANCE], [Do.REBALANCE]),
    ],
    ids=["push", "lite pull", "assigned", "broadcasting"],
)
def test_other_members_and_routes(kind: MemberKind, members: list[Do], routes: list[Do]) -> None:
    assert names(joined(kind).members_changed()) == members
    assert names(joined(kind).routes_changed()) == routes


def test_assigning_gives_up_what_is_not_named_and_pulls_what_is_new() -> None:
    member = joined(ASSIGNED)
    assert member.queues_assigned([queue(0), queue(1)], [queue(2), queue(1)]) == (
        QueueAction(Do.GIVE_UP, (queue(0),)),
        QueueAction(Do.ASSIGN, (queue(2),)),
    )
    assert member.queues_assigned([queue(1)], [queue(1)]) == ()


def test_lost_locks_are_forgotten_before_queues_are_shared_anew() -> None:
    assert joined(ORDERED).locks_lost([queue(1), queue(0)]) == (
        QueueAction(Do.FORGET, (queue(1), queue(0))),
        QueueAction(Do.REBALANCE),
    )


def test_a_reset_seeks_in_owned_queues_of_its_topic_only() -> None:
    offsets = {queue(0): 7, queue(1): 8, queue(0, "other"): 9}
    found = joined(PUSH).offsets_reset([queue(0), queue(2), queue(0, "other")], "orders", offsets)
    assert found == (QueueAction(Do.SEEK, (queue(0),), 7), QueueAction(Do.SAVE_OFFSETS))
    assert joined(PUSH).offsets_reset([queue(2)], "orders", offsets) == ()


QUEUES = st.lists(st.builds(queue, st.integers(0, 3), st.sampled_from(["orders", "other"])), unique=True)


class Events(RuleBasedStateMachine):
    """Events in any order: one heartbeat at a time, every change is announced, nothing before or after."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = PUSH
        self.member = GroupMember(PUSH)
        self.under_way = False
        self.unannounced = False

    def note(self, actions: tuple[QueueAction, ...]) -> None:
        if not self.member.joined:
            assert actions == ()
        for action in actions:
            assert action.do not in {do for do, _ in LEAVING}
            if action.do is Do.HEARTBEAT:
                assert not self.under_way
                self.under_way, self.unannounced = True, False

    @rule()
    def joins(self) -> None:
        list(self.member.join())

    @rule(owned=QUEUES, topics=st.sets(st.sampled_from(["orders", "other"])))
    def subscribes(self, owned: list[MessageQueue], topics: set[str]) -> None:
        self.unannounced = self.member.joined
        self.note(self.member.subscriptions_changed(owned, topics))

    @rule(problem=st.sampled_from([UNKNOWN, ConnectionLost("gone"), CallTimeout("late")]))
    def fails(self, problem: Exception) -> None:
        self.note(self.member.pull_failed(queue(0), problem))

    @precondition(lambda self: self.under_way)
    @rule()
    def heartbeat_ends(self) -> None:
        self.under_way = False
        self.note(self.member.heartbeat_ended())
        assert not self.unannounced

    @rule(queues=QUEUES)
    def hears(self, queues: list[MessageQueue]) -> None:
        self.note(self.member.members_changed())
        self.note(self.member.routes_changed())
        self.note(self.member.locks_lost(queues))
        self.note(self.member.offsets_reset(queues, "orders", dict.fromkeys(queues, 1)))

    @precondition(lambda self: self.member.joined)
    @rule()
    def leaves(self) -> None:
        assert self.member.leave()
        self.unannounced = False

    @invariant()
    def a_change_waits_only_for_a_heartbeat(self) -> None:
        assert self.under_way or not self.unannounced


TestEvents = Events.TestCase
TestEvents.settings = settings(max_examples=40, stateful_step_count=25)
