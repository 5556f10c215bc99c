"""Groups by mqadmin's names."""

from __future__ import annotations

from command_runs import read, run
from real_time import until

from mqframe import ConsumeResult, Producer, PushConsumer

C = ("-c", "DefaultCluster")


def test_a_group_is_made_moved_copied_and_deleted(at: str) -> None:
    run("topic", "create", "adm-moved", "--queues", "1")
    run("message", "send", "adm-moved", "-", "--lines", data=b"a\nb\n")
    run("mqadmin", "updateSubGroup", "-n", at, "-g", "adm-group", *C, "-r", "3", "-d", "false")
    (row,) = [row for row in read("group", "list") if row["group"] == "adm-group"]
    assert (row["broadcast"], row["retries_max"]) == (False, 3)
    reset = ("mqadmin", "resetOffsetByTime", "-n", at, "-g", "adm-group", "-t", "adm-moved")
    assert [row["offset"] for row in read(*reset, "-s", "2020-01-01#00:00:00:000")] == [0]
    assert [row["offset"] for row in read(*reset, "-s", "-1")] == [2]
    assert [row["offset"] for row in read(*reset, "-s", "now", "-q", "0", "-o", "1")] == [1]
    run(*reset, "-s", "yesterday", code=2)
    clone = ("mqadmin", "cloneGroupOffset", "-s", "adm-group", "-d", "adm-clone", "-t", "adm-moved")
    assert [row["offset"] for row in read(*clone)] == [1]
    progress = {row["group"]: row["lag"] for row in read("mqadmin", "consumerProgress", "-n", at)}
    assert (progress["adm-group"], progress["adm-clone"]) == (1, 1)
    words = ("mqadmin", "consumerProgress", "-g", "adm-group")
    assert [row["consumed"] for row in read(*words, "-t", "adm-moved")] == [1]
    assert read(*words, "-t", "TBW102") == []
    run("mqadmin", "deleteSubGroup", "-g", "adm-group", *C, "-r", "true")
    assert "adm-group" not in [row["group"] for row in read("group", "list")]
    run("mqadmin", "consumerProgress", "-g", "adm-grop", code=2)


def test_members_are_listed(at: str) -> None:
    run("topic", "create", "adm-seen", "--queues", "1")
    consumer = PushConsumer("adm-seen", nameserver=at)
    consumer.subscribe("adm-seen", "*", lambda messages, context: ConsumeResult.SUCCESS)
    with consumer, Producer("adm-senders", nameserver=at) as producer:
        until(lambda: len(consumer.queues) == 1)
        (row,) = read("mqadmin", "consumerConnection", "-g", "adm-seen")
        assert row["client"] == consumer.client_id
        held = read("mqadmin", "consumerStatus", "-g", "adm-seen", "-i", consumer.client_id, "-s")
        (row,) = [row for row in held if row["topic"] == "adm-seen"]
        assert (row["client"], row["queue"]) == (consumer.client_id, 0)
        assert "TID:" in row["stacks"]

        def senders() -> list[str]:
            words = ("mqadmin", "producerConnection", "-g", "adm-senders", "-t", "adm-seen")
            return [row["client"] for row in read(*words)]

        producer.queues("adm-seen")
        run("message", "send", "adm-seen", "x", "--group", "adm-senders")
        until(lambda: producer.client_id in senders())
