"""Exactly-once writes on a real broker: every row once, whatever crashes, repeats or comes late."""

from collections import Counter
from typing import Any

import pytest
from mqframe_spark.exact.rules import Superseded

from mqframe import BatchTransactionProducer
from mqframe.core.errors import CallTimeout, FixError, SettingError


def test_batches_of_a_stream(query) -> None:
    query.batch(0, query.rows(0), query.rows(1))
    query.batch(1)
    query.batch(2, [], query.rows(2))
    assert query.bodies() == Counter(query.rows(0) + query.rows(1) + query.rows(2))
    record = query.record()
    assert (record.last, record.open, record.topics) == (2, (), ("orders",))


PLACES = [
    ("before begin", 1),
    ("after begin", 1),
    ("before commit", 1),
    ("after commit", 1),
    ("before an end", 1),
    ("before an end", 4),
    ("before note", 1),
    ("after note", 1),
]


@pytest.mark.parametrize(("place", "times"), PLACES)
def test_a_driver_that_crashes_and_comes_back(query, places, place: str, times: int) -> None:
    query.batch(0, query.rows(0))
    places.at(place, times)
    with pytest.raises(places.Crash):
        query.batch(1, query.rows(1), query.rows(11))
    query.batch(1, query.rows(1), query.rows(11))
    query.batch(2, query.rows(2))
    with query.answering():
        query.settled()
    assert query.bodies() == Counter(query.rows(0) + query.rows(1) + query.rows(11) + query.rows(2))
    assert query.record().open == ()


@pytest.mark.parametrize(("place", "times"), [("after commit", 1), ("before an end", 3)])
def test_brokers_that_ask_before_the_batch_is_run_again(query, places, place: str, times: int) -> None:
    places.at(place, times)
    with pytest.raises(places.Crash):
        query.batch(0, query.rows(0))
    plan = query.plan()  # all that a driver does before tasks run
    with query.answering():
        query.settled()
        assert query.bodies() == Counter(query.rows(0))
    query.commit([query.task(plan, 0, query.rows(0))], 0)
    assert query.bodies() == Counter(query.rows(0))


def test_a_driver_that_crashes_twice(query, places) -> None:
    places.at("after commit")
    with pytest.raises(places.Crash):
        query.batch(0, query.rows(0))
    places.at("before an end", 2)
    with pytest.raises(places.Crash):
        query.plan()
    query.batch(0, query.rows(0))
    assert query.bodies() == Counter(query.rows(0))
    assert query.record().open == ()


def test_attempts_that_do_not_count(query) -> None:
    plan = query.plan()
    failed = query.task(plan, 0, query.rows(0)[:30])
    counted = query.task(plan, 0, query.rows(0))
    speculative = query.task(plan, 0, query.rows(0))
    assert len({failed.token, counted.token, speculative.token}) == 3
    query.commit([counted], 0)
    with query.answering():
        query.settled()
    assert query.bodies() == Counter(query.rows(0))


def test_a_request_without_an_answer_is_made_anew(query, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = BatchTransactionProducer.prepare
    lost: list[int] = []

    def losing(self: Any, *arguments: Any, **named: Any) -> Any:
        halves = prepare(self, *arguments, **named)
        if len(lost) < 2:
            lost.append(halves[0].count)
            raise CallTimeout("no answer")
        return halves

    monkeypatch.setattr(BatchTransactionProducer, "prepare", losing)
    plan = query.plan()
    message = query.task(plan, 0, query.rows(0))
    assert len(message.void) == len(lost) == 2
    query.commit([message], 0)
    with query.answering():
        query.settled()
    assert query.bodies() == Counter(query.rows(0))


def test_a_batch_that_failed_leaves_nothing(query) -> None:
    plan = query.plan()
    query.abort([query.task(plan, 0, query.rows(0)), None], 0)
    query.settled()  # nobody had to answer
    assert query.bodies() == Counter()
    query.abort([None], 0)
    query.batch(0, query.rows(0))
    assert query.bodies() == Counter(query.rows(0))


def test_what_is_recorded_cannot_be_aborted(query, places) -> None:
    plan = query.plan()
    messages = [query.task(plan, 0, query.rows(0))]
    places.at("after commit")
    with pytest.raises(places.Crash):
        query.commit(messages, 0)
    query.abort(messages, 0)
    with query.answering():
        query.settled()
    assert query.bodies() == Counter(query.rows(0))


def test_another_driver_takes_over(query) -> None:
    plan = query.plan()
    late = [query.task(plan, 0, query.rows(0))]
    other = query.plan()
    own = [query.task(other, 0, query.rows(0))]
    with pytest.raises(Superseded, match="batch 0 cannot be committed by run 1: run 2 of another driver"):
        query.commit(late, 0)
    query.commit(own, 0)
    query.commit(late, 0)  # recorded by now: nothing is done, and nothing undone
    query.abort(late, 0)
    with query.answering():
        query.settled()
    assert query.bodies() == Counter(query.rows(0))


def test_a_commit_that_outlives_its_driver_ends_nothing_more(query, monkeypatch) -> None:
    monkeypatch.setattr("mqframe_spark.exact.committer.ENDS_AT_ONCE", 2)
    messages = [query.task(query.plan(), 0, query.rows(0))]
    count = len(messages[0].attempt().halves)
    end = BatchTransactionProducer.end
    told: list[int] = []

    def ending(self: Any, halves: Any, outcome: Any, **more: Any) -> Any:
        told.append(len(halves))
        if len(told) == 2:
            with monkeypatch.context() as patch:
                patch.setattr(BatchTransactionProducer, "end", end)
                query.plan()  # by the next driver, which ends all
        return end(self, halves, outcome, **more)

    monkeypatch.setattr(BatchTransactionProducer, "end", ending)
    with pytest.raises(Superseded, match="another driver goes on with batch 0"):
        query.commit(messages, 0)
    assert told == [2, 2]
    assert count > 4
    assert query.bodies() == Counter(query.rows(0))


def test_tasks_of_a_recorded_batch_send_nothing(query) -> None:
    query.batch(0, query.rows(0))
    plan = query.plan()
    message = query.task(plan, 0, query.rows(0))
    assert message.attempt().halves == ()
    query.commit([message], 0)
    assert query.bodies() == Counter(query.rows(0))


def test_the_record_of_another_query_is_not_taken(query) -> None:
    query.batch(0, query.rows(0))
    plan = query.plan()
    query.told["sql.streaming.queryId"] = "another"
    with pytest.raises(FixError, match=r"is that of query 3f6e1c9a.* is query another"):
        query.task(plan, 1, query.rows(1))


def test_rows_of_one_key_stay_in_order(query) -> None:
    rows = query.rows(0, 600)

    def key(row: bytes) -> str:
        return f"customer-{int(row.split()[3]) % 7}"

    query.commit([query.task(query.plan(), 0, rows, key)], 0)
    queues = query.queues()
    assert Counter(body for queue in queues for body in queue) == Counter(rows)
    for number in range(7):
        of_key = [row for row in rows if key(row) == f"customer-{number}"]
        found = [[row for row in queue if row in set(of_key)] for queue in queues]
        assert sorted(found) == [[], of_key]


def test_a_broker_that_is_killed_between_tasks_and_commit(query) -> None:
    plan = query.plan()
    messages = [query.task(plan, 0, query.rows(0))]
    query.cluster.kill_broker()
    query.cluster.start_broker()
    query.commit(messages, 0)
    assert query.bodies() == Counter(query.rows(0))
    assert query.record().open == ()


def test_a_broker_that_is_away_is_told_when_the_next_batch_begins(query, monkeypatch) -> None:
    plan = query.plan()
    messages = [query.task(plan, 0, query.rows(0))]
    monkeypatch.setattr("mqframe_spark.exact.committer.END_PAUSES_SECONDS", ())
    query.cluster.kill_broker()
    query.commit(messages, 0)
    [opened] = query.record().open
    assert opened.left
    assert sum(half.count for half in opened.halves) == 60
    query.cluster.start_broker()
    query.batch(1, query.rows(1))
    assert query.bodies() == Counter(query.rows(0) + query.rows(1))
    assert query.record().open == ()


def test_a_batch_with_a_name_is_written_once(query, tmp_path) -> None:
    commits = str(tmp_path / "commits")
    query.write(query.rows(0), query.rows(1), commitPath=commits, queryName="load-1")
    query.write(query.rows(0), query.rows(1), commitPath=commits, queryName="load-1")
    query.write(query.rows(2), commitPath=commits)
    query.write(query.rows(2), commitPath=commits)
    assert query.bodies() == Counter(query.rows(0) + query.rows(1) + 2 * query.rows(2))


@pytest.mark.parametrize(("place", "times"), PLACES[2:])
def test_a_batch_whose_driver_crashed_is_submitted_again(
    query, places, tmp_path, place: str, times: int
) -> None:
    more = {"commitPath": str(tmp_path / "commits"), "queryName": "load-1"}
    places.at(place, times)
    with pytest.raises(places.Crash):
        query.write(query.rows(0), query.rows(1), **more)
    query.write(query.rows(0), query.rows(1), **more)
    assert query.bodies() == Counter(query.rows(0) + query.rows(1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checkpointLocation": ""}, "exactlyOnce = 'true' needs option checkpointLocation"),
        ({"commitPath": "ftp://a/b"}, "option commitPath = 'ftp://a/b': pyarrow cannot open it"),
    ],
)
def test_a_stream_says_what_is_missing(query, options: dict[str, str], words: str) -> None:
    query.given |= options
    with pytest.raises(SettingError, match=words):
        query.plan()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactlyOnce = 'true' of a batch needs option commitPath"),
        ({"commitPath": "/c", "queryName": "a/b"}, "option queryName = 'a/b': must be letters"),
    ],
)
def test_a_batch_says_what_is_missing(query, options: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        query.write(query.rows(0), **options)
