import gzip
import zlib
from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.receives import (
    ReceiveLimits,
    changed_ms,
    invisible_ms,
    message_of,
    polling_ms,
)
from mqframe_grpc.rules.send_checks import OWN_NAMES
from mqframe_grpc.rules.times import duration_ms

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyUnreadable
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties

LIMITS = ReceiveLimits()
TOPIC = m.Resource(name="orders", resource_namespace="shop")
HANDLE = "5 1795248761121 60000 0 0 broker-a 1 7 4200161"
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
durations = st.builds(m.Duration, seconds=INT64, nanos=INT32)


def receive(seconds: float | None = None, **fields: object) -> m.ReceiveMessageRequest:
    if seconds is not None:
        fields["long_polling_timeout"] = m.Duration(seconds=int(seconds), nanos=int(seconds % 1 * 10**9))
    return m.ReceiveMessageRequest(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked_s", "remaining_ms", "expected"),
    [
        (12, 30_000, 12_000),
        (12.5, 12_500, 12_500),
        (0, 30_000, 5_000),
        (-1, 30_000, 5_000),
        (3600, 60_000, 20_000),
        (20, 8_000, 8_000),
        (20, 5_000, 5_000),
        (None, 23_000, 20_000),
        (None, 13_000, 11_500),
        (None, 6_000, 5_000),
        (7, None, 7_000),
        (None, None, 20_000),
    ],
)
def test_how_long_a_receive_waits(asked_s: float | None, remaining_ms: int | None, expected: int) -> None:
    assert polling_ms(receive(asked_s), remaining_ms, 3_000, LIMITS, "5.1.2") == expected


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("5.0.3", m.Code.ILLEGAL_POLLING_TIME),
        ("5.1.2", m.Code.ILLEGAL_POLLING_TIME),
        ("5.0.2", m.Code.BAD_REQUEST),
        ("5.0.10", m.Code.BAD_REQUEST),
        ("", m.Code.BAD_REQUEST),
        (None, m.Code.BAD_REQUEST),
    ],
)
def test_a_deadline_too_near_is_refused_with_a_code_that_the_client_knows(
    version: str | None, code: m.Code
) -> None:
    with pytest.raises(Rejected, match="deadline is 4999 ms away") as caught:
        polling_ms(receive(5), 4_999, 3_000, LIMITS, version)
    assert caught.value.code is code


@given(st.one_of(st.none(), durations), st.one_of(st.none(), st.integers(-(10**6), 10**16)), INT64, st.text())
def test_any_receive_waits_within_bounds_and_its_deadline(
    asked: m.Duration | None, remaining_ms: int | None, timeout_ms: int, version: str
) -> None:
    request = m.ReceiveMessageRequest(long_polling_timeout=asked)
    left = 20_000 if remaining_ms is None else remaining_ms
    if left < 5_000:
        with pytest.raises(Rejected):
            polling_ms(request, remaining_ms, timeout_ms, LIMITS, version)
    else:
        assert 5_000 <= polling_ms(request, remaining_ms, timeout_ms, LIMITS, version) <= min(20_000, left)


def test_renewed_messages_are_hidden_for_a_minute_whatever_is_asked_for() -> None:
    request = receive(auto_renew=True, invisible_duration=m.Duration(seconds=1))
    assert invisible_ms(request, LIMITS) == 60_000
    assert invisible_ms(request, ReceiveLimits(renew_ms=20_000)) == 20_000


@pytest.mark.parametrize(("seconds", "nanos"), [(10, 0), (12 * 3600, 0), (11, 999_000_000)])
def test_others_are_hidden_as_long_as_is_asked_for(seconds: int, nanos: int) -> None:
    request = receive(invisible_duration=m.Duration(seconds=seconds, nanos=nanos))
    assert invisible_ms(request, LIMITS) == seconds * 1000 + nanos // 10**6


@pytest.mark.parametrize(("seconds", "nanos"), [(9, 999_999_999), (12 * 3600, 1_000_000), (0, 0), (-20, 0)])
def test_invisible_durations_have_bounds(seconds: int, nanos: int) -> None:
    with pytest.raises(Rejected, match="may be 10000 to 43200000 ms") as caught:
        invisible_ms(receive(invisible_duration=m.Duration(seconds=seconds, nanos=nanos)), LIMITS)
    assert caught.value.code is m.Code.ILLEGAL_INVISIBLE_TIME


def test_a_receive_says_for_how_long() -> None:
    with pytest.raises(Rejected, match="invisible duration is 0 ms"):
        invisible_ms(receive(), LIMITS)


@pytest.mark.parametrize(("seconds", "expected"), [(0, 0), (1, 1_000), (12 * 3600, 43_200_000)])
def test_a_change_may_show_the_message_at_once(seconds: int, expected: int) -> None:
    request = m.ChangeInvisibleDurationRequest(invisible_duration=m.Duration(seconds=seconds))
    assert changed_ms(request, LIMITS) == expected


@given(durations)
def test_any_duration_is_in_bounds_or_refused(duration: m.Duration) -> None:
    ms = duration_ms(duration)
    for least, ask in (
        (0, lambda: changed_ms(m.ChangeInvisibleDurationRequest(invisible_duration=duration), LIMITS)),
        (10_000, lambda: invisible_ms(receive(invisible_duration=duration), LIMITS)),
    ):
        if least <= ms <= 43_200_000:
            assert ask() == ms
        else:
            with pytest.raises(Rejected, match=f"invisible duration is {ms} ms"):
                ask()


# Messages


def stored(
    properties: dict[str, str] | None = None,
    body: bytes = b"hello",
    *,
    sys_flag: int = 0,
    reconsume_times: int = 0,
    born_timestamp: int = 1795248761121,
    born: str = "10.0.0.7:4711",
) -> ReceivedMessage:
    return ReceivedMessage(
        "%RETRY%g_orders", 1, 7, 4200161, 200, born_timestamp, 1795248761125, encode_host(born),
        encode_host("10.0.0.1:10911"), reconsume_times, sys_flag, 0, 0, 0, body,
        encode_properties(properties or {}).encode(), "broker-a",
    )  # fmt: skip


def test_a_message_from_a_grpc_producer_comes_out_as_it_went_in() -> None:
    message = stored(
        {
            "TAGS": "blue",
            "KEYS": "k1 k2",
            "UNIQ_KEY": "01AABB",
            "PGROUP": "orders",
            "__BORNHOST": "client.example",
            "BORN_TIMESTAMP": "1795248761121",
            "RECONSUME_TIME": "0",
            "POP_CK": HANDLE,
            "1ST_POP_TIME": "1795248761130",
            "TRACE_CONTEXT": "00-ab-cd-01",
            "colour": "blue",
            "größe": "12 €",
        }
    )
    made = message_of(message, TOPIC, HANDLE)
    assert made == m.Message(
        topic=TOPIC,
        user_properties={"colour": "blue", "größe": "12 €"},
        system_properties=m.SystemProperties(
            tag="blue",
            keys=["k1", "k2"],
            message_id="01AABB",
            body_digest=m.Digest(type=m.DigestType.MD5, checksum="5D41402ABC4B2A76B9719D911017C592"),
            body_encoding=m.Encoding.IDENTITY,
            message_type=m.MessageType.NORMAL,
            born_timestamp=m.Timestamp(seconds=1795248761, nanos=121_000_000),
            born_host="client.example",
            store_timestamp=m.Timestamp(seconds=1795248761, nanos=125_000_000),
            store_host="10.0.0.1:10911",
            receipt_handle=HANDLE,
            queue_id=1,
            queue_offset=7,
            delivery_attempt=1,
            trace_context="00-ab-cd-01",
        ),
        body=b"hello",
    )


def test_a_message_that_says_nothing_of_itself() -> None:
    said = message_of(stored(born="[2001:db8::7]:4711"), TOPIC, "").system_properties
    assert said.message_id == "0A00000100002A9F00000000004016E1"
    assert said.born_host == "2001:db8::7"
    unset = (
        "tag",
        "delivery_timestamp",
        "receipt_handle",
        "message_group",
        "trace_context",
        "dead_letter_queue",
        "priority",
    )
    assert [name for name in unset if said.HasField(name)] == []
    assert list(said.keys) == []


@pytest.mark.parametrize(
    ("properties", "message_type"),
    [
        ({"TRAN_MSG": "true", "DELAY": "3"}, m.MessageType.TRANSACTION),
        ({"TIMER_DELIVER_MS": "1", "__SHARDINGKEY": "g"}, m.MessageType.DELAY),
        ({"__SHARDINGKEY": "g"}, m.MessageType.FIFO),
        ({"_SYS_MSG_PRIORITY_": "0"}, m.MessageType.PRIORITY),
    ],
)
def test_types_follow_from_properties(properties: dict[str, str], message_type: m.MessageType) -> None:
    assert message_of(stored(properties), TOPIC, HANDLE).system_properties.message_type == message_type


def test_a_message_group() -> None:
    said = message_of(stored({"__SHARDINGKEY": "customer 7"}), TOPIC, HANDLE).system_properties
    assert said.message_group == "customer 7"


@pytest.mark.parametrize(
    ("text", "priority"),
    [("0", 0), ("2147483647", 2**31 - 1), ("2147483648", None), ("-1", None), ("x", None)],
)
def test_a_priority_is_told_and_is_none_of_the_sender_s_own_properties(
    text: str, priority: int | None
) -> None:
    made = message_of(stored({"_SYS_MSG_PRIORITY_": text, "colour": "blue"}), TOPIC, HANDLE)
    said = made.system_properties
    assert (said.priority if said.HasField("priority") else None) == priority
    assert dict(made.user_properties) == {"colour": "blue"}


@pytest.mark.parametrize(
    ("properties", "seconds"),
    [
        ({"TIMER_DELIVER_MS": "1795248800000"}, 1795248800),
        ({"TIMER_DELAY_SEC": "30", "TIMER_OUT_MS": "1795248791000"}, 1795248791),
        ({"TIMER_DELIVER_MS": "1795248800000", "TIMER_OUT_MS": "1795248801000"}, 1795248800),
        ({"TIMER_DELIVER_MS": "soon"}, None),
        ({"TIMER_DELIVER_MS": str(2**63 - 1)}, None),
        ({"DELAY": "3"}, None),
    ],
)
def test_when_delayed_messages_were_due(properties: dict[str, str], seconds: int | None) -> None:
    said = message_of(stored(properties), TOPIC, HANDLE).system_properties
    assert (said.delivery_timestamp.seconds if said.HasField("delivery_timestamp") else None) == seconds


@pytest.mark.parametrize(("times", "attempt"), [(0, 1), (16, 17), (-5, 1), (2**31 - 1, 2**31 - 1)])
def test_attempts_count_from_one(times: int, attempt: int) -> None:
    made = message_of(stored(reconsume_times=times), TOPIC, HANDLE)
    assert made.system_properties.delivery_attempt == attempt


def test_dead_letters_say_where_they_come_from() -> None:
    both = {"DLQ_ORIGIN_TOPIC": "orders", "DLQ_ORIGIN_MESSAGE_ID": "0AFF"}
    said = message_of(stored(both), TOPIC, HANDLE).system_properties
    assert said.dead_letter_queue == m.DeadLetterQueue(topic="orders", message_id="0AFF")
    one = message_of(stored({"DLQ_ORIGIN_TOPIC": "orders"}), TOPIC, HANDLE)
    assert not one.system_properties.HasField("dead_letter_queue")
    assert not one.user_properties


def test_dead_letters_of_our_brokers_say_it_as_all_that_comes_again() -> None:
    message = stored({"RETRY_TOPIC": "orders", "UNIQ_KEY": "01AABB"})
    assert not message_of(message, TOPIC, HANDLE).system_properties.HasField("dead_letter_queue")
    message.topic = "%DLQ%g"
    said = message_of(message, TOPIC, HANDLE).system_properties
    assert said.dead_letter_queue == m.DeadLetterQueue(topic="orders", message_id="01AABB")


def test_a_birth_in_no_year_that_clients_know_is_told_as_1970() -> None:
    said = message_of(stored(born_timestamp=2**63 - 1), TOPIC, HANDLE).system_properties
    assert said.HasField("born_timestamp")
    assert said.born_timestamp == m.Timestamp()


@pytest.mark.parametrize("kind", [0, SysFlag.COMPRESSION_ZLIB])
def test_packed_bodies_are_unpacked(kind: int) -> None:
    plain = b"all work and no play " * 500
    made = message_of(stored(body=zlib.compress(plain), sys_flag=SysFlag.COMPRESSED | kind), TOPIC, HANDLE)
    assert made.body == plain
    assert made.system_properties.body_encoding == m.Encoding.IDENTITY
    assert made.system_properties.body_digest.checksum == md5(plain).hexdigest().upper()


@pytest.mark.parametrize(
    ("body", "bytes_max"),
    [(gzip.compress(b"gzip is not zlib", mtime=0), 100), (zlib.compress(bytes(101)), 100)],
)
def test_bodies_that_cannot_be_unpacked_are_named(body: bytes, bytes_max: int) -> None:
    message = stored(body=body, sys_flag=SysFlag.COMPRESSED)
    message.unpacked_bytes_max = bytes_max
    with pytest.raises(BodyUnreadable):
        message_of(message, TOPIC, HANDLE)


names = st.one_of(st.text(), st.sampled_from(sorted(OWN_NAMES)))


@given(
    properties=st.binary(),
    more=st.dictionaries(names, st.text()),
    body=st.binary(),
    times=INT32,
    born_timestamp=INT64,
    queue_id=INT32,
    queue_offset=INT64,
)
def test_whatever_was_stored_can_be_sent(
    properties: bytes,
    more: dict[str, str],
    body: bytes,
    times: int,
    born_timestamp: int,
    queue_id: int,
    queue_offset: int,
) -> None:
    host = encode_host("10.0.0.1:10911")
    raw = properties + b"\x02" + encode_properties(more).encode("utf-8", "surrogatepass")
    message = ReceivedMessage(
        "t", queue_id, queue_offset, 1, 1, born_timestamp, 0, host, host, times, 0, 0, 0, 0, body, raw
    )
    made = m.Message.FromString(message_of(message, TOPIC, HANDLE).SerializeToString())
    assert (made.topic, made.body, made.system_properties.receipt_handle) == (TOPIC, body, HANDLE)
    assert made.system_properties.body_digest.checksum == md5(body).hexdigest().upper()
    expected = {name: value for name, value in message.properties.items() if name not in OWN_NAMES}
    assert dict(made.user_properties) == expected
