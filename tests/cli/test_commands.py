"""Commands against a running server, through Typer's runner."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from mqframe import Admin
from mqframe.cli.app import app


def run(*words: str, code: int = 0, data: bytes = b"") -> str:
    result = CliRunner().invoke(app, list(words), input=data)
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture
def at(server: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's address, also in NAMESRV_ADDR."""
    address = str(server.address("nameserver"))
    monkeypatch.setenv("NAMESRV_ADDR", address)
    return address


def read(*words: str, **more: Any) -> Any:
    return json.loads(run(*words, "--json", **more))


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
    assert read("topic", "delete", "cli-topic") == {"topic": "cli-topic", "deleted": True}
    assert {"topic": "cli-topic"} not in read("topic", "list")


def test_system_topics_are_listed_on_request(at: str) -> None:
    assert {"topic": "TBW102"} not in read("topic", "list")
    assert {"topic": "TBW102"} in read("topic", "list", "--all")


def test_a_message_is_sent_and_found_again(at: str) -> None:
    run("topic", "create", "cli-found", "--queues", "1")
    words = ("message", "send", "cli-found", "two espressi", "--tag", "paid", "--key", "o-1")
    sent = read(*words, "--property", "table=7")
    assert (sent["status"], sent["queue"], sent["offset"]) == ("SEND_OK", 0, 0)
    (found,) = read("message", "query", "cli-found", "o-1")
    assert (found["body"], found["tag"], found["keys"]) == ("two espressi", "paid", ["o-1"])
    shown = read("message", "show", "cli-found", sent["message_id"])
    assert shown["offset_message_id"] == sent["offset_message_id"]
    assert shown["properties"]["table"] == "7"
    again = read("message", "show", "cli-found", sent["offset_message_id"])
    assert again["message_id"] == sent["message_id"]


def test_lines_are_read_by_queue_offset_and_tag(at: str) -> None:
    run("topic", "create", "cli-lines", "--queues", "1")
    rows = read("message", "send", "cli-lines", "-", "--lines", "--tag", "t", data=b"a\nb\nc\n")
    assert sorted(row["offset"] for row in rows) == [0, 1, 2]
    run("message", "send", "cli-lines", "other", "--tag", "u")
    bodies = {row["offset"]: row["body"] for row in read("message", "read", "cli-lines")}
    assert bodies == {0: "a", 1: "b", 2: "c", 3: "other"}
    assert [row["body"] for row in read("message", "read", "cli-lines", "--offset", "-2")] == ["c", "other"]
    assert [row["body"] for row in read("message", "read", "cli-lines", "--tag", "u")] == ["other"]
    assert [row["body"] for row in read("message", "read", "cli-lines", "--limit", "1")] == ["a"]
    assert read("message", "read", "cli-lines", "--queue", "5") == []


def test_consume_writes_what_the_group_gets_and_keeps_its_progress(at: str) -> None:
    run("topic", "create", "cli-consumed", "--queues", "1")
    run("message", "send", "cli-consumed", "-", "--lines", data=b"a\nb\nc\n")
    words = ("consume", "cli-consumed", "--group", "cli-readers", "--from", "first", "--seconds", "30")
    lines = run(*words, "--count", "2").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["a", "b"]
    (line,) = run(*words, "--count", "1", "--json").splitlines()
    assert json.loads(line)["body"] == "c"
    assert [row["group"] for row in read("topic", "groups", "cli-consumed")] == ["cli-readers"]
    (row,) = read("offset", "show", "cli-readers", "--topic", "cli-consumed")
    assert (row["consumed"], row["end"], row["lag"]) == (3, 3, 0)
    (row,) = read("offset", "reset", "cli-readers", "cli-consumed", "--to", "start")
    assert row["offset"] == 0
    assert read("group", "show", "cli-readers")["lag"] == 3


def test_consume_chooses_by_properties(at: str) -> None:
    run("topic", "create", "cli-chosen", "--queues", "1")
    for number in range(4):
        run("message", "send", "cli-chosen", f"m{number}", "--property", f"n={number}")
    words = ("consume", "cli-chosen", "--group", "cli-choosers", "--from", "first", "--seconds", "30")
    lines = run(*words, "--sql", "n >= 2", "--count", "2").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["m2", "m3"]
    run(*words, "--sql", "n >=", code=2)
    run(*words, "--sql", "n >= 2", "--tag", "a", code=2)


def test_groups(at: str) -> None:
    run("group", "create", "cli-group", "--no-enabled")
    (row,) = [row for row in read("group", "list") if row["group"] == "cli-group"]
    assert (row["enabled"], row["broadcast"]) == (False, True)
    shown = read("group", "show", "cli-group")
    assert (shown["lag"], shown["members"]) == (0, [])
    assert "nobody is online" in run("group", "show", "cli-group")
    run("group", "delete", "cli-group", "--offsets")
    assert "cli-group" not in [row["group"] for row in read("group", "list")]


def test_cluster_lists_brokers_and_their_settings(at: str) -> None:
    (row,) = read("cluster")
    assert (row["cluster"], row["broker"], row["role"]) == ("DefaultCluster", "broker-a", "master")
    assert read("cluster", "--settings", "broker-a")["brokerName"] == "broker-a"
    assert read("cluster", "--runtime", "broker-a")


def test_tables_are_for_people(at: str) -> None:
    text = run("cluster")
    assert "broker-a" in text
    assert "master" in text
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_bench_tells_rates_and_percentiles(at: str) -> None:
    rows = read("bench", "produce", "--count", "50", "--topic", "cli-bench")
    assert [(row["what"], row["messages"]) for row in rows] == [("sync", 50), ("async", 50), ("submit", 50)]
    for row in rows[:2]:
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
        assert row["messages_per_second"] > 0
    (row,) = read("bench", "consume", "--count", "150", "--topic", "cli-bench", "--seconds", "30")
    assert row["messages"] >= 150


def test_exit_codes(at: str) -> None:
    run("topic", "show", "cli-nowhere", code=2)
    run("message", "send", "cli illegal", "body", code=2)
    run("message", "show", "TBW102", "0" * 32, code=1)
    run("offset", "reset", "g", "t", "--to", "yesterday", code=2)
    run("bench", "produce", "--mode", "fastest", code=2)
    run("topic", "create", code=2)
    run("no-such-command", code=2)
    run("cluster", "--nameserver", "127.0.0.1:1", code=3)


def test_an_error_is_one_line_or_one_json_object(at: str) -> None:
    result = CliRunner().invoke(app, ["cluster", "--nameserver", "127.0.0.1:1"])
    assert result.stderr.startswith("mqframe: ")
    assert result.stderr.count("\n") == 1
    result = CliRunner().invoke(app, ["cluster", "--nameserver", "127.0.0.1:1", "--json"])
    problem = json.loads(result.stderr)
    assert problem["retry"] is True
    assert "127.0.0.1:1" in problem["message"]


def test_sent_lines_keep_their_order_in_a_queue(at: str) -> None:
    run("topic", "create", "cli-order", "--queues", "4")
    lines = "".join(f"{number}\n" for number in range(40)).encode()
    run("message", "send", "cli-order", "-", "--lines", "--sharding-key", "customer-7", data=lines)
    rows = read("message", "read", "cli-order", "--limit", "100")
    assert len({row["queue"] for row in rows}) == 1
    assert [row["body"] for row in rows] == [str(number) for number in range(40)]
    with Admin(nameserver=at) as admin:
        assert sum(each.max_offset for each in admin.topic_stats("cli-order").values()) == 40


def test_an_ordered_topic_grows(at: str) -> None:
    run("topic", "create", "cli-fifo", "--queues", "2", "--type", "fifo")
    with Admin(nameserver=at) as admin:
        assert admin.topic_route("cli-fifo").order_topic_conf == "broker-a:2"
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


def test_a_group_is_switched_to_pop(at: str) -> None:
    run("topic", "create", "cli-popped")
    run("group", "create", "cli-poppers")
    assert read("group", "mode", "cli-poppers") == []
    wanted = [{"topic": "cli-popped", "group": "cli-poppers", "mode": "POP", "share": 2}]
    assert read("group", "mode", "cli-poppers", "cli-popped", "pop", "--share", "2") == wanted
    assert read("group", "mode", "cli-poppers", "cli-popped") == wanted
    assert read("group", "mode", "cli-poppers", "absent") == []
    run("group", "mode", "cli-poppers", "cli-popped", "push", code=2)
