"""`mqframe topic tail` against a running server."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest
from command_runs import read, refused, run
from mqframe_cli.live.tail import TopicPart, chosen_queues, follow
from real_time import until

from mqframe import Message, MessageQueue, Producer
from mqframe.core.errors import SettingError


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
    assert sorted(bodies("cli-tail", "--last", "3", "--limit", "3")) == ["x", "y", "z"]
    assert bodies("cli-tail", "--since", "1h", "--count", "13").count("9") == 1
    assert sorted(bodies("cli-tail", "--from", "start", "--count", "13"))[:2] == ["0", "1"]
    run("topic", "tail", "cli-tail", "--since", "noon", code=2)
    assert [row["group"] for row in read("topic", "groups", "cli-tail")] == []


def test_it_ends_where_the_queues_ended_when_it_began(at: str) -> None:
    filled("cli-end", 10)
    everything = sorted(map(str, range(10)))
    assert sorted(bodies("cli-end", "--until-end")) == everything
    assert sorted(bodies("cli-end", "-e", "--since", "1h")) == everything
    assert len(bodies("cli-end", "--until-end", "--last", "3")) == 3
    assert bodies("cli-end", "--until", "1h", "--since", "start") == []
    assert sorted(bodies("cli-end", "--until", "0s")) == everything
    assert bodies("cli-end", "-e", "--tag", "nobody") == []
    held = [row["messages"] for row in read("topic", "stats", "cli-end")]
    assert len(bodies("cli-end", "-e", "--offset", "-1")) == sum(map(bool, held))
    assert bodies("cli-end", "-e", "--offset", "10") == []
    run("topic", "create", "cli-end-empty", "--queues", "1")
    assert bodies("cli-end-empty", "--until-end") == bodies("cli-end-empty", "-e", "--last", "2") == []


def test_what_comes_while_it_runs_is_behind_its_end(at: str) -> None:
    run("topic", "create", "cli-end-now", "--queues", "1")
    got: list[bytes] = []
    with Producer("cli", nameserver=at) as producer:
        producer.send(Message("cli-end-now", b"before"))

        def write(message: object) -> None:
            got.append(message.body)  # type: ignore[attr-defined]
            producer.send(Message("cli-end-now", b"after"))

        follow(TopicPart(topic="cli-end-now", until_end=True), write, nameserver=at)
    assert got == [b"before"]


def test_single_queues_are_chosen_by_broker_and_id(at: str) -> None:
    run("topic", "create", "cli-queues", "--queues", "3")
    with Producer("cli", nameserver=at) as producer:
        for queue in producer.queues("cli-queues"):
            producer.send(Message("cli-queues", b"%d" % queue.queue_id), queue=queue)
    assert bodies("cli-queues", "-e", "--queue", "1") == ["1"]
    assert sorted(bodies("cli-queues", "-e", "--queue", "broker-a:0", "--queue", "2")) == ["0", "2"]
    said = refused("topic", "tail", "cli-queues", "-e", "--queue", "broker-b:0")
    assert "--queue broker-b:0: topic cli-queues has no such queue; there are broker-a:0, broker-a:1" in said


@pytest.mark.parametrize("name", ["x", "broker-a:", ":1", "broker-a:-1", "٣", ""])
def test_what_names_no_queue_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="write BROKER:ID"):
        chosen_queues([MessageQueue("t", "broker-a", 1)], [name])


def test_an_id_means_that_queue_of_each_broker_and_none_is_there_twice() -> None:
    queues = [MessageQueue("t", broker, number) for broker in ("a", "b") for number in range(2)]
    assert chosen_queues(queues, []) == queues
    assert chosen_queues(queues, ["b:1", "1"]) == [queues[1], queues[3]]


def test_messages_are_chosen_by_properties_and_keys(at: str) -> None:
    run("topic", "create", "cli-where", "--queues", "1")
    for amount, region, key in (("5", "north", "k1"), ("50", "north", "k2"), ("70", "south", "k3")):
        run(
            *("message", "send", "cli-where", amount, "--key", key, "--tag", "paid"),
            *("--property", f"amount={amount}", "--property", f"region={region}"),
        )
    where = ("cli-where", "-e", "--where")
    assert bodies(*where, "amount > 10") == ["50", "70"]
    assert bodies(*where, "amount > 10 AND region = 'north'", "--tag", "paid") == ["50"]
    assert bodies("cli-where", "-e", "--key", "k1", "--key", "k3") == ["5", "70"]
    assert bodies(*where, "amount > 10", "--key", "k1", "--key", "k3") == ["70"]
    assert bodies("cli-where", "-e", "--last", "1", "--where", "region = 'north'") == ["50"]
    assert bodies("cli-where", "--from", "start", "--where", "region = 'south'", "--count", "1") == ["70"]


def test_a_format_says_how_lines_are_written(at: str) -> None:
    run("topic", "create", "cli-format", "--queues", "1")
    run(
        *("message", "send", "cli-format", "two\tespressi", "--tag", "paid", "--key", "a", "--key", "b"),
        *("--property", "table=7"),
    )
    words = ("topic", "tail", "cli-format", "-e", "--format")
    assert run(*words, r"%t|%b|%p|%o|%g|%k|%h{table}|%S|%s\n") == (
        "cli-format|broker-a|0|0|paid|a b|7|12|two\tespressi\n"
    )
    assert run(*words, r"%s\n", "--base64") == "dHdvCWVzcHJlc3Np\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "1h", "--last", "1"), "--since and --last each say where to begin"),
        (("--offset", "0", "--last", "1"), "--offset and --last each say where to begin"),
        (("--format", "%s", "--json"), "--format and --json both say"),
        (("--format", "%q"), "%q is no field; known are %t topic, %b broker"),
        (("--where", "a >"), "--where: SQL92 expression, character"),
        (("--until", "2099-01-01T00:00Z"), "--until 2099-01-01T00:00Z: is yet to come"),
        (("--until", "soon"), "--until soon: write how long ago"),
    ],
)
def test_options_that_make_no_sense_are_refused(at: str, words: tuple[str, ...], said: str) -> None:
    run("topic", "create", "cli-refused", "--queues", "1")
    assert said in refused("topic", "tail", "cli-refused", *words)


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
        part = TopicPart(topic="cli-later", count=8)
        follow(part, lambda each: got.append(each.body), nameserver=at)

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


def test_the_last_moment_belongs_to_it_and_the_next_does_not() -> None:
    part = TopicPart(topic="t", until_ms=1000, chooses=lambda message: message.queue_id == 1)
    messages = [
        SimpleNamespace(store_timestamp=ms, queue_id=number) for ms in (1000, 1001) for number in (0, 1)
    ]
    assert [part.takes(each) for each in messages] == [False, True, False, False]  # type: ignore[arg-type]
