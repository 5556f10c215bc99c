"""`mqframe topic` against a running server."""

from __future__ import annotations

import pytest
from command_runs import read, run
from mqframe_cli import topic as commands

from mqframe import Admin


def test_a_topic_from_its_making_to_its_end(at: str) -> None:
    made = read("topic", "create", "cli-topic", "--queues", "3")
    assert made == {"topic": "cli-topic", "queues": 3, "perm": 6, "order": False}
    assert {"topic": "cli-topic"} in read("topic", "list")
    (row,) = read("topic", "show", "cli-topic")
    assert (row["broker"], row["read_queues"], row["write_queues"], row["perm"]) == ("broker-a", 3, 3, 6)
    assert row["addresses"]["0"].startswith("127.0.0.1:")
    assert [(r["queue"], r["messages"]) for r in read("topic", "stats", "cli-topic")] == [
        (0, 0),
        (1, 0),
        (2, 0),
    ]
    assert read("topic", "delete", "cli-topic", "--yes")["deleted"] is True
    assert {"topic": "cli-topic"} not in read("topic", "list")


def test_system_topics_are_listed_on_request(at: str) -> None:
    assert {"topic": "TBW102"} not in read("topic", "list")
    assert {"topic": "TBW102"} in read("topic", "list", "--all")


def test_a_long_list_says_what_topics_hold(at: str) -> None:
    run("topic", "create", "cli-long", "--queues", "3")
    run("topic", "create", "cli-long-empty", "--queues", "1")
    for body in ("a", "b"):
        run("message", "send", "cli-long", body)
    rows = {row["topic"]: row for row in read("topic", "list", "--long")}
    assert (rows["cli-long"]["queues"], rows["cli-long"]["messages"]) == (3, 2)
    assert rows["cli-long"]["last"].endswith("+00:00")
    assert rows["cli-long-empty"] == {"topic": "cli-long-empty", "queues": 1, "messages": 0, "last": ""}


def test_rates_are_of_what_came_between_two_looks(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("topic", "create", "cli-list-rates", "--queues", "2")
    run("message", "send", "cli-list-rates", "before")
    now = [100.0]

    def sleep(seconds: float) -> None:
        for body in ("a", "b", "c"):
            run("message", "send", "cli-list-rates", body)
        now[0] += seconds

    class Clock:
        monotonic = staticmethod(lambda: now[0])

    Clock.sleep = staticmethod(sleep)
    monkeypatch.setattr(commands, "time", Clock)
    rows = {row["topic"]: row for row in read("topic", "list", "--rates", "2")}
    assert (rows["cli-list-rates"]["messages"], rows["cli-list-rates"]["in_per_s"]) == (4, 1.5)
    assert "TBW102" not in rows


def test_an_ordered_topic_grows(at: str) -> None:
    run("topic", "create", "cli-fifo", "--queues", "2", "--type", "fifo")
    with Admin(nameserver=at) as admin:
        assert admin.topics.route("cli-fifo").order_topic_conf == "broker-a:2"
    grown = read("topic", "grow", "cli-fifo", "--queues", "3", "--settle", "0")
    assert grown == {"topic": "cli-fifo", "queues": 3, "grown": True}
    (row,) = read("topic", "show", "cli-fifo")
    assert (row["read_queues"], row["write_queues"]) == (3, 3)
    assert read("topic", "grow", "cli-fifo", "--queues", "3")["grown"] is False
    run("topic", "grow", "cli-fifo", "--queues", "1", code=2)
    run("message", "send", "cli-fifo", "x")
    waiting = ("topic", "grow", "cli-fifo", "--queues", "4", "--settle", "0", "--timeout", "0")
    run("group", "create", "cli-fifo-group")
    run(*waiting, "--group", "cli-fifo-group", code=2)
    (row,) = read("topic", "show", "cli-fifo")
    assert (row["read_queues"], row["write_queues"]) == (3, 4)
