import pytest
from mqframe_spark.options import SourceOptions
from mqframe_spark.positions import DataLoss, Span
from mqframe_spark.reading import QueueSpan, SpanReader, read_partition

from mqframe.core.errors import ConnectionLost, GiveUpError
from mqframe.core.pull import PullResult, PullStatus


def read(wire, queue, start: int, end: int, sleep=lambda seconds: None) -> list[int]:
    batches = SpanReader(wire, Span(queue, start, end), sleep=sleep).batches()
    return [offset for batch in batches for offset in batch.column("queue_offset").to_pylist()]


@pytest.mark.parametrize(("start", "end"), [(0, 10), (2, 3), (4, 9), (9, 10), (5, 5)])
def test_exactly_what_was_asked_for_is_read(wire, start, end) -> None:
    assert read(wire, wire.add(0, 10), start, end) == list(range(start, end))


def test_batches_are_bounded(wire, monkeypatch) -> None:
    monkeypatch.setattr("mqframe_spark.reading.BATCH_ROWS_MAX", 5)
    span = Span(wire.add(0, 13), 0, 13)
    assert [batch.num_rows for batch in SpanReader(wire, span).batches()] == [6, 6, 1]


def test_passing_faults_are_borne_and_the_route_is_asked_again(wire) -> None:
    queue = wire.add(0, 5)
    wire.faults = [ConnectionLost("gone"), ConnectionLost("route too")]
    slept: list[float] = []
    assert read(wire, queue, 0, 5, slept.append) == [0, 1, 2, 3, 4]
    assert wire.calls[:4] == ["pull", "route", "route", "pull"]
    assert slept == [0.05, 0.2]


def test_lasting_faults_are_raised(wire) -> None:
    queue = wire.add(0, 5)
    wire.faults = [ConnectionLost(f"gone {i}") for i in range(9)]
    with pytest.raises(ConnectionLost, match="gone 4"):
        read(wire, queue, 0, 5)


def test_messages_that_retention_removed_are_a_loss(wire) -> None:
    queue = wire.add(3, 5, begin=10)
    with pytest.raises(DataLoss, match=r"topic t, broker a, queue 3: offset 8 is needed, .*holds 10 to 15"):
        read(wire, queue, 8, 12)


def test_messages_that_never_come_are_a_loss(wire) -> None:
    queue = wire.add(0, 2)
    with pytest.raises(DataLoss, match="offset 2 is needed, but the broker finds nothing there"):
        read(wire, queue, 0, 4)


def test_a_hole_is_a_loss(wire, message) -> None:
    queue = wire.add(0, 5)
    del wire.messages[queue][1]
    with pytest.raises(DataLoss, match="offset 1 is needed, but 2 came next"):
        read(wire, queue, 0, 4)


def test_an_answer_that_does_not_reach_the_offset_is_a_loss(wire, monkeypatch) -> None:
    queue = wire.add(0, 5)
    old = PullResult(PullStatus.FOUND, wire.messages[queue][:2], 2, 0, 5)
    monkeypatch.setattr(wire, "pull", lambda queue, offset: old)
    with pytest.raises(DataLoss, match="offset 3 is needed, but the broker gave older messages"):
        read(wire, queue, 3, 5)


def test_a_damaged_body_names_its_queue(wire, message) -> None:
    queue = wire.add(0, 3)
    wire.messages[queue][1] = message(1, body=b"no zlib", sys_flag=0x301)
    with pytest.raises(GiveUpError, match=r"queue_id=0\) between 0 and 3: compressed body .* damaged"):
        read(wire, queue, 0, 3)


def test_the_stand_in_for_no_partitions_reads_nothing() -> None:
    from pyspark.sql.datasource import InputPartition

    assert list(read_partition(SourceOptions("nowhere:1", "t"), InputPartition(None))) == []


def test_a_partition_shows_what_it_is(wire) -> None:
    assert repr(QueueSpan(Span(wire.add(1, 1), 3, 9))) == "QueueSpan(t, a/1, 3..9)"
