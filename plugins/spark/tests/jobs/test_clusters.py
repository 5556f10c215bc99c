"""What jobs ask of a cluster, a real one in this process, without Spark."""

import pytest
from mqframe_spark.jobs.clusters import (
    Waiting,
    check_group_rests,
    check_target,
    group_offsets,
    make_topic,
    move_group,
    open_admin,
    waiting,
    write_queues,
)

from mqframe import Admin, ConsumeResult, Message, MessageQueue, Producer, Puller, PushConsumer
from mqframe.core.errors import FixError, SettingError


@pytest.fixture
def source(mqframe_shared_cluster):
    return {"nameserver": mqframe_shared_cluster.nameserver}


@pytest.fixture
def topic(mqframe_shared_cluster, request) -> str:
    """Two queues: 5 messages in the first, none in the second."""
    name = request.node.name.split("[")[0]
    mqframe_shared_cluster.create_topic(name, 2)
    with Producer("p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in range(5):
            producer.send(Message(name, b"%d" % number), queue=MessageQueue(name, "broker-a", 0))
    return name


def test_waiting_counts_by_offsets_alone(source, topic) -> None:
    queue = MessageQueue(topic, "broker-a", 0)
    assert waiting({**source, "topic": topic}) == [Waiting(queue, 0, 5)]
    found = waiting({**source, "topic": topic, "startingOffsets": f'{{"{topic}": {{"broker-a/0": 3}}}}'})
    assert [each.row() for each in found] == [
        {"topic": topic, "broker": "broker-a", "queue": 0, "from": 3, "to": 5, "messages": 2}
    ]


def test_waiting_joins_what_a_job_would_read_in_parts(source, topic) -> None:
    found = waiting({**source, "topic": topic, "minPartitions": "3"})
    assert found == [Waiting(MessageQueue(topic, "broker-a", 0), 0, 5)]


def test_waiting_of_an_unknown_topic_is_an_error(source) -> None:
    with pytest.raises(
        FixError, match=r"option topic = 'nowhere': the name server at .* knows no such topic"
    ):
        waiting({**source, "topic": "nowhere"})


def test_a_target_must_be_there_or_be_made(source, topic) -> None:
    with open_admin(source) as admin:
        assert check_target(admin, "--into", topic) is False
        assert check_target(admin, "--into", topic, 2) is False
        with pytest.raises(SettingError, match=f"--queues 8: topic {topic} has 2 on broker-a"):
            check_target(admin, "--into", topic, 8)
        with pytest.raises(FixError, match="--into fresh-target: no broker has a topic of this name"):
            check_target(admin, "--into", "fresh-target")
        assert check_target(admin, "--into", "fresh-target", 3) is True
        assert write_queues(admin, "fresh-target") == {}, "checking made it"
        make_topic(admin, "fresh-target", 3)
        assert write_queues(admin, "fresh-target") == {"broker-a": 3}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a b", "--into a b: "),
        ("SCHEDULE_TOPIC_XXXX", "is the broker's own"),
        ("%RETRY%g", "messages to %RETRY%g cannot go in a batch"),
    ],
)
def test_a_target_must_be_one_that_producers_may_send_to(source, name, said) -> None:
    with open_admin(source) as admin, pytest.raises(SettingError, match=said):
        check_target(admin, "--into", name)


def test_a_topic_that_may_not_be_written_is_no_target(source, mqframe_shared_cluster) -> None:
    mqframe_shared_cluster.create_topic("read-only", 2, perm=4)
    with open_admin(source) as admin, pytest.raises(FixError, match="can be written"):
        check_target(admin, "--into", "read-only")


def test_a_group_must_be_there_and_at_rest(source, topic) -> None:
    group = "busy-or-not"
    with open_admin(source) as admin:
        with pytest.raises(FixError, match=f"--group {group}: there is no such consumer group"):
            check_group_rests(admin, group)
        admin.groups.create(group)
        check_group_rests(admin, group)
        consumer = PushConsumer(group, nameserver=source["nameserver"])
        consumer.subscribe(topic, "*", lambda messages, context: ConsumeResult.SUCCESS)
        with consumer, pytest.raises(FixError, match=r"1 members are consuming.*--keep-offsets"):
            check_group_rests(admin, group)


def test_a_group_moves_forward_and_never_back(source, topic) -> None:
    group, reading = "moving", {**source, "topic": topic}
    queue = MessageQueue(topic, "broker-a", 0)
    with Admin(nameserver=source["nameserver"]) as admin:
        admin.groups.create(group)
    assert move_group(reading, group, {topic: {"broker-a/0": 4, "broker-a/1": 0}}) == 2
    assert group_offsets(reading, group) == {queue: 4, MessageQueue(topic, "broker-a", 1): 0}
    assert move_group(reading, group, {topic: {"broker-a/0": 3}}) == 0
    with Puller(group, nameserver=source["nameserver"]) as puller:
        assert puller.committed(queue) == 4


def test_access_options_reach_the_admin() -> None:
    with pytest.raises(SettingError, match="option accessKey needs option secretKey"):
        open_admin({"nameserver": "127.0.0.1:1", "accessKey": "a", "topic": "ignored here"})
