"""The command line at Apache's broker and at ours: the same words, the same results."""

from __future__ import annotations

import json

import pytest
from command_runs import read, refused, run
from mqframe_cli.app import app
from real_time import until
from typer.testing import CliRunner

from interop.servers import Servers
from mqframe import Admin, ConsumeResult, Message, Producer, PushConsumer, ReceivedMessage


@pytest.fixture(autouse=True)
def at(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", servers.nameserver)


@pytest.mark.proves("operation")
def test_operators_see_what_goes_on(servers: Servers, topic: str) -> None:
    group = f"{topic}_readers"
    lines = b"""{"body": "a", "tag": "paid", "key": "o-1"}
        {"body": "b"}
        {"body": "AAH/", "body_encoding": "base64"}
    """
    sent = read("message", "send", topic, "-", "--json-lines", data=lines)
    assert [row["status"] for row in sent] == ["SEND_OK"] * 3
    tailed = [
        json.loads(line)
        for line in run("topic", "tail", topic, "--since", "start", "--count", "3", "--json").splitlines()
    ]
    assert sorted((each["body_encoding"], each["body"]) for each in tailed) == [
        ("base64", "AAH/"), ("text", "a"), ("text", "b"),
    ]  # fmt: skip
    (last,) = run("topic", "tail", topic, "--last", "1", "--tag", "paid", "--count", "1").splitlines()
    assert last.endswith("\tpaid\ta")
    consumer = PushConsumer(group, nameserver=servers.nameserver, consume_from="first")
    consumer.subscribe(topic, "*", lambda messages, context: ConsumeResult.SUCCESS)
    with consumer, Admin(nameserver=servers.nameserver) as admin:
        until(lambda: len([each for each in consumer.queues if each.topic == topic]) == 4)
        until(lambda: sum(each.consumer_offset for each in admin.groups.stats(group, topic).values()) == 3)
        rows = [row for row in read("group", "lag", group) if row["topic"] == topic]
        assert [(row["queue"], row["lag"], row["owner"]) for row in rows] == [
            (number, 0, consumer.client_id) for number in range(4)
        ]
    assert [row["lag"] for row in read("group", "lag") if row["group"] == group] == [0]
    view = read("top", "--interval", "0.1")
    assert [row["broker"] for row in view["brokers"]] == [servers.broker_name]
    assert [row["messages"] for row in view["topics"] if row["topic"] == topic] == [3]


@pytest.mark.proves("operation")
def test_a_member_consumes_a_message_by_each_of_its_ids(servers: Servers, topic: str) -> None:
    group = f"{topic}_members"
    seen: list[str] = []

    def listen(messages: list[ReceivedMessage], context: object) -> ConsumeResult:
        seen.extend(each.message_id for each in messages)
        return ConsumeResult.SUCCESS

    with Producer("shop", nameserver=servers.nameserver) as producer:
        sent = producer.send(Message(topic, b"again"))
    consumer = PushConsumer(group, nameserver=servers.nameserver, consume_from="first")
    consumer.subscribe(topic, "*", listen)
    with consumer, Admin(nameserver=servers.nameserver) as admin:
        until(lambda: seen == [sent.message_id])
        until(lambda: admin.messages.by_unique_key(topic, sent.message_id) is not None)
        for client in ({}, {"client_id": consumer.client_id}):
            result = admin.members.consume_directly(group, sent.offset_message_id, **client)
            assert result.consume_result is not None
            assert result.consume_result.value == "CR_SUCCESS"
        for name in (sent.message_id, sent.offset_message_id):
            for words in ((), ("--client", consumer.client_id)):
                row = read("message", "consume-directly", group, topic, name, *words)
                assert row["result"] == "CR_SUCCESS"
    assert seen == [sent.message_id] * 7


@pytest.mark.proves("operation")
def test_a_tail_chooses_messages_and_ends_whatever_brokers_filter(servers: Servers, topic: str) -> None:
    for amount in (5, 50, 500):
        run("message", "send", topic, str(amount), "--property", f"amount={amount}", "--key", f"k{amount}")
    words = ("topic", "tail", topic, "--until-end", "--format", r"%k=%s\n")
    assert set(run(*words).split()) == {"k5=5", "k50=50", "k500=500"}
    run("config", "set", "enablePropertyFilter", "false")
    try:
        assert set(run(*words, "--where", "amount > 10").split()) == {"k50=50", "k500=500"}
    finally:
        run("config", "set", "enablePropertyFilter", "true")
    assert run(*words, "--key", "k5", "--key", "k50", "--where", "amount < 10").split() == ["k5=5"]
    assert run(*words, "--last", "1") == "k500=500\n"
    assert set(run(*words, "--until", "0s").split()) == {"k5=5", "k50=50", "k500=500"}
    held = [row["messages"] for row in read("topic", "stats", topic)]
    assert len(run(*words, "--offset", "-1").split()) == sum(map(bool, held))


@pytest.mark.proves("operation")
def test_a_setting_is_changed_while_the_broker_runs(servers: Servers) -> None:
    (row,) = read("config", "set", "fileReservedTime", "47", "--broker", servers.broker_name)
    assert row["after"] == "47"
    rows = read("config", "show", "--broker", servers.broker_name)
    (shown,) = [each for each in rows if each["setting"] == row["setting"]]
    assert (shown["value"], shown["origin"]) == ("47", row["origin"])
    (back,) = read("config", "set", "fileReservedTime", row["before"], "--broker", servers.broker)
    assert (back["before"], back["after"]) == ("47", row["before"])
    assert "did you mean fileReservedTime" in refused("config", "set", "fileReservedTim", "1")


def test_names_are_checked_and_deletions_tell_what_goes(servers: Servers, topic: str) -> None:
    run("group", "create", f"{topic}_group")
    for words in (["group", "lag", f"{topic}_grop"], ["topic", "stats", f"{topic}s"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert f"did you mean {topic}" in result.stderr
    run("message", "send", topic, "-", "--lines", data=b"a\nb\n")
    assert f"topic {topic}: 2 messages, " in refused("topic", "delete", topic)
    done = read("topic", "delete", topic, "--yes")
    assert done["messages"] == 2
    assert done["bytes"] > 2 * 91
    assert {"topic": topic} not in read("topic", "list")
    run("group", "delete", f"{topic}_group", "--yes")


@pytest.mark.proves("operation")
def test_mqadmins_commands(servers: Servers, topic: str) -> None:
    n = ("-n", servers.nameserver)
    cluster = ("-c", servers.cluster)
    assert [row["broker"] for row in read("mqadmin", "clusterList", *n)] == [servers.broker_name]
    run("mqadmin", "updateTopic", *n, "-t", topic, *cluster, "-r", "4", "-w", "4", "-p", "6")
    run("mqadmin", "updateSubGroup", *n, "-g", f"{topic}_adm", *cluster)
    run(
        "mqadmin",
        "sendMessage",
        *n,
        "-t",
        topic,
        "-p",
        "hello",
        "-k",
        "k1",
        "-b",
        servers.broker_name,
        "-i",
        "0",
    )
    until(lambda: len(read("mqadmin", "queryMsgByKey", *n, "-t", topic, "-k", "k1")) == 1)
    assert "hello" in run("mqadmin", "printMsg", *n, "-t", topic)
    words = (
        "mqadmin",
        "resetOffsetByTime",
        *n,
        "-g",
        f"{topic}_adm",
        "-t",
        topic,
        "-s",
        "now",
        "-q",
        "0",
        "-o",
        "0",
    )
    assert [row["offset"] for row in read(*words, "-b", servers.broker)] == [0]
    status = {row["key"] for row in read("mqadmin", "brokerStatus", *n, "-b", servers.broker)}
    assert "putTps" in status
    (row,) = read("mqadmin", "getBrokerConfig", *n, *cluster, "-k", "brokerName")
    assert row["value"] == servers.broker_name
    run("mqadmin", "deleteSubGroup", *n, "-g", f"{topic}_adm", *cluster, "-r", "true")
    run("mqadmin", "deleteTopic", *n, "-t", topic, *cluster)
