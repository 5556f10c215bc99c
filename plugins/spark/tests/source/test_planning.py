"""What the driver decides, on a cluster in memory."""

import pytest
from mqframe_spark.source.bounds import EARLIEST, LATEST, Bound, parse_bound
from mqframe_spark.source.broker_origin import BrokerOrigin
from mqframe_spark.source.options import SourceOptions, parse_options
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.positions import DataLoss

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue


def planner(wire, **change) -> Planner:
    options = SourceOptions(**{"nameserver": "n:1", "topics": ("t",), **change})
    return Planner(options, BrokerOrigin(options, wire, sleep=lambda seconds: None))


def asked(wire, **given: str) -> Planner:
    options = parse_options({"nameserver": "n:1", "topic": "t", **given})
    return Planner(options, BrokerOrigin(options, wire, sleep=lambda seconds: None))


def ranges(spans) -> list[tuple[int, int, int]]:
    return [(span.queue.queue_id, span.start, span.end) for span in spans]


def test_a_batch_reads_from_bound_to_bound(wire) -> None:
    wire.add(0, 10, begin=5)
    wire.add(1, 4)
    assert ranges(planner(wire).batch()) == [(0, 5, 15), (1, 0, 4)]
    part = {"startingOffsets": '{"t": {"a/0": 7, "a/1": -1}}', "endingOffsets": '{"t": {"a/0": 9}}'}
    assert ranges(asked(wire, **part).batch()) == [(0, 7, 9)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"startingOffsets": '{"t": {"a/0": 99}}'},
            "option startingOffsets = .*offset 99 lies behind its end",
        ),
        (
            {"endingOffsets": '{"t": {"a/0": 99}}'},
            "option endingOffsets = .*offset 99 lies behind its end, 15",
        ),
        ({"endingOffsets": '{"t": {"b/0": 9}}'}, "option endingOffsets = .*topic t has no queue b/0"),
        (
            {"startingOffsets": "group:naer"},
            "option startingOffsets = 'group:naer': group naer is not known: .* in topic t; .*: far, near",
        ),
        ({"startingOffsets": "group:far"}, "option startingOffsets = 'group:far': .*offset 70 lies behind"),
        (
            {"startingOffsets": "group:near", "endingOffsets": '{"t": {"a/0": 6}}'},
            "'group:near' and endingOffsets = .* contradict each other: topic t, queue a/0 would be read",
        ),
    ],
)
def test_bounds_that_no_queue_has_are_refused_with_option_and_value(wire, given, said) -> None:
    queue = wire.add(0, 10, begin=5)
    wire.progress = {("far", queue): 70, ("near", queue): 8}
    with pytest.raises(SettingError, match=said):
        asked(wire, **given).batch()


def test_a_group_that_has_no_progress_yet_begins_where_all_do(wire) -> None:
    wire.add(0, 10, begin=5)
    wire.made = {"new"}
    assert ranges(asked(wire, startingOffsets="group:new").batch()) == [(0, 5, 15)]


def test_an_end_before_what_is_kept_reads_nothing(wire) -> None:
    wire.add(0, 10, begin=5)
    assert asked(wire, endingOffsets='{"t": {"a/0": 3}}').batch() == []


@pytest.mark.parametrize("start", [parse_bound('{"t": {"a/0": 2}}'), parse_bound("group:slow")])
def test_a_start_before_what_is_kept_is_a_loss_for_batch_and_stream(wire, start, caplog) -> None:
    queue = wire.add(0, 10, begin=5)
    wire.progress = {("slow", queue): 2}
    for plan in (Planner.batch, Planner.initial):
        with pytest.raises(DataLoss, match=r"broker a, queue 0: offset 2 is needed, but the oldest .* is 5"):
            plan(planner(wire, starting_offsets=start))
    lax = planner(wire, starting_offsets=start, fail_on_data_loss=False)
    assert ranges(lax.batch()) == [(0, 5, 15)]
    assert lax.initial() == {queue: 5}
    told = "messages are gone and were skipped topic='t' broker='a' queue_id=0 start=2 end=5 count=3"
    assert caplog.messages == [told, told]


def test_times_beyond_the_queue_contradict_nothing(wire) -> None:
    wire.add(0, 10)
    late = {
        "starting_timestamp": Bound("time", timestamp_ms=50),
        "ending_timestamp": Bound("time", timestamp_ms=60),
    }
    assert planner(wire, **late).batch() == []
    assert planner(wire, starting_offsets=EARLIEST, ending_offsets=LATEST).batch() != []


def test_a_queue_made_anew_is_a_loss_or_read_from_its_beginning(wire, caplog) -> None:
    queue = wire.add(0, 4)
    with pytest.raises(
        DataLoss, match="topic t, broker a, queue 0: offset 9 is needed, but the queue ends at 4"
    ):
        planner(wire).now({queue: 9})
    assert planner(wire, fail_on_data_loss=False).now({queue: 9}) == ({queue: 0}, {queue: 4})
    assert "offset 9 is needed, but the queue ends at 4" in caplog.text


def test_a_deleted_topic_is_a_loss_or_told_once(wire, caplog) -> None:
    queue, other = wire.add(0, 4), MessageQueue("u", "a", 0)
    wire.deleted.add("u")
    read = {queue: 1, other: 7}
    with pytest.raises(DataLoss, match=r"topic u is gone from broker a, .* were read up to {0: 7}"):
        planner(wire, topics=("t", "u")).now(read)
    lax = planner(wire, topics=("t", "u"), fail_on_data_loss=False)
    assert lax.now(read) == lax.now(read) == ({}, {queue: 4})
    assert caplog.text.count("topic u is gone from broker a") == 1


def test_a_topic_whose_broker_is_away_waits_while_others_go_on(wire, caplog) -> None:
    queue, other = wire.add(0, 4), MessageQueue("u", "b", 0)
    wire.deleted |= {"u", "b"}  # the name server forgot the broker and all that it has
    patient = planner(wire, topics=("t", "u"))
    assert patient.now({queue: 1, other: 7}) == patient.now({queue: 1, other: 7}) == ({}, {queue: 4})
    assert caplog.text.count("cannot be reached waits") == 1
    wire.deleted.add("t")
    wire.deleted.add("a")
    with pytest.raises(Exception, match="knows no such topic"):
        patient.now({queue: 1})
