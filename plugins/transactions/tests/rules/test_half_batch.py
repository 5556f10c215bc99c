"""What a half that holds a batch must be, and what the answers to its end mean."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_transactions.requests import SendHalfBatch
from mqframe_transactions.rules.half_batch import (
    ELEMENTS_MAX,
    EndStatus,
    PreparedHalf,
    added_properties,
    batch_from,
    check_half_batch,
    count_elements,
    end_status,
    stands_for,
    status_of_failure,
    stored_bytes,
)

from mqframe.core.errors import (
    BodyError,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    MqframeError,
    Refusal,
    RouteError,
    TooMuchInFlight,
    answer_error,
)
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.message import ReceivedMessage
from mqframe.store.appending.batch_layout import BatchLayout, BatchLimits
from mqframe.store.incoming import Incoming

HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))
BATCH = b"".join(encode_element(body, b"TAGS\x01a\x02") for body in (b"one", b"two", b"three"))


def fields(properties: dict[str, str], **more: Any) -> SendHalfBatch:
    values: dict[str, Any] = {
        "producer_group": "g", "topic": "t", "default_topic": "TBW102", "default_topic_queue_nums": 4,
        "queue_id": 0, "sys_flag": 4, "born_timestamp": 1, "flag": 0,
    }  # fmt: skip
    return SendHalfBatch(**(values | more), properties=p.encode_properties(properties))


def admit(batch: bytes = BATCH, *, count: str = "3", log_bytes: int = 1 << 20, **more: Any) -> dict[str, str]:
    properties = {"TRAN_MSG": "true", "PGROUP": "g", "HALF_BATCH": count, **more.pop("properties", {})}
    return check_half_batch(fields(properties, **more), batch, added_bytes=50, log_file_bytes=log_bytes)


def received(body: bytes, properties: dict[str, str]) -> ReceivedMessage:
    text = p.encode_properties(properties).encode()
    return ReceivedMessage("t", 0, 0, 0, 0, 0, 0, HOST, HOST, 0, 0, 0, 0, 0, body, text)


class TestAdmission:
    def test_a_good_half_passes(self) -> None:
        assert admit(properties={"job": "7"})["job"] == "7"

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"count": "2"}, "holds 3 messages, its HALF_BATCH is 2"),
            ({"count": "x"}, "its HALF_BATCH is x"),
            ({"properties": {"HALF_BATCH": ""}}, "its HALF_BATCH is None"),
            ({"properties": {"TRAN_MSG": "no"}}, "needs TRAN_MSG=true and PGROUP"),
            ({"properties": {"PGROUP": ""}}, "needs TRAN_MSG=true and PGROUP"),
            ({"properties": {"DELAY": "3"}}, "cannot be delayed, its DELAY is 3"),
            ({"properties": {"TIMER_DELIVER_MS": "3"}}, "cannot be delayed"),
            ({"sys_flag": 5}, "cannot be compressed as a whole"),
            ({"batch": b""}, "the batch holds 0 messages"),
            ({"batch": BATCH[:-1]}, "message 2 of the batch, at byte"),
            ({"batch": BATCH + b"\0"}, "message 3 of the batch, at byte"),
            ({"log_bytes": 1000}, "more than a commit-log file of 1000 bytes holds"),
        ],
    )
    def test_what_could_not_be_committed_is_refused(self, wrong: dict[str, Any], words: str) -> None:
        with pytest.raises(Refusal) as caught:
            admit(**wrong)
        assert caught.value.code == 13
        assert words in caught.value.remark

    @pytest.mark.parametrize(
        ("body", "properties", "words"),
        [
            (b"", b"", "message 1 of the batch has no body"),
            (b"x", b"a\x01" + b"v" * 32700, "of message 1 of the batch have 32702 bytes, 32701 are allowed"),
            (b"x", b"a\x01\xff\x02", "message 1 of the batch: 'utf-8'"),
            (b"x", b"DELAY\x013\x02", "has the property DELAY"),
            (b"x", b"TIMER_DELAY_SEC\x013\x02", "has the property TIMER_DELAY_SEC"),
            (b"x", b"a\x01b\x02TRAN_MSG\x01true\x02", "has the property TRAN_MSG"),
        ],
    )
    def test_one_bad_message_is_enough(self, body: bytes, properties: bytes, words: str) -> None:
        good = encode_element(b"x", b"a\x01b\x02")
        with pytest.raises(BodyError) as caught:
            count_elements(good + encode_element(body, properties) + good, 32701)
        assert words in str(caught.value)

    def test_a_body_may_hold_the_words(self) -> None:
        assert count_elements(encode_element(b"DELAY\x013\x02TRAN_MSG\x01true\x02", b"a\x01DELAY\x02")) == 1

    def test_so_many_messages_and_no_more(self) -> None:
        one = encode_element(b"x", b"")
        assert count_elements(one * ELEMENTS_MAX) == ELEMENTS_MAX
        with pytest.raises(BodyError, match="holds 32768 messages; 1 to 32767"):
            count_elements(one * (ELEMENTS_MAX + 1))


messages = st.lists(
    st.tuples(st.binary(min_size=1, max_size=40), st.sampled_from([b"", b"TAGS\x01a\x02", b"k\x01v"])),
    min_size=1, max_size=8,
)  # fmt: skip


class TestDelivery:
    @given(messages, st.sampled_from([8, 20]), st.text(min_size=1, max_size=60))
    def test_messages_take_no_more_room_than_was_made(self, each: Any, host: int, topic: str) -> None:
        batch = b"".join(encode_element(body, properties) for body, properties in each)
        added = added_properties({"MSG_REGION": "R", "TRACE_ON": "true", "CLUSTER": "c", "other": "x"})
        assert added == b"MSG_REGION\x01R\x02TRACE_ON\x01true\x02CLUSTER\x01c\x02"
        head = Incoming(topic, 0, b"", "", 0, bytes(host), bytes(host))
        laid = BatchLayout(head, added, 0, (), BatchLimits(1 << 20)).lay(batch, 0, 0)
        assert laid.end + 1024 <= stored_bytes(batch, len(each), topic, len(added)) <= laid.end + 3000

    @given(messages)
    def test_the_rest_of_a_batch(self, each: Any) -> None:
        encoded = [encode_element(body, properties) for body, properties in each]
        batch = b"".join(encoded)
        for number in range(len(encoded) + 2):
            assert batch_from(batch, number) == b"".join(encoded[number:])

    def test_what_a_crash_left_is_recognised(self) -> None:
        half = received(BATCH, {"HALF_BATCH": "3", "UNIQ_KEY": "H"})
        bodies = [b"one", b"two", b"three"]
        for number in range(1, 4):
            assert stands_for(half, [received(body, {}) for body in bodies[:number]])
        assert not stands_for(half, [received(b"two", {})])
        assert not stands_for(half, [received(body, {}) for body in [*bodies, b"four"]])
        single = received(b"x", {"UNIQ_KEY": "S"})
        assert stands_for(single, [received(b"x", {"UNIQ_KEY": "S"})])
        assert not stands_for(single, [received(b"x", {"UNIQ_KEY": "T"})])
        assert not stands_for(single, [received(b"x", {"UNIQ_KEY": "S"})] * 2)

    @pytest.mark.parametrize("body", [b"no batch", BATCH[:-3], b""])
    @pytest.mark.parametrize("sys_flag", [0, 1, 0x301])
    def test_a_half_whose_batch_cannot_be_read_stands_for_nothing(self, body: bytes, sys_flag: int) -> None:
        # It is looked at in every start: an error there would keep the broker from starting.
        half = received(body, {"HALF_BATCH": "3"})
        half.sys_flag = sys_flag
        assert not stands_for(half, [received(b"one", {}), received(b"two", {}), received(b"three", {})])


class TestEnds:
    @pytest.mark.parametrize(
        ("code", "remark", "wanted"),
        [
            (0, None, EndStatus.DONE),
            (604, "whatever", EndStatus.ENDED_BEFORE),
            (1, "no half message begins at commit-log offset 3", EndStatus.NOT_FOUND),
            (1, "the half at commit-log offset 3 is of producer group a, not of b", EndStatus.NOT_FOUND),
            (1, "Find prepared transaction message failed", EndStatus.NOT_FOUND),
            (1, "The transaction state table offset wrong", EndStatus.NOT_FOUND),
            (1, "OS page cache busy, please try another machine", None),
            (1, None, None),
            (14, "Service not available now.", None),
            (2, "no half message begins", None),
        ],
    )
    def test_answers(self, code: int, remark: str | None, wanted: EndStatus | None) -> None:
        assert end_status(code, remark) is wanted

    @pytest.mark.parametrize(
        ("problem", "wanted"),
        [
            (ConnectError(""), None),
            (TooMuchInFlight(""), None),
            (RouteError(""), None),
            (answer_error(2, "busy", "b"), None),
            (answer_error(14, "disk full", "b"), None),
            (answer_error(11, "slave", "b"), None),
            (answer_error(1, "UNKNOWN_ERROR", "b"), EndStatus.UNCERTAIN),
            (ConnectionLost(""), EndStatus.UNCERTAIN),
            (CallTimeout(""), EndStatus.UNCERTAIN),
        ],
    )
    def test_failures(self, problem: MqframeError, wanted: EndStatus | None) -> None:
        assert status_of_failure(problem) is wanted

    def test_a_prepared_half_travels_as_json(self) -> None:
        half = PreparedHalf("broker-a", "t", 3, 7, 1 << 40, "U1", 10, True)
        assert msgspec.json.decode(msgspec.json.encode(half), type=PreparedHalf) == half
