"""`mqframe top` against a running server."""

from __future__ import annotations

from command_runs import read, run
from mqframe_cli.live.top import Rates

from mqframe import Admin, Message, Producer


def test_top_is_shown_once_in_a_pipe(at: str) -> None:
    run("topic", "create", "cli-top", "--queues", "1")
    run("group", "create", "cli-top")
    run("message", "send", "cli-top", "x")
    run("offset", "reset", "cli-top", "cli-top", "--to", "start")
    view = read("top", "--interval", "0.1")
    assert [(row["broker"], row["in_per_s"] >= 0) for row in view["brokers"]] == [("broker-a", True)]
    assert {"topic": "cli-top", "in_per_s": 0.0, "out_per_s": 0.0, "messages": 1} in view["topics"]
    (row,) = [row for row in view["groups"] if row["group"] == "cli-top"]
    assert (row["topic"], row["lag"]) == ("cli-top", 1)
    assert "TBW102" not in [row["topic"] for row in view["topics"]]
    assert "TBW102" in [row["topic"] for row in read("top", "--all", "--interval", "0.1")["topics"]]
    assert run("top", "--once", "--interval", "0.1", "--limit", "1").startswith("brokers\nbroker\taddress\t")


def test_rates_are_of_what_came_since_the_look_before(at: str) -> None:
    run("topic", "create", "cli-rates", "--queues", "1")
    with Admin(nameserver=at) as admin, Producer("cli", nameserver=at) as producer:
        rates = Rates(admin, every=False, limit=None)
        for _ in range(3):
            producer.send(Message("cli-rates", b"x"))
        (row,) = [row for row in rates.look()["topics"] if row["topic"] == "cli-rates"]
        assert row["in_per_s"] > 0
        (row,) = [row for row in rates.look()["topics"] if row["topic"] == "cli-rates"]
        assert row["in_per_s"] == 0
