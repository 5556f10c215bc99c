"""Messages that were recorded and that brokers gave up: reported until somebody says that it is known."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import msgspec
import pytest
from mqframe_spark.exact.losses import LostMessages
from mqframe_spark.exact.writers import pack
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe import Admin, Puller
from mqframe.core.errors import RouteError
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC
from mqframe.core.storage.record import decode_records

IMPATIENT = {"check_max": 2}


def discards(query: Any) -> list[Any]:
    """What the broker gave up."""

    async def read() -> list[Any]:
        found = query.cluster.broker.store.reads.get(CHECK_MAX_TIME_TOPIC, 0, 0, 100)
        return [message for part in found.parts for message in decode_records(part)]

    return list(query.cluster.run(read()))


@pytest.fixture
def impatient(make_query: Callable[..., Any]) -> Any:
    """A query that writes to a broker that asks twice only."""
    return make_query(**IMPATIENT)


def test_halves_that_were_given_up_before_the_commit(impatient, caplog) -> None:
    query = impatient
    plan = query.plan()
    messages = [query.task(plan, 0, query.rows(0))]
    count = len(messages[0].attempt().halves)
    query.until(lambda: len(discards(query)) == count)
    words = "batch 0: 60 messages for topic orders on broker broker-a: discarded after the last check"
    with pytest.raises(LostMessages, match=words):
        query.commit(messages, 0)
    for _ in range(2):
        with pytest.raises(LostMessages, match=rf"checkpoint/mqframe/stream: .*{words}"):
            query.plan()
    query.given["failOnDataLoss"] = "false"
    query.batch(0, query.rows(0))
    assert words in caplog.text
    query.given["failOnDataLoss"] = "true"
    query.batch(1, query.rows(1))
    assert query.bodies() == Counter(query.rows(1))


def test_a_driver_that_comes_back_too_late(impatient, places) -> None:
    query = impatient
    query.batch(0, query.rows(0))
    places.at("before an end", 3)
    with pytest.raises(places.Crash):
        query.batch(1, query.rows(1))
    ended = query.bodies() - Counter(query.rows(0))
    lost = 60 - ended.total()
    assert 0 < lost < 60
    query.until(lambda: len(discards(query)) == len(query.record().open[0].halves) - 2)
    with pytest.raises(LostMessages, match=f"batch 1: {lost} messages for topic orders"):
        query.plan()
    # What was given up can be asked for again, and is delivered then.
    with query.answering(), Admin(nameserver=query.given["nameserver"]) as admin:
        for half in discards(query):
            admin.messages.resume_transaction(half.offset_message_id)
        query.until(lambda: query.bodies() == Counter(query.rows(0) + query.rows(1)))
    query.given["failOnDataLoss"] = "false"
    query.batch(1, query.rows(1))
    query.given["failOnDataLoss"] = "true"
    query.batch(2, query.rows(2))
    assert query.bodies() == Counter(query.rows(0) + query.rows(1) + query.rows(2))


def test_what_others_lost_is_not_counted(impatient) -> None:
    query = impatient
    plan = query.plan()
    failed = query.task(plan, 0, query.rows(0))
    query.until(lambda: len(discards(query)) == len(failed.attempt().halves))
    with query.answering():
        query.commit([query.task(plan, 0, query.rows(0))], 0)
    assert query.bodies() == Counter(query.rows(0))


def test_halves_that_their_broker_does_not_hold(query) -> None:
    plan = query.plan()
    message = query.task(plan, 0, query.rows(0))
    first, *others = message.attempt().halves
    moved = msgspec.structs.replace(first, commit_log_offset=first.commit_log_offset + 1)
    halves: list[PreparedHalf] = [moved, *others]
    changed = attrs.evolve(message, halves=pack(halves))
    with pytest.raises(LostMessages, match=f"{first.count} messages .* no longer held, so it is not known"):
        query.commit([changed], 0)
    query.given["failOnDataLoss"] = "false"
    query.plan()
    assert query.record().open == ()


def test_a_broker_that_cannot_be_asked_is_asked_later(impatient, places, monkeypatch) -> None:
    query = impatient
    places.at("after commit")
    with pytest.raises(places.Crash):
        query.batch(0, query.rows(0))
    query.until(lambda: len(discards(query)) == len(query.record().open[0].halves))

    def away(self: Any, queue: Any) -> int:
        raise RouteError("away")

    with monkeypatch.context() as patch:
        patch.setattr(Puller, "min_offset", away)
        patch.setattr("mqframe_spark.exact.losses.retrying", lambda call: call())
        query.plan()
    with pytest.raises(LostMessages, match="60 messages"):
        query.plan()
