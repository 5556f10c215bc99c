"""Sending many messages."""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

import pytest
from command_runs import read, run
from mqframe_cli.app import app
from mqframe_cli.sending.records import Outgoing
from mqframe_cli.sending.sender import SendSummary, due_in, send_all
from typer.testing import CliRunner

from mqframe import Message, MessageQueue
from mqframe.core.errors import CallTimeout
from mqframe.core.messages.message import SendResult, SendStatus


def test_json_lines_are_sent_with_what_they_say(at: str) -> None:
    run("topic", "create", "cli-json", "--queues", "1")
    lines = (
        b'{"body": "a", "tag": "t", "key": "k", "properties": {"p": "1"}}\n\n{"body": "b", "delay": 0.001}\n'
    )
    rows = read("message", "send", "cli-json", "-", "--json-lines", data=lines)
    assert [row["status"] for row in rows] == ["SEND_OK", "SEND_OK"]
    assert ["recall_handle" in row for row in rows] == [False, True]
    (found,) = read("message", "query", "cli-json", "k")
    assert (found["tag"], found["body"]) == ("t", "a")
    copied = run("topic", "tail", "cli-json", "--since", "start", "--count", "1", "--json")
    run("topic", "create", "cli-copied", "--queues", "1")
    run("message", "send", "cli-copied", "-", "--json-lines", data=copied.encode())
    (found,) = read("message", "query", "cli-copied", "k")
    shown = read("message", "show", "cli-copied", found["message_id"])
    assert (shown["tag"], shown["body"], shown["properties"]["p"]) == ("t", "a", "1")


def test_a_wrong_line_ends_it_and_says_how_many_were_sent(at: str) -> None:
    run("topic", "create", "cli-half", "--queues", "1")
    words = ["message", "send", "cli-half", "-", "--json-lines"]
    result = CliRunner().invoke(app, words, input=b'{"body": "a"}\n{"bdy": "b"}\n')
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "mqframe: 1 messages were sent before this:",
        "mqframe: line 2: Object contains unknown field `bdy`; did you mean body?",
    ]
    assert [row["body"] for row in read("message", "read", "cli-half")] == ["a"]
    result = CliRunner().invoke(app, [*words, "--json"], input=b'{"body": "a"}\nnothing\n')
    assert json.loads(result.stderr)["message"].startswith("line 2: ")


def test_many_messages_have_one_line(at: str) -> None:
    run("topic", "create", "cli-sum", "--queues", "1")
    text = run("message", "send", "cli-sum", "-", "--lines", data=b"x\n" * 21)
    assert text.startswith("21 messages in 1 queues, ")
    assert text.endswith("SEND_OK 21\n")
    assert len(run("message", "send", "cli-sum", "-", "--lines", data=b"x\n" * 20).splitlines()) == 21
    assert len(read("message", "send", "cli-sum", "-", "--lines", data=b"x\n" * 21)) == 21
    run("message", "send", "cli-sum", "-", "--lines", "--rate", "0", code=2)


def test_a_rate_leaves_time_between_messages() -> None:
    assert due_in(0, 10, 0) == 0
    assert due_in(5, 10, 0.2) == pytest.approx(0.3)
    assert due_in(5, 10, 0.7) == 0
    assert due_in(5, None, 0) == 0


def test_what_was_on_its_way_when_one_fails_is_counted() -> None:
    class Failing:
        def submit(self, message: Message, **more: Any) -> Future[SendResult]:
            future: Future[SendResult] = Future()
            future.set_result(SendResult(SendStatus.SEND_OK, "7F", MessageQueue("t", "b", 0), 0))
            return future

        def send(self, message: Message, **more: Any) -> SendResult:
            raise CallTimeout("no answer")

    producer: Any = Failing()
    sent = SendSummary(every=False)
    messages = [Outgoing(Message("t", b"a")), Outgoing(Message("t", b"b"), None, {"delay": 1})]
    with pytest.raises(CallTimeout):
        send_all(producer, messages, sent, None)
    assert sent.count == 1
    assert sent.summary(0.5) == "1 messages in 1 queues, 0.5 s: SEND_OK 1"
