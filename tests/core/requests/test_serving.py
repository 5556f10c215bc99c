"""Marked handlers, the table made of them, and answers in short forms."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_admin.requests import DeleteTopicInBroker, UpdateBrokerConfig

from mqframe.core.cluster.client_bodies import ConsumerList
from mqframe.core.errors import BodyError, HeaderError, Refusal
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
    GetMaxOffset,
    GetMinOffset,
    HeartBeat,
    OffsetAnswer,
)
from mqframe.core.requests.messages import SendMessage
from mqframe.core.requests.serving import Call, Reply, as_reply, handlers_of, serves
from mqframe.core.wire.frame import Frame


class Connection:
    """A connection that keeps what is answered over it."""

    address = "10.0.0.9:1"
    closed = False

    def __init__(self) -> None:
        self.answers: list[Reply] = []

    def answer(self, call: Any, reply: Reply) -> None:
        self.answers.append(reply)


class Ends:
    """Serves both ends of queues."""

    @serves(GetMinOffset, GetMaxOffset)
    def end(self, fields: GetMinOffset | GetMaxOffset, call: Call) -> OffsetAnswer:
        return OffsetAnswer(0 if isinstance(fields, GetMinOffset) else 10 + fields.queue_id)

    def unmarked(self, fields: DeleteTopicInBroker, call: Call) -> Reply:
        raise AssertionError


def call(ext: dict[str, str] | None, body: bytes = b"", flag: int = 0) -> Call:
    return Call(Frame(0, 1, flag, None, ext, body), Connection(), 0.0)


class TestHandlersOf:
    def test_each_kind_has_the_handler_that_is_marked_with_it(self) -> None:
        table = handlers_of(Ends())
        assert sorted(table) == [GetMaxOffset.CODE, GetMinOffset.CODE]
        asked = {"topic": "t", "queueId": "2", "unknown": "x"}
        assert table[GetMaxOffset.CODE](call(asked)) == OffsetAnswer(12)
        assert table[GetMinOffset.CODE](call(asked)) == OffsetAnswer(0)

    def test_an_override_serves_what_it_is_marked_with(self) -> None:
        class Minima(Ends):
            @serves(GetMinOffset)
            def end(self, fields: GetMinOffset | GetMaxOffset, call: Call) -> OffsetAnswer:
                return OffsetAnswer(7)

        [(code, handler)] = handlers_of(Minima()).items()
        assert (code, handler(call({"topic": "t", "queueId": "2"}))) == (GetMinOffset.CODE, OffsetAnswer(7))

    def test_a_function_can_be_marked(self) -> None:
        @serves(GetConsumerListByGroup)
        def members(fields: GetConsumerListByGroup, call: Call) -> ConsumerList:
            return ConsumerList([fields.consumer_group])

        table = handlers_of(members, Ends())
        assert len(table) == 3
        assert table[GetConsumerListByGroup.CODE](call({"consumerGroup": "g"})) == ConsumerList(["g"])

    def test_two_handlers_of_one_kind_are_an_error(self) -> None:
        with pytest.raises(ValueError, match=r"GetMinOffset is served twice, once by .*Ends"):
            handlers_of(Ends(), Ends())

    def test_malformed_fields_name_kind_and_field(self) -> None:
        handler = handlers_of(Ends())[GetMaxOffset.CODE]
        with pytest.raises(HeaderError, match=r"GetMaxOffset: .*queueId"):
            handler(call({"topic": "t"}))
        with pytest.raises(HeaderError, match="GetMaxOffset: "):
            handler(call(None))


class TestCall:
    def test_it_is_answered_once(self) -> None:
        asked, reply = call({}), Reply(5)
        asked.reply(reply)
        assert (asked.answered, asked.peer.answers) == (True, [reply])
        with pytest.raises(RuntimeError, match=r"10\.0\.0\.9:1 was answered already"):
            asked.reply(reply)

    def test_whoever_watches_it_sees_the_answer_before_it_leaves(self) -> None:
        connection = Connection()
        call = Call(Frame(1), connection, 0.0)
        seen: list[tuple[Reply, int]] = []
        call.on_answer = lambda reply: seen.append((reply, len(connection.answers)))
        call.reply(answer := Reply(7))
        assert seen == [(answer, 0)]
        assert connection.answers == [answer]

    def test_its_body_is_decoded_as_asked(self) -> None:
        asked = call({}, b'{"consumerIdList":["a","b"]}')
        assert asked.body(ConsumerList) == ConsumerList(["a", "b"])
        with pytest.raises(BodyError):
            call({}, b"[").body(ConsumerList)

    def test_oneway_is_a_flag(self) -> None:
        assert [call({}, flag=flag).oneway for flag in (0, 1, 2, 3)] == [False, False, True, True]


class TestAnswers:
    def test_a_header_alone_is_a_success(self) -> None:
        reply = as_reply(OffsetAnswer(3))
        assert (reply.code, reply.fields(), reply.body) == (0, {"offset": "3"}, b"")

    def test_a_body_alone_is_a_success(self) -> None:
        reply = as_reply(ConsumerList(["a"]))
        assert (reply.code, reply.fields(), reply.body) == (0, None, b'{"consumerIdList":["a"]}')

    def test_a_reply_is_itself(self) -> None:
        reply = Reply(3)
        assert as_reply(reply) is reply

    def test_texts_go_over_the_fields_of_the_header(self) -> None:
        assert Reply(header=OffsetAnswer(3), ext={"more": "x"}).fields() == {"offset": "3", "more": "x"}


def test_long_bodies_of_text_are_refused_and_those_of_messages_are_not() -> None:
    class Beats:
        @serves(HeartBeat)
        def beat(self, fields: HeartBeat, call: Call) -> Reply:
            return Reply(ext={"size": str(len(call.frame.body))})

    handler = handlers_of(Beats(), body_bytes_max=10)[HeartBeat.CODE]
    assert handler(call(None, b"x" * 10)).ext == {"size": "10"}  # type: ignore[union-attr]
    with pytest.raises(
        Refusal, match=r"HeartBeat \(34\) has 11 bytes, at most 10 .*net.body_bytes_max"
    ) as caught:
        handler(call(None, b"x" * 11))
    assert caught.value.code == 29
    limited = [kind.has_text_body() for kind in (HeartBeat, UpdateBrokerConfig, SendMessage, GetMaxOffset)]
    assert limited == [True, True, False, False]


def test_a_body_in_parts_is_joined_and_a_whole_one_is_not_copied() -> None:
    whole = memoryview(b"body")
    assert Reply(body=whole).joined_body() is whole
    assert Reply(body=[b"bo", memoryview(b"d"), bytearray(b"y")]).joined_body() == b"body"
    assert Reply().joined_body() == b""
