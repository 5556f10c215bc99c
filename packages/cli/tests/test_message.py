"""`mqframe message` against a running server."""

from __future__ import annotations

from command_runs import read, run
from mqframe_cli.app import app
from typer.testing import CliRunner

from mqframe import Admin


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


def test_a_message_is_shown_by_its_id_alone(at: str) -> None:
    for topic in ("cli-alone", "cli-beside"):
        run("topic", "create", topic, "--queues", "1")
    run("message", "send", "cli-beside", "another")
    sent = read("message", "send", "cli-alone", "found", "--property", "table=7")
    for name in ("message_id", "offset_message_id"):
        shown = read("message", "show", sent[name])
        assert (shown["topic"], shown["body"], shown["properties"]["table"]) == ("cli-alone", "found", "7")
    for words, says in (
        (("0123",), "no topic has message 0123"),
        (("cli-alone", "0123"), "topic cli-alone has no message 0123"),
        (("cli-alon", sent["message_id"]), "there is no topic cli-alon; did you mean cli-alone"),
        (("a", "b", "c"), "a topic and a message id are meant, or the id alone"),
    ):
        result = CliRunner().invoke(app, ["message", "show", *words])
        assert result.exit_code != 0
        assert says in f"{result.output}{result.exception}"


def test_messages_are_found_as_json_with_their_properties(at: str) -> None:
    run("topic", "create", "cli-query", "--queues", "1")
    run("message", "send", "cli-query", "x", "--key", "o-2", "--property", "origin=shop")
    (row,) = read("message", "query", "cli-query", "o-2")
    assert (row["body"], row["properties"]["origin"]) == ("x", "shop")
    assert "origin" not in run("message", "query", "cli-query", "o-2")
    assert "no message has the key o-3" in run("message", "query", "cli-query", "o-3")


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


def test_sent_lines_keep_their_order_in_a_queue(at: str) -> None:
    run("topic", "create", "cli-order", "--queues", "4")
    lines = "".join(f"{number}\n" for number in range(40)).encode()
    run("message", "send", "cli-order", "-", "--lines", "--sharding-key", "customer-7", data=lines)
    rows = read("message", "read", "cli-order", "--limit", "100")
    assert len({row["queue"] for row in rows}) == 1
    assert [row["body"] for row in rows] == [str(number) for number in range(40)]
    with Admin(nameserver=at) as admin:
        assert sum(each.max_offset for each in admin.topics.stats("cli-order").values()) == 40


def test_messages_are_read_as_json_with_their_properties(at: str) -> None:
    run("topic", "create", "cli-properties", "--queues", "1")
    run("message", "send", "cli-properties", "x", "--property", "origin=shop", "--tag", "t")
    (row,) = read("message", "read", "cli-properties")
    assert row["properties"]["origin"] == "shop"
    assert row["properties"]["TAGS"] == "t"
    assert "origin" not in run("message", "read", "cli-properties")
