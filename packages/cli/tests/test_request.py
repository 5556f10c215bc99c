"""`mqframe request` beside a consumer that answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from command_runs import read, refused, run
from mqframe_testing import Cluster

from mqframe import Producer, PushConsumer, ReceivedMessage, reply_to


@pytest.fixture(scope="module")
def nameserver() -> Iterator[str]:
    """Of a cluster with a consumer of `questions` that answers, and fails at what begins with "bad"."""
    with Cluster() as cluster:
        cluster.create_topic("questions", 1)
        cluster.create_topic("silence", 1)
        answers = Producer("answers", nameserver=cluster.nameserver)
        consumer = PushConsumer("answering", nameserver=cluster.nameserver, consume_from="first")

        @consumer.on("questions")
        def handle(message: ReceivedMessage) -> None:
            if message.body.startswith(b"bad"):
                raise ValueError("cannot say")
            tag, colour = message.tag or "-", message.properties.get("colour", "-")
            answers.send(reply_to(message, b"%s|%s|%s" % (message.body, tag.encode(), colour.encode())))

        with answers, consumer:
            yield cluster.nameserver


def test_a_pipe_gets_the_body_alone(nameserver: str) -> None:
    words = ("request", "questions", "how much", "--nameserver", nameserver)
    assert run(*words, "--timeout", "60") == "how much|-|-"
    more = ("--tag", "tea", "--property", "colour=blue", "--timeout", "60")
    assert run(*words, *more) == "how much|tea|blue"


def test_standard_input_may_hold_the_request(nameserver: str) -> None:
    words = ("request", "questions", "-", "--nameserver", nameserver, "--timeout", "60")
    assert run(*words, data=b"two\nlines") == "two\nlines|-|-"


def test_json_says_how_long_it_took_and_what_else_the_reply_says(nameserver: str) -> None:
    found = read("request", "questions", "x", "--nameserver", nameserver, "--timeout", "60")
    assert (found["body_encoding"], found["body"]) == ("text", "x|-|-")
    assert 0 < found["seconds"] < 60
    assert found["properties"]["MSG_TYPE"] == "reply"


def test_base64(nameserver: str) -> None:
    words = ("request", "questions", "x", "--nameserver", nameserver, "--timeout", "60", "--base64")
    assert run(*words).splitlines()[1:] == ["body_encoding\tbase64", "body\teHwtfC0="]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("questions", "bad luck", "--timeout", "60"), 1, "ValueError: cannot say"),
        (("silence", "x", "--timeout", "0.2"), 3, "was sent, and no reply came in time"),
        (("questions", "x", "--timeout", "0"), 2, "--timeout 0: must be more than 0 s"),
        (("questions", "x", "--property", "colour"), 2, "--property colour: must be written name=value"),
    ],
)
def test_where_no_reply_comes_it_says_why(
    nameserver: str, words: tuple[str, ...], code: int, said: str
) -> None:
    assert said in refused("request", *words, "--nameserver", nameserver, code=code)
