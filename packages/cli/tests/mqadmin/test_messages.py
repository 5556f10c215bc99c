"""Messages by mqadmin's names."""

from __future__ import annotations

import json

from command_runs import read, run


def test_messages_are_sent_and_found(at: str) -> None:
    run("topic", "create", "adm-found", "--queues", "2")
    words = (
        "mqadmin",
        "sendMessage",
        "-n",
        at,
        "-t",
        "adm-found",
        "-p",
        "hello",
        "-k",
        "k1 k2",
        "-c",
        "paid",
    )
    sent = read(*words, "-b", "broker-a", "-i", "1")
    assert (sent["status"], sent["queue"], sent["offset"]) == ("SEND_OK", 1, 0)
    run(*words, "-i", "1", code=2)
    for key in ("k1", "k2"):
        (row,) = read("mqadmin", "queryMsgByKey", "-t", "adm-found", "-k", key)
        assert (row["body"], row["tag"], row["keys"]) == ("hello", "paid", ["k1", "k2"])
    assert (
        read("mqadmin", "queryMsgByKey", "-t", "adm-found", "-k", "k1", "-e", "2020-01-01#00:00:00:000") == []
    )
    place = ("mqadmin", "queryMsgByOffset", "-t", "adm-found", "-b", "broker-a", "-i", "1", "-o")
    for found in (
        read(*place, "0"),
        read("mqadmin", "queryMsgById", "-i", sent["offset_message_id"]),
        read("mqadmin", "queryMsgByUniqueKey", "-i", sent["message_id"], "-t", "adm-found"),
    ):
        assert (found["message_id"], found["body"]) == (sent["message_id"], "hello")
    run(*place, "1", code=2)
    run("mqadmin", "queryMsgById", "-i", "xyz", code=2)


def test_topics_are_read_without_a_group(at: str) -> None:
    run("topic", "create", "adm-read", "--queues", "1")
    run("message", "send", "adm-read", "-", "--lines", data=b"a\nb\nc\n")
    run("message", "send", "adm-read", "d", "--tag", "paid")

    def bodies(*words: str) -> list[str]:
        lines = run("mqadmin", *words, "-n", at, "-t", "adm-read", "--json").splitlines()
        return [json.loads(line)["body"] for line in lines]

    assert bodies("printMsg") == ["a", "b", "c", "d"]
    assert bodies("printMsg", "-s", "paid") == ["d"]
    assert bodies("printMsg", "-e", "2020-01-01#00:00:00:000") == []
    assert bodies("consumeMessage", "-c", "2") == ["a", "b"]
    assert bodies("consumeMessage", "-b", "broker-a", "-i", "0", "-o", "2") == ["c", "d"]
    assert bodies("consumeMessage", "-s", "2020-01-01#00:00:00:000", "-c", "1") == ["a"]
    run("mqadmin", "consumeMessage", "-t", "adm-read", "-i", "7", code=2)
