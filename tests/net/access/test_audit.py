"""What is written down of changes."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mqframe_admin.requests import GetBrokerConfig
from net.access.plugins import call

from mqframe.core.errors import Refusal
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.serving import Call, Reply
from mqframe.net.access.audit import READ_BYTES, SHOWN_CHARS, audited, short


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    class Lines(list[str]):
        def __iter__(self) -> Any:
            return iter([each.getMessage() for each in caplog.records if each.name == "mqframe.audit"])

    caplog.set_level(logging.INFO, "mqframe.audit")
    return Lines()


def serve(code: int, handler: Any, body: bytes = b"", **ext: str) -> Any:
    asked = call(code, body, **ext)
    asked.user = "root"
    return audited({code: handler})[code](asked)


def test_only_changes_are_written_down(told: list[str]) -> None:
    def handler(call: Call) -> Reply:
        return Reply()

    handlers = {kind.CODE: handler for kind in (SendMessageV2, GetBrokerConfig, HeartBeat)}
    assert audited(handlers) == handlers
    serve(215, handler, topic="orders", Signature="s1", AccessKey="a1", SecurityToken="t1")
    (line,) = told
    assert line == (
        "DeleteTopicInBroker user='root' peer='127.0.0.1:4711' outcome='done' request={'topic': 'orders'}"
    )


async def test_how_it_ended_is_told(told: list[str]) -> None:
    async def later(call: Call) -> Reply:
        call.let_go()
        return Reply()

    async def late_failure(call: Call) -> Reply:
        raise Refusal(1, "the disk is full")

    def failing(call: Call) -> Reply:
        raise Refusal(17, "no such topic")

    serve(215, lambda call: Reply(17, remark="no such topic"), topic="a")
    with pytest.raises(Refusal):
        serve(215, failing, topic="b")
    assert (await serve(215, later, topic="c")).code == 0
    with pytest.raises(Refusal):
        await serve(215, late_failure, topic="d")
    outcomes = [line.partition("outcome=")[2] for line in told]
    assert [each.partition(" request=")[0] for each in outcomes] == [
        "'failed: no such topic'", "'failed: no such topic'", "'done'", "'failed: 1: the disk is full'",
    ]  # fmt: skip
    assert "'topic': 'c'" in outcomes[2]


def test_settings_are_written_down_and_secrets_are_not(told: list[str]) -> None:
    secrets = b'tlsKeyPassword = s3cr3t\ninner={"password":"s3cr3t"}'
    serve(25, lambda call: Reply(), b"brokerPermission=4\nrecall=false\n" + secrets)
    serve(3001, lambda call: Reply(), b'{"password":"s3cr3t"}', username="shop")
    serve(50, lambda call: Reply(), accessKey="shop-key", secretKey="s3cr3t")
    first, *others = told
    assert r"'brokerPermission=4\nrecall=false\ntlsKeyPassword =(secret)\ninner=(secret)'" in first
    assert ["s3cr3t" in line for line in told] == [False, False, False]
    assert ["shop" in other for other in others] == [True, True]


def test_whoever_asks_does_not_choose_how_long_a_line_is(told: list[str]) -> None:
    serve(215, lambda call: Reply(), topic="x" * 100_000)
    (line,) = told
    assert len(line) < SHOWN_CHARS + 300
    assert short("short") == "short"


def test_of_a_long_body_the_begin_is_read_and_no_line_that_is_cut(told: list[str]) -> None:
    begin = b"brokerPermission=4\n#" + b"x" * (READ_BYTES - 40) + b"\n"
    secret = b'inner={"other":1,"password":"s3cr3t"}'
    body = begin + secret
    assert len(begin) < READ_BYTES < len(body), "the secret is cut"
    for size in (0, 3 * READ_BYTES):
        serve(25, lambda call: Reply(), body + b" " * size + b"\nrecall=false")
    serve(25, lambda call: Reply(), b"brokerPermission=4\ninner = " + b"y" * READ_BYTES + b"s3cr3t")
    serve(225, lambda call: Reply(), b'{"groupConfigList":[' + b" " * READ_BYTES + b"]}")
    first, second, third, fourth = told
    shown = f"brokerPermission=4\\n#{'x' * (SHOWN_CHARS - 20)}… ({len(body) + 13} bytes)"
    assert shown in first
    assert f"… ({len(body) + 13 + 3 * READ_BYTES} bytes)" in second
    assert f"'body': 'brokerPermission=4… ({READ_BYTES + 33} bytes)'" in third
    assert "'body': '{\"groupConfigList\":[" in fourth
    assert not any("s3cr3t" in each for each in told)
