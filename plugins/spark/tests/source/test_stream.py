import pickle
import time

import pytest
from mqframe_spark.records.schema import spark_schema
from mqframe_spark.source.bounds import LATEST, parse_bound
from mqframe_spark.source.broker_origin import BrokerOrigin
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.positions import BEGIN, DataLoss
from mqframe_spark.source.stream import StreamReader
from mqframe_testing.manual_clock import ManualClock
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

from mqframe.core.errors import ConnectError, FixError, SettingError
from mqframe.core.messages.message import MessageQueue

ALL = ReadAllAvailable()


def reader(wire, *, clock=time.monotonic, **options) -> StreamReader:
    source = SourceOptions("n:1", topics=("t",), **options)
    origin = BrokerOrigin(source, wire, sleep=lambda seconds: None)
    return StreamReader(source, spark_schema(), Planner(source, origin), clock)


def begun(stream) -> dict:
    """Where a new query begins, once Spark has that in its checkpoint."""
    begin = stream.initialOffset()
    start = stream.latestOffset(begin, ALL)
    assert stream.initialOffset() == begin == {**start, BEGIN: {}}
    assert stream.partitions(begin, start) == []
    return start


def planned(stream, start, end) -> list[str]:
    return [repr(partition) for partition in stream.partitions(start, end)]


def test_a_stream_begins_at_the_oldest_message_or_at_the_end(wire) -> None:
    wire.add(0, 5, begin=2)
    wire.add(1, 0)
    assert begun(reader(wire)) == {"t": {"a/0": 2, "a/1": 0}}
    assert begun(reader(wire, starting_offsets=LATEST)) == {"t": {"a/0": 7, "a/1": 0}}


def test_what_comes_while_the_first_batch_is_repeated_is_not_passed_over(wire) -> None:
    wire.add(0, 5)
    stream = reader(wire, starting_offsets=LATEST)
    begin = stream.initialOffset()
    wire.add(0, 8)
    start = stream.latestOffset(begin, ALL)
    assert (stream.initialOffset(), start) == (begin, {"t": {"a/0": 5}})
    # Spark has written `start` as the end of its first batch, is killed, and has another reader repeat it.
    wire.add(0, 9)
    again = reader(wire, starting_offsets=LATEST)
    assert again.initialOffset() == {"t": {"a/0": 9}, BEGIN: {}}
    assert again.partitions(again.initialOffset(), start) == []
    end = again.latestOffset(start, ALL)
    assert planned(again, start, end) == ["QueueSpan(t, a/0, 5..9)"]


def test_a_first_batch_that_the_sink_has_already_is_not_planned_again(wire) -> None:
    """Spark then asks at once what follows, and would believe "nothing" for good with `availableNow`."""
    wire.add(0, 5)
    start = begun(reader(wire))
    again = reader(wire)
    again.prepareForTriggerAvailableNow()
    again.initialOffset()
    assert planned(again, start, again.latestOffset(start, ALL)) == ["QueueSpan(t, a/0, 0..5)"]


def test_a_repeated_later_batch_is_planned_as_it_was(wire) -> None:
    wire.add(0, 9)
    again = reader(wire)
    assert planned(again, {"t": {"a/0": 2}}, {"t": {"a/0": 5}}) == ["QueueSpan(t, a/0, 2..5)"]


def test_available_now_may_begin_behind_the_end_that_it_saw(wire) -> None:
    wire.add(0, 5)
    stream = reader(wire, starting_offsets=LATEST)
    stream.prepareForTriggerAvailableNow()
    wire.add(0, 7)
    start = begun(stream)
    assert start == {"t": {"a/0": 7}}
    assert stream.latestOffset(start, ALL) == start


def test_available_now_stops_where_the_options_say(wire) -> None:
    wire.add(0, 5)
    wire.add(1, 3)
    ending = parse_bound('{"t": {"a/0": 2}}')
    stream = reader(wire, ending_offsets=ending, given={"endingoffsets": "2"})
    stream.prepareForTriggerAvailableNow()
    start = begun(stream)
    end = stream.latestOffset(start, ALL)
    assert end == stream.reportLatestOffset() == {"t": {"a/0": 2, "a/1": 3}}
    # Started again behind it, the query has nothing to do, and does not go back.
    again = reader(wire, ending_offsets=ending, given={"endingoffsets": "2"})
    again.prepareForTriggerAvailableNow()
    assert again.latestOffset({"t": {"a/0": 4, "a/1": 3}}, ALL) == {"t": {"a/0": 4, "a/1": 3}}


def test_a_stream_that_goes_on_has_no_end(wire) -> None:
    wire.add(0, 5)
    for ask in (StreamReader.initialOffset, lambda stream: stream.latestOffset({"t": {"a/0": 1}}, ALL)):
        with pytest.raises(SettingError, match="option endingOffsets = '2': only a batch"):
            ask(reader(wire, ending_offsets=LATEST, given={"endingoffsets": "2"}))


def test_batches_follow_one_another(wire) -> None:
    wire.add(0, 5)
    stream = reader(wire)
    start = begun(stream)
    end = stream.latestOffset(start, ALL)
    assert end == {"t": {"a/0": 5}}
    assert planned(stream, start, end) == ["QueueSpan(t, a/0, 0..5)"]
    assert stream.latestOffset(end, ALL) == end
    assert planned(stream, end, end) == []
    assert stream.reportLatestOffset() == end


def test_new_queues_and_brokers_are_taken_in_from_their_beginning(wire) -> None:
    wire.add(0, 5)
    stream = reader(wire, starting_offsets=LATEST)
    start = begun(stream)
    wire.add(0, 4, broker="b", begin=3)
    entered = stream.latestOffset(start, ALL)
    assert entered == {"t": {"a/0": 5, "b/0": 3}}
    assert planned(stream, start, entered) == []
    end = stream.latestOffset(entered, ALL)
    assert planned(stream, entered, end) == ["QueueSpan(t, b/0, 3..7)"]


@pytest.mark.parametrize("how", ["masterless", "unreachable"])
def test_a_broker_that_is_away_waits(wire, how) -> None:
    wire.add(0, 5)
    wire.add(0, 5, broker="b")
    stream = reader(wire)
    start = begun(stream)
    getattr(wire, how).add("b")
    assert stream.latestOffset(start, ALL) == {"t": {"a/0": 5, "b/0": 0}}


def test_a_stream_fails_when_no_broker_can_be_reached(wire) -> None:
    wire.add(0, 5)
    stream = reader(wire)
    start = begun(stream)
    wire.unreachable.add("a")
    with pytest.raises(ConnectError, match="a: refused"):
        stream.latestOffset(start, ALL)


def test_a_queue_that_lost_its_end_stops_the_stream(wire) -> None:
    wire.add(0, 5)
    with pytest.raises(DataLoss, match="offset 9 is needed, but the queue ends at 5"):
        reader(wire).latestOffset({"t": {"a/0": 9}}, ALL)


def test_the_limit_is_told_and_kept(wire) -> None:
    wire.add(0, 6)
    wire.add(1, 2)
    stream = reader(wire, max_offsets_per_trigger=4)
    assert stream.getDefaultReadLimit() == ReadMaxRows(4)
    assert reader(wire).getDefaultReadLimit() == ALL
    start = begun(stream)
    assert stream.latestOffset(start, ReadMaxRows(4)) == {"t": {"a/0": 3, "a/1": 1}}
    assert stream.latestOffset(start, ALL) == {"t": {"a/0": 6, "a/1": 2}}


def test_a_limit_of_bytes_is_kept_about(wire) -> None:
    wire.add(0, 60)
    stream = reader(wire, max_bytes_per_trigger=1500)
    assert stream.getDefaultReadLimit() == ReadMaxBytes(1500)
    size = len(wire.messages[MessageQueue("t", "a", 0)][0])
    end = stream.latestOffset(begun(stream), ReadMaxBytes(1500))
    assert abs(end["t"]["a/0"] - 1500 / size) <= 2


def test_a_group_is_told_how_far_the_stream_is_and_never_back(wire) -> None:
    queue = wire.add(0, 9)
    stream = reader(wire, commit_to_group="lag")
    stream.commit({"t": {"a/0": 6}})
    assert wire.progress == {("lag", queue): 6}
    stream.commit({"t": {"a/0": 4}})
    assert wire.progress == {("lag", queue): 6}
    reader(wire).commit({"t": {"a/0": 9}})
    assert wire.progress == {("lag", queue): 6}


def test_topics_by_pattern_come_in_as_they_appear(wire) -> None:
    wire.add(0, 2)
    source = SourceOptions("n:1", topic_pattern="[tu]")
    stream = StreamReader(source, spark_schema(), Planner(source, BrokerOrigin(source, wire)))
    assert begun(stream) == {"t": {"a/0": 0}}


def test_available_now_stops_where_the_queues_ended_when_it_began(wire) -> None:
    wire.add(0, 5)
    stream = reader(wire)
    stream.prepareForTriggerAvailableNow()
    start = begun(stream)
    wire.add(0, 9)
    wire.add(1, 4)
    end = stream.latestOffset(start, ALL)
    assert end == {"t": {"a/0": 5}}
    assert stream.latestOffset(end, ALL) == end


def test_available_now_reads_queues_that_the_checkpoint_does_not_know(wire) -> None:
    wire.add(0, 5)
    wire.add(1, 4, begin=1)
    stream = reader(wire)
    stream.prepareForTriggerAvailableNow()
    start = {"t": {"a/0": 5}}
    entered = stream.latestOffset(start, ALL)
    assert entered == {"t": {"a/0": 5, "a/1": 1}}
    end = stream.latestOffset(entered, ALL)
    assert end == {"t": {"a/0": 5, "a/1": 5}}
    assert stream.latestOffset(end, ALL) == end


def test_the_checkpoint_of_another_topic_is_refused(wire) -> None:
    wire.add(0, 5)
    with pytest.raises(FixError, match="holds offsets of topic other"):
        reader(wire).latestOffset({"other": {}}, ALL)


def test_a_topic_whose_queues_may_not_be_read_is_refused(wire) -> None:
    with pytest.raises(FixError, match="option topic = 't': no broker lets its queues be read"):
        reader(wire).initialOffset()


def test_connections_stay_behind_when_the_reader_travels_and_close_when_it_stops(wire) -> None:
    stream = reader(wire)
    pickle.dumps(stream)
    stream.stop()
    assert wire.closed


def test_a_micro_batch_waits_for_enough_messages_or_long_enough(wire) -> None:
    clock = ManualClock()
    wire.add(0, 3)
    stream = reader(wire, min_offsets_per_trigger=5, max_trigger_delay=60.0, clock=clock.monotonic)
    start = begun(stream)
    first = stream.latestOffset(start, ALL)
    assert first == {"t": {"a/0": 3}}  # nothing was read before: nobody has to wait
    wire.add(0, 7)
    clock.advance(59)
    assert stream.latestOffset(first, ALL) == first
    clock.advance(1)
    second = stream.latestOffset(first, ALL)
    assert second == {"t": {"a/0": 7}}
    wire.add(0, 12)
    assert stream.latestOffset(second, ALL) == {"t": {"a/0": 12}}
    # A queue that appears is entered at once, and read when there is enough.
    wire.add(0, 13)
    wire.add(1, 2)
    entered = stream.latestOffset({"t": {"a/0": 12}}, ALL)
    assert entered == {"t": {"a/0": 12, "a/1": 0}}
    assert stream.latestOffset(entered, ALL) == entered


def test_a_stream_that_ends_waits_for_nothing(wire) -> None:
    wire.add(0, 3)
    stream = reader(wire, min_offsets_per_trigger=5)
    stream.prepareForTriggerAvailableNow()
    assert stream.latestOffset(begun(stream), ALL) == {"t": {"a/0": 3}}
