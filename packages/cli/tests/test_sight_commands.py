"""Commands that look into members and follow messages, against a running server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from command_runs import read, run
from real_time import until

from mqframe import Admin, ConsumeResult, Message, Producer, PushConsumer


def filled(at: str, topic: str) -> list[str]:
    """Three messages in the one queue of `topic`; their ids."""
    with Admin(nameserver=at) as admin:
        admin.topics.create(topic, queues=1)
    with Producer("cli", nameserver=at, send_hooks=["trace"]) as producer:
        return [producer.send(Message(topic, b"%d" % number, "paid")).message_id for number in range(3)]


@pytest.fixture
def member(at: str) -> Iterator[PushConsumer]:
    """A member of group `cli-sight` that has consumed all of topic `cli-sight`."""
    filled(at, "cli-sight")
    got: list[bytes] = []
    consumer = PushConsumer("cli-sight", nameserver=at, consume_from="first", consume_hooks=["trace"])

    @consumer.on("cli-sight")
    def take(messages: Any, context: Any) -> ConsumeResult:
        got.extend(message.body for message in messages)
        return ConsumeResult.SUCCESS

    with consumer:
        until(lambda: len(got) >= 3)
        yield consumer


def test_what_members_do(member: PushConsumer) -> None:
    def told() -> tuple[Any, Any]:
        (row,) = read("group", "running", "cli-sight")
        (queue,) = [each for each in row["queues"] if each["topic"] == "cli-sight"]
        return row, queue

    # What a listener has had is let go of only when its result is back.
    until(lambda: told()[1]["held"] == 0)
    row, queue = told()
    assert row["client"] == member.client_id
    assert (queue["queue"], queue["held"], queue["locked"]) == (0, 0, False)
    assert row["properties"]["PROP_CONSUMEORDERLY"] == "false"
    assert row["subscriptions"]["cli-sight"] == "*"
    assert row["stacks"] is None
    text = run("group", "running", "cli-sight", member.client_id, "--stacks")
    assert "TID:" in text
    assert "PROP_CLIENT_VERSION" in text
    rows = {each["topic"]: each for each in read("group", "stats", "cli-sight")}
    assert rows["cli-sight"]["ok_per_s"] > 0
    assert rows["cli-sight"]["failed_last_hour"] == 0
    assert {"client": member.client_id, "broker": "broker-a", "queue": 0, "offset": 3} in read(
        "group", "offsets", "cli-sight", "cli-sight"
    )
    [shown] = read("group", "show", "cli-sight")["members"]
    assert (shown["client"], shown["language"], shown["version"]) == (member.client_id, "PYTHON", "5.3.3")
    run("group", "create", "cli-nobody")
    assert run("group", "running", "cli-nobody") == "nobody is online\n"
    assert read("group", "stats", "cli-nobody") == []
    assert "clients of gRPC do not" in run("group", "stats", "cli-nobody")


def test_a_message_is_consumed_directly_and_followed(at: str, member: PushConsumer) -> None:
    (first, *_) = read("message", "read", "cli-sight", "--limit", "1")
    words = ("message", "consume-directly", "cli-sight", "cli-sight", first["message_id"])
    row = read(*words, "--client", member.client_id)
    assert (row["result"], row["ordered"], row["remark"]) == ("CR_SUCCESS", False, None)
    run("message", "consume-directly", "cli-nobody", "cli-sight", first["message_id"], code=2)
    rows = read("message", "trace", first["message_id"])
    assert (rows[0]["what"], rows[0]["group"], rows[0]["tag"]) == ("Pub", "cli", "paid")
    assert "nobody traced" in run("message", "trace", "unknown")
