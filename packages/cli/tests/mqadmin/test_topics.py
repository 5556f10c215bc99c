"""Topics by mqadmin's names."""

from __future__ import annotations

from command_runs import read, run

C = ("-c", "DefaultCluster")


def test_a_topic_is_made_seen_and_deleted(at: str) -> None:
    run("mqadmin", "updateTopic", "-n", at, "-t", "adm-topic", *C, "-r", "3", "-w", "2", "-o", "false")
    assert {"topic": "adm-topic"} in read("mqadmin", "topicList", "-n", at)
    (row,) = read("mqadmin", "topicRoute", "-n", at, "-t", "adm-topic")
    assert (row["read_queues"], row["write_queues"], row["perm"]) == (3, 2, 6)
    assert len(read("mqadmin", "topicStatus", "-n", at, "-t", "adm-topic")) == 3
    assert {"cluster": ["DefaultCluster"], "topic": "adm-topic", "groups": []} in read(
        "mqadmin", "topicList", "-n", at, "-c"
    )
    run("mqadmin", "deleteTopic", "-n", at, "-t", "adm-topic", *C)
    assert {"topic": "adm-topic"} not in read("mqadmin", "topicList")


def test_types_and_brokers_of_topics(at: str) -> None:
    (row,) = read("cluster")
    words = ("mqadmin", "updateTopic", "-t", "adm-fifo", "-b", row["address"])
    run(*words, "-a", "+message.type=FIFO")
    assert len(read("mqadmin", "topicStatus", "-t", "adm-fifo")) == 8
    for wrong in (("-a", "message.type"), ("-a", "-message.type"), ("-o", "yes"), *[(*C, "-p", "x")]):
        run(*words, *wrong, code=2)
    run("mqadmin", "updateTopic", "-t", "adm-fifo", code=2)
    run("mqadmin", "topicStatus", "-t", "adm-fito", code=2)
