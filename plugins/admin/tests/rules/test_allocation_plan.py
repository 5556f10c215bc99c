"""Who owns which queue, who would, and what is wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_admin.rules.allocation_plan import (
    AllocationPlan,
    QueuePlan,
    conflicts,
    faults_of_now,
    plan_topic,
)

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(4)]
Q0, Q1, Q2, Q3 = QUEUES


def dealt(group, client_id, queues, clients):
    return list(queues[list(clients).index(client_id) :: len(clients)])


def plan(held, members=("a", "b"), allocate=dealt, **options):
    return plan_topic(allocate, "dealt", "billing", "orders", QUEUES, members, held, **options)


def whole(topic, now=("a", "b"), then=("a", "b"), silent=None) -> AllocationPlan:
    return AllocationPlan(
        group="billing", strategy="dealt", now=now, then=then, silent=silent or {}, topics=(topic,)
    )


def test_queues_with_their_owners_now_and_then() -> None:
    topic = plan({"a": {Q0, Q1}, "b": {Q3, Q2}})
    assert topic.queues == (
        QueuePlan(Q0, ("a",), ("a",)),
        QueuePlan(Q1, ("a",), ("b",)),
        QueuePlan(Q2, ("b",), ("a",)),
        QueuePlan(Q3, ("b",), ("b",)),
    )
    assert [each.moves for each in topic.queues] == [False, True, True, False]
    found = whole(topic)
    assert (found.moved, found.unknown) == (2, 0)
    assert (found.before, found.after) == ({"a": 2, "b": 2}, {"a": 2, "b": 2})


def test_lists_are_sorted_and_without_doubles_as_members_see_them() -> None:
    seen = []

    def noting(group, client_id, queues, clients):
        seen.append((group, client_id, list(queues), list(clients)))
        return []

    plan_topic(noting, "noting", "billing", "orders", [Q2, Q0, Q2], ["b", "a", "b"], {})
    assert seen == [("billing", client, [Q0, Q2], ["a", "b"]) for client in ("a", "b")]


def test_what_a_silent_member_holds_is_not_known() -> None:
    topic = plan({"a": {Q0, Q1}}, all_answered=False)
    assert [each.moves for each in topic.queues] == [False, True, None, None]
    found = whole(topic, silent={"b": "late"})
    assert (found.moved, found.unknown) == (1, 2)
    assert (found.before, found.after) == ({"a": 2, "b": None}, {"a": 2, "b": 2})
    assert list(faults_of_now(topic)) == []


def test_members_that_come_and_go() -> None:
    topic = plan({"a": {Q0, Q1}, "b": {Q2, Q3}}, members=["b", "c"])
    found = whole(topic, then=("b", "c"))
    assert (found.before, found.after) == ({"a": 2, "b": 2}, {"b": 2, "c": 2})


def test_faults_of_now_are_said() -> None:
    topic = plan({"a": {Q0, Q1}, "b": {Q1, Q2}})
    assert list(faults_of_now(topic)) == [
        "a, b all own orders/broker-a/1 now",
        "nobody owns orders/broker-a/3 now",
    ]


def test_a_split_that_members_do_not_agree_on_is_said() -> None:
    def selfish(group, client_id, queues, clients):
        return [Q0, Q1, MessageQueue("orders", "broker-x", 9)] if client_id == "a" else [Q1, Q2]

    topic = plan({}, allocate=selfish)
    assert list(conflicts(topic, "selfish", QUEUES)) == [
        "a, b would all own orders/broker-a/1 by selfish",
        "nobody would own orders/broker-a/3 by selfish",
        "selfish gives orders/broker-x/9, which does not exist, to a",
    ]


def test_a_queue_that_is_gone_is_held_until_it_is_given_up() -> None:
    gone = MessageQueue("orders", "broker-gone", 0)
    topic = plan({"a": {gone, MessageQueue("other", "broker-a", 0)}})
    assert topic.queues[-1] == QueuePlan(gone, ("a",), ())
    assert list(conflicts(topic, "dealt", QUEUES)) == []


def test_the_error_of_a_strategy_is_named() -> None:
    def moody(group, client_id, queues, clients):
        if client_id == "b":
            raise KeyError("room")
        return []

    said = "allocation strategy dealt fails for topic orders, member b: KeyError: 'room'"
    with pytest.raises(FixError, match=said):
        plan({}, allocate=moody)


@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, unique=True),
    st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from(QUEUES))),
)
def test_counts_are_those_of_the_queues(members: list[str], held: dict[str, set[MessageQueue]]) -> None:
    topic = plan(held, members=members)
    found = whole(topic, now=tuple(sorted(held)), then=tuple(sorted(members)))
    assert found.before == {client: len(has) for client, has in sorted(held.items())}
    assert sum(found.after.values()) == len(QUEUES)
    assert list(conflicts(topic, "dealt", QUEUES)) == []
    assert found.moved == sum(q.now != q.then for q in topic.queues)
