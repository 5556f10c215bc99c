"""Queues keep their place at the target, whatever is added on both sides."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from mqframe_mirror.rules.queues import assigned, place_of, queues_needed, read, written

from mqframe import MessageQueue

BROKERS = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=6)


@given(BROKERS, BROKERS, BROKERS, BROKERS)
def test_who_has_a_broker_keeps_it(
    source: list[str], target: list[str], more: list[str], there: list[str]
) -> None:
    known = assigned({}, source, target)
    later = assigned(known, [*source, *more], there)
    assert known.items() <= later.items()
    assert later.keys() == {*source, *more}


@given(BROKERS, BROKERS)
def test_brokers_are_given_by_name_and_else_evenly(source: list[str], target: list[str]) -> None:
    found = assigned({}, source, target)
    assert set(found.values()) <= set(target)
    assert all(found[each] == each for each in source if each in target)
    load = Counter(found.values())
    if not set(source) & set(target):
        assert max(load.values()) - min(load[each] for each in target) <= 1


def test_without_a_broker_nothing_is_given() -> None:
    assert assigned({"a": "x"}, ["a", "b"], []) == {"a": "x"}


@given(BROKERS, BROKERS, st.integers(1, 8), st.integers(0, 8))
def test_more_queues_change_nothing_for_those_that_were_there(
    source: list[str], target: list[str], queues: int, more: int
) -> None:
    brokers = assigned({}, source, target)

    def places(count: int) -> dict[MessageQueue, MessageQueue]:
        there = [MessageQueue("t", broker, number) for broker in source for number in range(count)]
        return {queue: place_of(queue, brokers, "copy") for queue in there}

    before, after = places(queues), places(queues + more)
    assert before.items() <= after.items()
    assert all(place.queue_id == queue.queue_id for queue, place in after.items())
    assert queues_needed(after.values()) == dict.fromkeys(brokers.values(), queues + more)


@given(st.dictionaries(st.sampled_from(["broker-a", "b", "c"]), st.sampled_from(["x", "broker-y"])))
def test_what_name_servers_keep_is_read_again(brokers: dict[str, str]) -> None:
    assert read(written(brokers)) == brokers
    assert read(f"{written(brokers)};spoilt;=x;y=") == brokers
