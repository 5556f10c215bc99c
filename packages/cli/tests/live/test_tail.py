"""`mqframe topic tail` against a running server."""

from __future__ import annotations

import json
import threading

from command_runs import read, run
from mqframe_cli.live.tail import follow
from real_time import until

from mqframe import Message, Producer


def filled(topic: str, count: int, *more: str) -> None:
    run("topic", "create", topic, "--queues", "2")
    run("message", "send", topic, "-", "--lines", *more, data=b"".join(b"%d\n" % n for n in range(count)))


def bodies(*words: str) -> list[str]:
    return [json.loads(line)["body"] for line in run("topic", "tail", *words, "--json").splitlines()]


def test_the_newest_come_first_and_the_count_ends_it(at: str) -> None:
    filled("cli-tail", 10)
    assert len(bodies("cli-tail", "--last", "4", "--count", "4")) == 4
    # Sent one after the other, so that they are stored in this order in whatever queue.
    for text in ("x", "y", "z"):
        run("message", "send", "cli-tail", text)
    assert sorted(bodies("cli-tail", "--last", "3", "--count", "3")) == ["x", "y", "z"]
    assert bodies("cli-tail", "--since", "1h", "--count", "13").count("9") == 1
    assert sorted(bodies("cli-tail", "--since", "start", "--count", "13"))[:2] == ["0", "1"]
    run("topic", "tail", "cli-tail", "--since", "1h", "--last", "1", code=2)
    run("topic", "tail", "cli-tail", "--since", "noon", code=2)
    assert [row["group"] for row in read("topic", "groups", "cli-tail")] == []


def test_tags_are_found_however_far_back(at: str) -> None:
    run("topic", "create", "cli-rare", "--queues", "1")
    run("message", "send", "cli-rare", "rare", "--tag", "rare")
    run("message", "send", "cli-rare", "-", "--lines", "--tag", "plain", data=b"x\n" * 200)
    assert bodies("cli-rare", "--last", "1", "--tag", "rare", "--count", "1") == ["rare"]


def test_a_line_has_time_place_tag_and_body(at: str) -> None:
    run("topic", "create", "cli-line", "--queues", "1")
    run("message", "send", "cli-line", "\x1b]0;owned\x07", "--tag", "paid")
    (line,) = run("topic", "tail", "cli-line", "--last", "1", "--count", "1").splitlines()
    _, place, tag, body = line.split("\t")
    assert (place, tag, body) == ("0@0", "paid", r"\x1b]0;owned\x07")
    (line,) = run("topic", "tail", "cli-line", "--last", "1", "--count", "1", "--base64").splitlines()
    assert line.endswith("\tG10wO293bmVkBw==")


def test_what_is_sent_later_comes_too(at: str) -> None:
    run("topic", "create", "cli-later", "--queues", "4")
    got: list[bytes] = []

    def tail_it() -> None:
        follow("cli-later", lambda each: got.append(each.body), nameserver=at, count=8)

    tail = threading.Thread(target=tail_it)
    with Producer("cli", nameserver=at) as producer:
        producer.send(Message("cli-later", b"before"))
        tail.start()

        def sent() -> bool:
            producer.send(Message("cli-later", b"now"))
            return not tail.is_alive()

        until(sent)
    tail.join()
    assert got == [b"now"] * 8
