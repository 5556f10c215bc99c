"""What tasks do with the marks of dead letters, without a Spark."""

import threading
from collections import Counter

import pyarrow as pa
import pytest
from mqframe_spark.jobs.resending import AT_ONCE, Resend

from mqframe import Admin, PushConsumer
from mqframe.core.errors import AnswerError, FixError


def marks(place, group: str) -> list[str]:
    with Admin(nameserver=place.nameserver) as admin:
        admin.dead_letters.open(group)
        return [each.mark for each in admin.dead_letters.list(group)]


def done(task: Resend, marks: list[str]) -> int:
    return sum(task(pa.array(marks, pa.string())).to_pylist())


def test_a_repeated_task_sends_what_is_missing(place) -> None:
    topic, group, count = place.topic(), "resends-in-tasks", AT_ONCE + 3
    place.send(topic, range(count))
    place.give_up(group, topic)
    retry, found = f"%RETRY%{group}", marks(place, group)
    before, task = place.numbers(retry), Resend(place.source, group, again=False)
    assert done(task, found[:1]) == 1
    assert done(task, found) == count
    assert done(task, []) == 0
    assert place.numbers(retry) - before == Counter(range(count))
    assert done(Resend(place.source, group, again=True), found[:2]) == 2
    assert sum((place.numbers(retry) - before).values()) == count + 2


def test_a_letter_that_is_gone_is_an_error(place) -> None:
    topic, group = place.topic(), "resends-what-is-gone"
    place.send(topic, range(1))
    place.give_up(group, topic)
    [mark] = marks(place, group)
    with pytest.raises(AnswerError):
        done(Resend(place.source, group, again=False), [f"{mark[:-8]}7FFFFFFF"])


def test_groups_that_consume_in_order_are_told_to_send_to_the_topic(place) -> None:
    topic, group = place.topic(), "resends-in-order"
    place.send(topic, range(1))
    place.give_up(group, topic)
    [mark] = marks(place, group)
    consumed = threading.Event()
    consumer = PushConsumer(group, nameserver=place.nameserver, ordered=True)
    consumer.subscribe(topic, "*", lambda messages: consumed.set())
    with consumer:
        place.send(topic, range(1, 3))
        assert consumed.wait(120), "it holds a lock then"
        with pytest.raises(FixError, match=r"consumes in order.* --to topic"):
            done(Resend(place.source, group, again=False), [mark])
