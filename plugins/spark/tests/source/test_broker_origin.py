import pytest
from mqframe_spark.retrying import PAUSES_SECONDS
from mqframe_spark.source.broker_origin import BrokerOrigin
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import DataLoss

from mqframe.core.errors import ConnectError, ConnectionLost, FixError
from mqframe.core.messages.message import MessageQueue


def origin(wire, slept: list[float] | None = None, **options) -> BrokerOrigin:
    chosen = SourceOptions(**{"nameserver": "n:1", "topics": ("t",), **options})
    return BrokerOrigin(chosen, wire, sleep=(slept if slept is not None else []).append)


def test_queues_and_their_bounds(wire) -> None:
    queues = [wire.add(0, 4, begin=3), wire.add(1, 0), wire.add(0, 2, broker="b")]
    found = origin(wire)
    assert found.queues() == queues
    assert found.beginnings(queues) == dict(zip(queues, [3, 0, 0], strict=True))
    assert found.heads(queues) == dict(zip(queues, [7, 0, 2], strict=True))


def test_calls_are_tried_again_after_pauses(wire) -> None:
    queue, slept = wire.add(0, 4), []
    wire.faults = [ConnectionLost("gone"), ConnectionLost("gone")]
    assert origin(wire, slept).beginnings([queue]) == {queue: 0}
    assert slept == list(PAUSES_SECONDS[:2])


def test_a_broker_that_stays_away_is_named(wire) -> None:
    queue = wire.add(0, 4)
    wire.unreachable = {"a"}
    with pytest.raises(ConnectError, match="topic t: broker a cannot be reached: a: refused"):
        origin(wire).beginnings([queue])
    with pytest.raises(ConnectError):
        origin(wire).heads([queue])
    with pytest.raises(ConnectError):
        origin(wire).heads([queue], patient=True)


def test_the_others_go_on_and_it_is_told_once(wire, caplog) -> None:
    here, there = wire.add(0, 4), wire.add(0, 5, broker="b")
    found = origin(wire)
    wire.unreachable = {"a"}
    for _ in range(2):
        assert found.heads([here, there], patient=True) == {there: 5}
    assert caplog.text.count("what cannot be reached waits") == 1
    wire.unreachable = set()
    assert found.heads([here, there], patient=True) == {here: 4, there: 5}


def test_queues_without_a_master_wait_where_one_is_patient(wire) -> None:
    queues = [wire.add(0, 4), wire.add(0, 5, broker="b")]
    wire.masterless = {"b"}
    assert origin(wire).queues() == queues
    assert origin(wire).queues(patient=True) == queues[:1]


def test_a_topic_that_is_not_there_is_an_error(wire) -> None:
    wire.add(0, 4)
    wire.deleted = {"t"}
    with pytest.raises(FixError, match="no such topic"):
        origin(wire).queues()


def test_a_topic_that_was_read_and_is_gone_is_a_loss(wire) -> None:
    gone = MessageQueue("u", "a", 0)
    wire.add(0, 4)
    with pytest.raises(DataLoss, match=r"topic u is gone from broker a.*read up to \{0: 7\}"):
        origin(wire).queues(known={gone: 7})


def test_a_broker_that_comes_back_between_two_questions_has_lost_nothing(wire) -> None:
    here, back = wire.add(0, 4), MessageQueue("t", "b", 0)
    ask = wire.route

    def route(topic):
        if topic == "b":  # asked whether this broker is there, which it is from now on
            wire.add(0, 5, broker="b")
        return ask(topic)

    wire.route = route
    assert origin(wire).queues(patient=True, known={here: 1, back: 5}) == [here, back]


def test_a_pattern_leaves_the_system_s_topics_out(wire) -> None:
    wire.add(0, 4)
    wire.topics = lambda: ["t", "%RETRY%t", "%DLQ%t", "SCHEDULE_TOPIC_XXXX", "another"]
    found = origin(wire, topics=(), topic_pattern="t|.*(RETRY|DLQ|SCHEDULE).*")
    assert [queue.topic for queue in found.queues()] == ["t"]


def test_bytes_are_guessed_from_the_first_records(wire, record) -> None:
    queue = wire.add(0, 10)
    size = len(record(0))
    assert origin(wire).bytes_of(queue, 0, 10) == 10 * size
    assert origin(wire).bytes_of(queue, 10, 10) == 0


def test_offsets_of_times_and_groups(wire) -> None:
    queue = wire.add(0, 10)
    found = origin(wire)
    assert found.at_time(queue, 6) == 6
    assert found.of_group(queue, "billing") is None
    found.commit("billing", queue, 4)
    assert found.of_group(queue, "billing") == 4
    found.close()
    assert wire.closed
