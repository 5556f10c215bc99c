import gzip
import random
import zlib

import pytest
from google.protobuf.message import DecodeError
from hypothesis import event, example, given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, status
from mqframe_grpc.rules.routes import MIXED
from mqframe_grpc.rules.send_checks import SendLimits, check_sends
from mqframe_grpc.rules.sends import (
    SendDraft,
    check_type,
    consistent_hash,
    draft,
    message_type,
    queue_of,
)

from mqframe.core.codes import SysFlag
from mqframe.core.messages.properties import decode_properties, encode_properties

Code, Type, Encoding = m.Code, m.MessageType, m.Encoding
NOW = 1_800_000_000_000
PEER = "10.0.0.9:40000"
LIMITS = SendLimits()


def message(body: bytes = b"x", user=None, **said) -> m.Message:
    system = m.SystemProperties(**({"message_id": "01AB"} | said))
    return m.Message(
        topic=m.Resource(name="orders"), body=body, user_properties=user, system_properties=system
    )


def drafted(sent: m.Message, limits: SendLimits = LIMITS) -> SendDraft:
    return draft(sent, PEER, NOW, limits)


def test_a_message_becomes_properties():
    found = drafted(
        message(
            b"body",
            {"colour": "blue"},
            tag="t",
            keys=["k1", "", "k2"],
            body_encoding=Encoding.IDENTITY,
            message_type=Type.FIFO,
            born_timestamp=m.Timestamp(seconds=1_700_000_000, nanos=5_000_000),
            born_host="host-7",
            delivery_attempt=0,
            message_group="g",
            trace_context="00-ab",
            delivery_timestamp=m.Timestamp(seconds=1_800_000_001),
        )
    )
    assert found == SendDraft(
        "01AB",
        {
            "colour": "blue",
            "TAGS": "t",
            "KEYS": "k1 k2",
            "UNIQ_KEY": "01AB",
            "TIMER_DELIVER_MS": "1800000001000",
            "PGROUP": "orders",
            "__SHARDINGKEY": "g",
            "TRACE_CONTEXT": "00-ab",
            "__BORNHOST": "host-7",
            "BORN_TIMESTAMP": "1700000000005",
        },
        b"body",
        0,
        1_700_000_000_005,
        "g",
    )


def test_what_a_message_does_not_say_is_filled_in():
    assert drafted(message()) == SendDraft(
        "01AB",
        {
            "UNIQ_KEY": "01AB",
            "PGROUP": "orders",
            "__BORNHOST": PEER,
            "BORN_TIMESTAMP": str(NOW),
        },
        b"x",
        0,
        NOW,
        "",
    )


@pytest.mark.parametrize("priority", [0, 7, 2**31 - 1])
def test_a_priority(priority: int):
    assert drafted(message(priority=priority)).properties["_SYS_MSG_PRIORITY_"] == str(priority)
    assert "_SYS_MSG_PRIORITY_" not in drafted(message()).properties


def test_a_half_message():
    sent = message(
        message_type=Type.TRANSACTION, orphaned_transaction_recovery_duration=m.Duration(seconds=30, nanos=9)
    )
    found = drafted(sent)
    assert found.sys_flag == SysFlag.TRANSACTION_PREPARED
    assert found.properties["TRAN_MSG"] == "true"
    assert found.properties["CHECK_IMMUNITY_TIME_IN_SECONDS"] == "30"
    assert "CHECK_IMMUNITY_TIME_IN_SECONDS" not in drafted(message(message_type=Type.TRANSACTION)).properties


@pytest.mark.parametrize("seconds", [-1, 0, 253_402_300_800, 2**63 - 1])
def test_a_birth_at_no_time_was_now(seconds: int):
    found = drafted(message(born_timestamp=m.Timestamp(seconds=seconds)))
    assert (found.born_timestamp, found.properties["BORN_TIMESTAMP"]) == (NOW, str(NOW))


@pytest.mark.parametrize("host", ["", " ", "h\x02TRAN_MSG\x01true", "h" * 256])
def test_a_host_that_is_none_is_the_peers(host: str):
    assert drafted(message(born_host=host)).properties["__BORNHOST"] == PEER


def test_attempts_are_counted_from_none():
    assert "RECONSUME_TIME" not in drafted(message(delivery_attempt=-5)).properties
    assert drafted(message(delivery_attempt=5)).properties["RECONSUME_TIME"] == "5"


def test_a_time_that_was_not_checked_is_refused_all_the_same():
    with pytest.raises(Rejected) as caught:
        drafted(message(delivery_timestamp=m.Timestamp(nanos=-1)))
    assert caught.value.code == Code.ILLEGAL_DELIVERY_TIME


# Packed bodies


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_packed_bodies_are_stored_plain(pack):
    found = drafted(message(pack(b"hello" * 100), body_encoding=Encoding.GZIP))
    assert (found.body, found.sys_flag) == (b"hello" * 100, 0)


def test_a_body_may_unpack_to_the_limit_and_no_further():
    limits = SendLimits(body_bytes_max=1000)
    assert drafted(message(gzip.compress(bytes(1000)), body_encoding=Encoding.GZIP), limits).body == bytes(
        1000
    )
    with pytest.raises(Rejected, match="unpacks to more than 1000 bytes") as caught:
        drafted(message(gzip.compress(bytes(1001)), body_encoding=Encoding.GZIP), limits)
    assert caught.value.code == Code.MESSAGE_BODY_TOO_LARGE


PACKED = gzip.compress(b"hello", mtime=0)


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"plain", Code.MESSAGE_CORRUPTED, "incorrect header check"),
        (PACKED[:-1], Code.MESSAGE_CORRUPTED, "cut short"),
        (PACKED[:-8] + bytes(8), Code.MESSAGE_CORRUPTED, "incorrect data check"),
        (PACKED + PACKED, Code.MESSAGE_CORRUPTED, f"{len(PACKED)} bytes stand behind its end"),
        (gzip.compress(b"", mtime=0), Code.MESSAGE_BODY_EMPTY, "empty"),
        (gzip.compress(bytes(64 << 20)), Code.MESSAGE_BODY_TOO_LARGE, "more than 4194304 bytes"),
    ],
)
def test_packed_bodies_that_are_none_are_refused(body: bytes, code: m.Code, text: str):
    with pytest.raises(Rejected, match=text) as caught:
        drafted(message(body, body_encoding=Encoding.GZIP))
    assert caught.value.code == code


def test_an_unknown_encoding_is_refused():
    with pytest.raises(Rejected, match="body encoding 77 is not known") as caught:
        drafted(message(body_encoding=77))
    assert caught.value.code == Code.MESSAGE_CORRUPTED


# Types


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, Type.NORMAL),
        ({"TRAN_MSG": "false"}, Type.NORMAL),
        ({"TIMER_OUT_MS": "1"}, Type.NORMAL),
        ({"__SHARDINGKEY": "g"}, Type.FIFO),
        ({"__SHARDINGKEY": "g", "DELAY": "3"}, Type.DELAY),
        ({"TIMER_DELIVER_MS": "1"}, Type.DELAY),
        ({"TIMER_DELAY_SEC": "1"}, Type.DELAY),
        ({"TIMER_DELAY_MS": "1"}, Type.DELAY),
        ({"TRAN_MSG": "true", "__SHARDINGKEY": "g", "TIMER_DELIVER_MS": "1"}, Type.TRANSACTION),
        ({"_SYS_MSG_PRIORITY_": "0"}, Type.PRIORITY),
        ({"_SYS_MSG_PRIORITY_": "0", "__SHARDINGKEY": "g"}, Type.FIFO),
        ({"_SYS_MSG_PRIORITY_": "0", "DELAY": "3"}, Type.DELAY),
    ],
)
def test_properties_say_the_type(properties, expected):
    assert message_type(properties) == expected


@pytest.mark.parametrize(
    ("properties", "topic", "kind"),
    [
        ({}, "t", Type.NORMAL),
        ({"__SHARDINGKEY": "g"}, "t", Type.FIFO),
        ({"__SHARDINGKEY": "g"}, "t", MIXED),
        ({"__SHARDINGKEY": "g"}, "%RETRY%g", Type.NORMAL),
        ({"__SHARDINGKEY": "g"}, "%DLQ%g", None),
        ({"_SYS_MSG_PRIORITY_": "0"}, "t", Type.PRIORITY),
    ],
)
def test_a_topic_takes_messages_of_its_type(properties, topic, kind):
    check_type(properties, topic, kind)


@pytest.mark.parametrize(
    ("kind", "code", "text"),
    [
        (
            Type.NORMAL,
            Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            "of type NORMAL, and this one is of type FIFO",
        ),
        (Type.MESSAGE_TYPE_UNSPECIFIED, Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, "of type UNSPECIFIED,"),
        (None, Code.TOPIC_NOT_FOUND, "topic t does not exist"),
    ],
)
def test_a_topic_takes_no_other_messages(kind, code, text):
    with pytest.raises(Rejected, match=text) as caught:
        check_type({"__SHARDINGKEY": "g"}, "t", kind)
    assert caught.value.code == code


# Queues

# Of Guava 32.0.1: Hashing.consistentHash(group.hashCode(), n).
BUCKETS = (1, 2, 4, 8, 16, 128, 1024, 65_536, 2_147_483_647)
CHOSEN = {
    "g": (0, 1, 1, 1, 12, 68, 223, 39_498, 1_707_792_495),
    "order-4711": (0, 0, 3, 3, 3, 20, 400, 11_473, 984_861_297),
    "": (0, 0, 0, 0, 0, 0, 0, 0, 0),
    "user:42": (0, 1, 1, 7, 7, 46, 815, 54_467, 156_991_090),
    "MessageGroup0": (0, 1, 2, 5, 12, 104, 150, 37_194, 521_373_301),
    "ä": (0, 0, 2, 4, 14, 96, 346, 15_200, 1_662_281_483),
    "订单": (0, 1, 1, 7, 7, 50, 50, 32_997, 1_689_530_185),
    "😀 smile": (0, 0, 0, 6, 6, 19, 877, 3253, 201_301_694),
    "polygenelubricants": (0, 1, 2, 2, 2, 58, 185, 39_408, 665_541_240),  # hash code -2^31
    "zzzzzz": (0, 1, 3, 3, 14, 64, 901, 60_949, 1_228_422_534),
}


@pytest.mark.parametrize("group", CHOSEN)
def test_a_group_has_the_queue_that_guava_gives_it(group: str):
    assert tuple(queue_of(group, queues) for queues in BUCKETS) == CHOSEN[group]


@pytest.mark.parametrize(
    ("value", "buckets", "expected"),
    [
        # The generator's largest numbers, the first and the second that it gives: Java's int overflows.
        (-1_378_172_617_505_958_997, 8, 0),
        (-1_378_172_617_505_958_997, 1_000_000, 0),
        (2_813_905_556_566_065_010, 8, 1),
        (2_813_905_556_566_065_010, 2_147_483_647, 1),
    ],
)
def test_guavas_overflow_is_kept(value: int, buckets: int, expected: int):
    assert consistent_hash(value, buckets) == expected


@given(st.text(max_size=20), st.integers(1, 1000))
def test_one_more_queue_takes_messages_over_and_moves_no_others(group: str, queues: int):
    before, after = queue_of(group, queues), queue_of(group, queues + 1)
    assert 0 <= before < queues
    assert after in (before, queues)


# Whatever comes

WORDS = st.one_of(
    st.sampled_from(["", " ", "a", "|", "TAGS", "\x01", "TRAN_MSG\x01true\x02", "ä" * 40]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=70),
)
INTS = st.one_of(
    st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 4, 99, 2**31 - 1]), st.integers(-(2**31), 2**31 - 1)
)
LONGS = st.one_of(
    st.sampled_from([-(2**63), -1, 0, 3600, NOW // 1000, NOW, 2**63 - 1]), st.integers(-(2**63), 2**63 - 1)
)
TIMESTAMPS = st.builds(m.Timestamp, seconds=LONGS, nanos=INTS)
DURATIONS = st.builds(m.Duration, seconds=LONGS, nanos=INTS)
BODIES = st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(gzip.compress))
SAID = st.fixed_dictionaries(
    {},
    optional={
        "tag": WORDS,
        "keys": st.lists(WORDS, max_size=3),
        "message_id": st.one_of(st.just("01AB"), WORDS),
        "body_encoding": INTS,
        "message_type": INTS,
        "born_timestamp": TIMESTAMPS,
        "born_host": WORDS,
        "delivery_timestamp": TIMESTAMPS,
        "delivery_attempt": INTS,
        "message_group": WORDS,
        "trace_context": WORDS,
        "orphaned_transaction_recovery_duration": DURATIONS,
        "queue_id": INTS,
        "lite_topic": WORDS,
        "priority": INTS,
    },
).map(lambda said: m.SystemProperties(**said))
SOUND = st.builds(
    m.SystemProperties,
    message_id=st.just("01AB"),
    message_type=INTS,
    born_timestamp=TIMESTAMPS,
    born_host=WORDS,
    delivery_attempt=INTS,
)
SENT = st.builds(
    m.Message,
    topic=st.sampled_from([None, *["t"] * 8, "%", "", "TBW102"]).map(
        lambda name: name if name is None else m.Resource(name=name)
    ),
    user_properties=st.dictionaries(WORDS, WORDS, max_size=3),
    system_properties=st.one_of(st.none(), SAID, SOUND),
    body=BODIES,
)


def taken_or_refused(sent: m.Message) -> None:
    limits = SendLimits(body_bytes_max=30, properties_bytes_max=300, properties_max=2)
    try:
        topic = check_sends([sent], limits, NOW)
        found = draft(sent, PEER, NOW, limits)
        check_type(found.properties, topic, Type.NORMAL)
    except Rejected as problem:
        event(problem.code.name)
        status(problem.code, problem.text)
        return
    event("taken")
    assert 0 < len(found.body) <= 30
    # No text of a sender gets out of its property when they are stored.
    stored = decode_properties(encode_properties(found.properties))
    assert stored == {name: value for name, value in found.properties.items() if name and value}
    assert stored["PGROUP"] == topic
    assert set(sent.user_properties) <= set(found.properties)
    assert found.sys_flag in (0, SysFlag.TRANSACTION_PREPARED)
    assert 0 <= found.born_timestamp < 253_402_300_800_000


@given(SENT)
@example(m.Message())
@example(m.Message(topic=m.Resource(name="t"), body=b"x"))
@example(message())
def test_whatever_is_sent_is_taken_or_refused(sent: m.Message):
    taken_or_refused(sent)


@given(st.integers())
def test_damaged_requests_are_taken_or_refused(seed: int):
    chance = random.Random(seed)
    raw = bytearray(
        message(b"body", {"a": "b"}, tag="t", keys=["k"], message_group="g", trace_context="00")
        .SerializeToString()
    )  # fmt: skip
    for _ in range(chance.randint(1, 4)):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    try:
        sent = m.Message.FromString(bytes(raw))
    except DecodeError:
        return
    taken_or_refused(sent)
