"""`mqframe dlq` against a running server."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
from mqframe_cli.app import app
from typer.testing import CliRunner

from mqframe import Admin, ConsumeResult, Message, Producer, PushConsumer
from mqframe.core.retry.redelivery import retry_schedule


def run(*words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result


def read(*words: str) -> Any:
    return json.loads(run(*words, "--json").stdout)


@pytest.fixture(scope="module")
def group(server: Any) -> Any:
    """A group that gave three messages up."""
    nameserver, count = str(server.address("nameserver")), threading.Semaphore(0)
    sent = {}
    with Admin(nameserver=nameserver) as admin:
        admin.topics.create("cli-dead", queues=1)
        with Producer("shop", nameserver=nameserver) as producer:
            for name, tag in (("a", "paid"), ("b", "paid"), ("c", "open")):
                message = Message("cli-dead", f"body {name}".encode(), tag=tag, keys=[f"key-{name}"])
                sent[name] = producer.send(message).message_id
        consumer = PushConsumer("cli-gives-up", nameserver=nameserver, consume_from="first")

        @consumer.on("cli-dead")
        def give_up(messages: Any, context: Any) -> ConsumeResult:
            context.delay_level_when_next_consume = -1
            count.release()
            return ConsumeResult.RECONSUME_LATER

        with consumer:
            for _ in range(3):
                assert count.acquire(timeout=120)
            end = time.monotonic() + 120
            while any(admin.dead_letters.get("cli-gives-up", each) is None for each in sent.values()):
                assert time.monotonic() < end
                time.sleep(0.02)
    return sent


@pytest.fixture(autouse=True)
def at(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", str(server.address("nameserver")))


GROUP = "cli-gives-up"


def test_listing_opens_the_topic_and_says_so(group: Any) -> None:
    run("dlq", "close", GROUP)
    listed = run("dlq", "list", GROUP, "--json")
    assert f"made %DLQ%{GROUP} readable on broker-a" in listed.stderr
    rows = json.loads(listed.stdout)
    assert [(row["body"], row["topic"], row["tag"], row["keys"]) for row in rows] == [
        ("body a", "cli-dead", "paid", ["key-a"]),
        ("body b", "cli-dead", "paid", ["key-b"]),
        ("body c", "cli-dead", "open", ["key-c"]),
    ]
    assert [row["message_id"] for row in rows] == list(group.values())
    assert run("dlq", "list", GROUP).stderr == ""
    assert "body a" in run("dlq", "list", GROUP).stdout


def test_filters(group: Any) -> None:
    def bodies(*words: str) -> list[str]:
        return [row["body"] for row in read("dlq", "list", GROUP, *words)]

    assert bodies("--tag", "paid") == ["body a", "body b"]
    assert bodies("--key", "key-c") == ["body c"]
    assert bodies("--topic", "other") == []
    assert bodies("--since", "2020-01-31T12:00", "--limit", "1") == ["body a"]
    assert bodies("--until", "2020-01-31T12:00") == []


def test_showing_one(group: Any) -> None:
    row = read("dlq", "show", GROUP, group["b"])
    assert (row["body"], row["attempts"], row["properties"]["KEYS"]) == ("body b", 1, "key-b")
    assert read("dlq", "show", GROUP, row["dead_letter"]) == row
    assert "no dead letter nonsense" in run("dlq", "show", GROUP, "nonsense", code=1).stderr


def stored() -> dict[str, int]:
    """How many messages lie where copies can go."""
    with Admin() as admin:
        topics = (f"%RETRY%{GROUP}", "cli-dead")
        return {topic: sum(q.max_offset for q in admin.topics.stats(topic).values()) for topic in topics}


def test_sending_again_reaches_the_group_alone(group: Any) -> None:
    before = stored()
    assert [row["body"] for row in read("dlq", "resend", GROUP, "--tag", "open", "--dry-run")] == ["body c"]
    (row,) = read("dlq", "resend", GROUP, "--tag", "open")
    assert (row["message_id"], row["to"], row["sent"]) == (group["c"], f"%RETRY%{GROUP}", True)
    assert [row["sent"] for row in read("dlq", "resend", GROUP, "--all")] == [True, True, False]
    assert stored() == {f"%RETRY%{GROUP}": before[f"%RETRY%{GROUP}"] + 3, "cli-dead": before["cli-dead"]}


def test_only_on_demand_all_groups_get_them_again(group: Any) -> None:
    before = stored()
    to_topic = ("dlq", "resend", GROUP, group["c"], "--to", "topic", "--again")
    warning = f"mqframe: all groups that subscribe cli-dead get the copies, not {GROUP} alone\n"
    assert run(*to_topic, "--dry-run").stderr == warning
    assert stored() == before
    result = run(*to_topic, "--json")
    assert result.stderr == warning
    (row,) = json.loads(result.stdout)
    assert (row["to"], row["sent"]) == ("cli-dead", True)
    assert stored() == {f"%RETRY%{GROUP}": before[f"%RETRY%{GROUP}"], "cli-dead": before["cli-dead"] + 1}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "say which"),
        (("--all", "--tag", "paid"), "say which"),
        (("id", "--all"), "say which"),
        (("--all", "--to", "nowhere"), "--to nowhere"),
        (("--since", "yesterday"), "yesterday"),
    ],
)
def test_wrong_usage(group: Any, words: tuple[str, ...], text: str) -> None:
    assert text in run("dlq", "resend", GROUP, *words, code=2).stderr


def test_nothing_is_sent_when_one_of_those_named_does_not_exist(group: Any) -> None:
    before = stored()
    run("dlq", "resend", GROUP, group["a"], "nonsense", "--again", code=1)
    assert stored() == before


def test_a_group_with_waits_of_its_own(server: Any) -> None:
    made = read("group", "create", "cli-waits", "--retries-max", "3", "--retry-waits", "5s 2m")
    assert made["retries_max"] == 3
    with Admin(nameserver=str(server.address("nameserver"))) as admin:
        config = admin.groups.configs()["cli-waits"]
    assert retry_schedule(config.group_retry_policy) == (5_000, 120_000)
    assert config.retry_max_times == 3
    assert "5x" in run("group", "create", "cli-waits", "--retry-waits", "5x", code=2).stderr
    assert "345600000" in run("group", "create", "cli-waits", "--retry-waits", "4d", code=2).stderr


def test_a_group_without_dead_letters() -> None:
    run("group", "create", "cli-nobody")
    assert "no such dead letters" in run("dlq", "list", "cli-nobody").stdout
    assert read("dlq", "open", "cli-nobody") == {"group": "cli-nobody", "readable": True, "changed": []}
