import itertools

import pytest
from mqframe_pull.puller.raw_pull import RawPull
from mqframe_spark import pull_window
from mqframe_spark.source import broker_reading
from mqframe_spark.source.broker_reading import BrokerSpanReader
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import DataLoss, Span
from mqframe_spark.source.tasks import QueueSpan, read_partition

from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import ConnectionLost, GiveUpError
from mqframe.core.storage.record import RecordError


def reader(wire, queue, start: int, end: int, sleep=lambda seconds: None, **options) -> BrokerSpanReader:
    chosen = SourceOptions("n:1", topics=("t",), **options)
    return BrokerSpanReader(wire, chosen, Span(queue, start, end), sleep=sleep)


def read(wire, queue, start: int, end: int, sleep=lambda seconds: None, **options) -> list[int]:
    batches = reader(wire, queue, start, end, sleep, **options).batches()
    return [offset for batch in batches for offset in batch.column("queue_offset").to_pylist()]


@pytest.mark.parametrize(("start", "end"), [(0, 10), (2, 3), (4, 9), (9, 10), (5, 5)])
def test_exactly_what_was_asked_for_is_read(wire, start, end) -> None:
    assert read(wire, wire.add(0, 10), start, end) == list(range(start, end))


def test_batches_are_bounded(wire, monkeypatch) -> None:
    monkeypatch.setattr(broker_reading, "BATCH_BYTES", 500)
    monkeypatch.setattr(pull_window, "WINDOW_BYTES", 500)
    queue = wire.add(0, 13)
    assert [batch.num_rows for batch in reader(wire, queue, 0, 13).batches()] == [6, 6, 1]


def test_passing_faults_are_borne_and_the_route_is_asked_again(wire) -> None:
    queue = wire.add(0, 5)
    wire.faults = [ConnectionLost("gone"), ConnectionLost("route too")]
    slept: list[float] = []
    assert read(wire, queue, 0, 5, slept.append) == [0, 1, 2, 3, 4]
    assert wire.calls[:4] == ["pull", "route", "route", "pull"]
    assert slept == [0.05, 0.2]


def test_a_broker_that_the_name_server_forgot_is_waited_for(wire) -> None:
    queue = wire.add(0, 5)
    wire.faults = [ConnectionLost("gone")]
    wire.deleted.add("t")
    assert read(wire, queue, 0, 5) == [0, 1, 2, 3, 4]
    assert wire.calls[:3] == ["pull", "route", "pull"]


def test_lasting_faults_are_raised(wire) -> None:
    queue = wire.add(0, 5)
    wire.faults = [ConnectionLost(f"gone {i}") for i in range(9)]
    with pytest.raises(ConnectionLost, match="gone 4"):
        read(wire, queue, 0, 5)


def test_messages_that_retention_removed_are_a_loss(wire) -> None:
    queue = wire.add(3, 5, begin=10)
    with pytest.raises(DataLoss, match=r"topic t, broker a, queue 3: offset 8 is needed, .*kept is 10"):
        read(wire, queue, 8, 12)


def test_messages_that_never_come_are_a_loss(wire) -> None:
    queue = wire.add(0, 2)
    with pytest.raises(DataLoss, match="offset 2 is needed, but the broker finds nothing there"):
        read(wire, queue, 0, 4)


def test_a_hole_is_a_loss(wire) -> None:
    queue = wire.add(0, 5)
    del wire.messages[queue][1]
    with pytest.raises(DataLoss, match="offset 1 is needed, but the oldest that is kept is 2"):
        read(wire, queue, 0, 4)


def test_an_answer_that_does_not_reach_the_offset_is_a_loss(wire, monkeypatch) -> None:
    queue = wire.add(0, 5)
    old = RawPull(PullStatus.FOUND, b"".join(wire.messages[queue][:2]), 2, 0, 5)
    monkeypatch.setattr(wire, "pull", lambda queue, asked, expression: [old])
    with pytest.raises(DataLoss, match="offset 3 is needed, but the broker finds nothing there"):
        read(wire, queue, 3, 5)


def test_a_damaged_body_names_its_place(wire, record) -> None:
    queue = wire.add(0, 3)
    wire.messages[queue][1] = record(1, position=77, body=b"no zlib", sys_flag=0x301)
    with pytest.raises(GiveUpError, match=r"topic t, the record at commit-log offset 77: compressed body"):
        read(wire, queue, 0, 3)


def test_what_is_gone_may_be_skipped(wire) -> None:
    queue = wire.add(3, 5, begin=10)
    assert read(wire, queue, 8, 12, fail_on_data_loss=False) == [10, 11]
    assert read(wire, queue, 2, 9, fail_on_data_loss=False) == []


def test_tags_are_compared_by_text(wire) -> None:
    queue = wire.add(0, 7)
    assert read(wire, queue, 0, 7, tags="tag1 || none", columns=("queue_offset",)) == [1, 4]


def test_the_stand_in_for_no_partitions_reads_nothing() -> None:
    from pyspark.sql.datasource import InputPartition

    assert list(read_partition(SourceOptions("nowhere:1", topics=("t",)), InputPartition(None))) == []


def test_a_partition_shows_what_it_is(wire) -> None:
    assert repr(QueueSpan(Span(wire.add(1, 1), 3, 9))) == "QueueSpan(t, a/1, 3..9)"


# Several pulls at once


@pytest.mark.parametrize("per_pull", [1, 3, 32, 4096])
@pytest.mark.parametrize("count", [1, 2, 100, 700])
def test_all_is_read_whatever_answers_hold(wire, per_pull, count) -> None:
    wire.per_pull = per_pull
    queue = wire.add(0, count, begin=40)
    assert read(wire, queue, 40, 40 + count) == list(range(40, 40 + count))
    pulls = sum(map(len, wire.asked))
    assert pulls <= -(-count // per_pull) + 1


def test_the_next_pulls_are_asked_before_the_first_is_answered(wire) -> None:
    queue = wire.add(0, 100)
    read(wire, queue, 0, 100)
    assert wire.asked[0] == [(0, 100)]
    assert wire.asked[1][:3] == [(3, 3), (6, 3), (9, 3)]
    assert len(wire.asked[1]) == pull_window.PULLS_MAX
    assert wire.calls.count("pull") == 3


def test_answers_of_changing_lengths(wire, monkeypatch) -> None:
    queue = wire.add(0, 500)
    lengths = itertools.cycle([32, 32, 8, 1, 31, 0, 7])
    answer = wire._answer

    def changing(queue, offset, most):
        return answer(queue, offset, min(most, next(lengths)))

    monkeypatch.setattr(wire, "per_pull", 99)
    monkeypatch.setattr(wire, "_answer", changing)
    assert read(wire, queue, 0, 500) == list(range(500))


@pytest.mark.parametrize(("lacking", "pulls"), [(8, 34), (9, 72)])
def test_what_a_short_answer_lacks_is_fetched_and_those_behind_it_count(wire, lacking, pulls) -> None:
    wire.per_pull = 32
    queue = wire.add(0, 32 * 33)
    answer = wire._answer

    def short(queue, offset, most):
        return answer(queue, offset, 32 - lacking if (offset, most) == (64, 32) else most)

    wire._answer = short
    assert read(wire, queue, 0, 32 * 33) == list(range(32 * 33))
    assert ([(96 - lacking, lacking)] in wire.asked) == (lacking == 8)
    assert sum(map(len, wire.asked)) == pulls


def test_only_the_first_answers_came(wire, monkeypatch) -> None:
    queue = wire.add(0, 200)
    pull = wire.pull
    monkeypatch.setattr(wire, "pull", lambda queue, asked, expression: pull(queue, asked, expression)[:2])
    assert read(wire, queue, 0, 200) == list(range(200))


def test_a_later_answer_that_says_that_the_queue_ends_is_asked_for_again(wire, monkeypatch) -> None:
    queue = wire.add(0, 60)
    answer = wire._answer
    told: list[int] = []

    def moved(queue, offset, most):
        if offset == 30 and not told:
            told.append(offset)
            return RawPull(PullStatus.OFFSET_ILLEGAL, b"", 3, 0, 30)
        return answer(queue, offset, most)

    monkeypatch.setattr(wire, "_answer", moved)
    assert read(wire, queue, 0, 60) == list(range(60))
    assert told == [30]


def test_retention_that_overtakes_later_pulls_is_a_loss(wire, monkeypatch) -> None:
    queue = wire.add(0, 60)
    answer = wire._answer

    def removed(queue, offset, most):
        if 3 <= offset < 40:
            return RawPull(PullStatus.OFFSET_ILLEGAL, b"", 40, 40, 60)
        return answer(queue, offset, most)

    monkeypatch.setattr(wire, "_answer", removed)
    with pytest.raises(DataLoss, match="offset 3 is needed, but the oldest that is kept is 40"):
        read(wire, queue, 0, 60)
    assert read(wire, queue, 0, 60, fail_on_data_loss=False) == [0, 1, 2, *range(40, 60)]


def test_a_hole_in_a_later_answer_is_a_loss(wire) -> None:
    queue = wire.add(0, 50)
    wire.messages[queue][20] = wire.messages[queue][21]
    with pytest.raises(DataLoss, match="offset 20 is needed, but the oldest that is kept is 21"):
        read(wire, queue, 0, 50)


@pytest.mark.parametrize("tags", ["*", "tag1 || tag2"])
def test_records_out_of_order_are_never_given_out_twice(wire, tags) -> None:
    queue = wire.add(0, 50)
    messages = wire.messages[queue]
    messages[20], messages[19] = messages[19], messages[19]
    with pytest.raises(RecordError, match="out of order"):
        read(wire, queue, 18, 50, tags=tags, fail_on_data_loss=False)


def test_a_cut_answer_is_an_error(wire, monkeypatch) -> None:
    queue = wire.add(0, 5)
    cut = RawPull(PullStatus.FOUND, b"".join(wire.messages[queue])[:-7], 5, 0, 5)
    monkeypatch.setattr(wire, "pull", lambda queue, asked, expression: [cut])
    with pytest.raises(RecordError, match="begins no whole record"):
        read(wire, queue, 0, 5)


def test_passing_faults_of_later_pulls_are_borne(wire) -> None:
    queue = wire.add(0, 200)
    batches = reader(wire, queue, 0, 200).batches()
    wire.faults = [ConnectionLost("gone")]
    offsets = [offset for batch in batches for offset in batch.column("queue_offset").to_pylist()]
    assert offsets == list(range(200))


def test_bodies_survive_their_answers(wire, monkeypatch) -> None:
    monkeypatch.setattr(broker_reading, "BATCH_BYTES", 900)
    queue = wire.add(0, 120)
    batches = list(reader(wire, queue, 0, 120, columns=("body", "commitlog_offset")).batches())
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"body": b"body %d" % n, "commitlog_offset": 1000 * n} for n in range(120)
    ]
