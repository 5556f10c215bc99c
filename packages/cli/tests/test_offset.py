"""`mqframe offset` against a running server."""

from __future__ import annotations

import pytest
from command_runs import read, run

from mqframe import Admin, Message, Producer


def filled(at: str, topic: str) -> None:
    """Three messages in the one queue of `topic`."""
    with Admin(nameserver=at) as admin:
        admin.topics.create(topic, queues=1)
    with Producer("cli", nameserver=at) as producer:
        for number in range(3):
            producer.send(Message(topic, b"%d" % number, "paid"))


def test_offsets_are_set_by_time_by_queue_and_to_the_end(at: str) -> None:
    filled(at, "cli-reset")
    run("group", "create", "cli-reset")
    words = ("offset", "reset", "cli-reset", "cli-reset")
    (row,) = read(*words, "--to", "end")
    assert (row["topic"], row["queue"], row["offset"]) == ("cli-reset", 0, 3)
    (row,) = read(*words, "--queue", "0", "--offset", "1")
    assert row["offset"] == 1
    (row,) = read(*words, "--to", "end", "--back-only")
    assert row["offset"] == 1
    (row,) = read("offset", "skip", "cli-reset", "cli-reset")
    assert row["offset"] == 3
    (row,) = read(*words, "--to", "start")
    assert row["offset"] == 0
    (row,) = read("offset", "times", "cli-reset", "cli-reset")
    assert row["oldest"] <= row["newest"]
    assert row["delay_ms"] > 0
    run("offset", "clone", "cli-reset", "cli-copy")
    (row,) = read("offset", "clone", "cli-reset", "cli-copy", "--topic", "cli-reset")
    assert (row["queue"], row["offset"]) == (0, 0)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--to", "end", "--queue", "0"),
        ("--queue", "0"),
        ("--offset", "1"),
        ("--to", "noon"),
        ("--queue", "0", "--offset", "-1"),
        ("--queue", "0", "--offset", "1", "--broker", "nobody"),
    ],
)
def test_a_reset_must_say_where_to(at: str, options: tuple[str, ...]) -> None:
    filled(at, "cli-wrong")
    run("group", "create", "cli-wrong")
    run("offset", "reset", "cli-wrong", "cli-wrong", *options, code=2)
