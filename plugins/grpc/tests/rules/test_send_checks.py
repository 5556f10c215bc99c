from collections.abc import Callable

import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.send_checks import SendLimits, check_sends, delivery_ms, recovery_seconds

Code = m.Code
NOW = 1_800_000_000_000
LIMITS = SendLimits()
MIB = 1024 * 1024


def message(topic: str = "orders", body: bytes = b"x", user=None, **said) -> m.Message:
    system = m.SystemProperties(**({"message_id": "01AB"} | said))
    return m.Message(topic=m.Resource(name=topic), body=body, user_properties=user, system_properties=system)


def at(milliseconds: int) -> m.Timestamp:
    return m.Timestamp(seconds=milliseconds // 1000, nanos=milliseconds % 1000 * 1_000_000)


def transaction(**duration: int) -> m.Message:
    return message(
        message_type=m.MessageType.TRANSACTION, orphaned_transaction_recovery_duration=m.Duration(**duration)
    )


def refusal(call: Callable[[], object]) -> tuple[m.Code, str]:
    with pytest.raises(Rejected) as caught:
        call()
    return caught.value.code, caught.value.text


GOOD = {
    "plain": message(),
    "the largest body": message(body=b"x" * 4 * MIB),
    "as many properties as may be": message(user={str(number): "v" for number in range(128)}),
    "as large properties as may be": message(user={"n": "v" * (16_384 - 4)}, tag="t", keys=["k1"]),
    "empty words, which say nothing": message(
        tag="", keys=["", "k"], message_group="", user={"a": "", "": "b"}
    ),
    "a longer message group, by one byte": message(message_group="ä" * 31 + "b"),
    "delivery in a day": message(delivery_timestamp=at(NOW + 86_400_000)),
    "delivery in the past": message(delivery_timestamp=at(0)),
    "a check-back in an hour": transaction(seconds=3600),
    "a check-back that is not looked at": message(
        orphaned_transaction_recovery_duration=m.Duration(seconds=9999)
    ),
    "words of all languages": message(user={"número": "п я т ь"}, tag="五", keys=["a b"], message_id="六 7"),
    "a type that nobody knows": message(message_type=99),
    "a retry topic": message("%RETRY%g"),
}


@pytest.mark.parametrize("sent", GOOD.values(), ids=GOOD)
def test_what_may_be_sent(sent: m.Message):
    assert check_sends([sent, sent], LIMITS, NOW) == sent.topic.name


BAD = {
    "no topic": (m.Message(body=b"x"), Code.ILLEGAL_TOPIC, "topic name is empty"),
    "a topic of the system": (message("TBW102"), Code.ILLEGAL_TOPIC, "TBW102 is the system's own"),
    "no body": (message(body=b""), Code.MESSAGE_BODY_EMPTY, "it takes a byte at least"),
    "a body too large": (
        message(body=b"x" * (4 * MIB + 1)),
        Code.MESSAGE_BODY_TOO_LARGE,
        "has 4194305 bytes, at most 4194304",
    ),
    "too many properties": (
        message(user={str(number): "v" for number in range(129)}),
        Code.MESSAGE_PROPERTIES_TOO_LARGE,
        "129 properties, at most 128",
    ),
    "a reserved property": (message(user={"TAGS": "v"}), Code.ILLEGAL_MESSAGE_PROPERTY_KEY, "property TAGS"),
    "a property that orders": (
        message(user={"__SHARDINGKEY": "v"}),
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        "property __SHARDINGKEY belongs to the system",
    ),
    "a property that ranks": (
        message(user={"_SYS_MSG_PRIORITY_": "3"}),
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        "property _SYS_MSG_PRIORITY_ belongs to the system",
    ),
    "a priority below all": (message(priority=-1), Code.BAD_REQUEST, "priority is -1; it may be 0 or more"),
    "control in a name": (
        message(user={"a\x01TAGS": "v"}),
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        r"name of property 'a\x01TAGS'",
    ),
    "control in a value": (
        message(user={"a": "v\x9f"}),
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        r"value 'v\x9f' of property 'a'",
    ),
    "a blank tag": (message(tag=" "), Code.ILLEGAL_MESSAGE_TAG, "tag ' ' is blank"),
    "two tags": (message(tag="a||b"), Code.ILLEGAL_MESSAGE_TAG, "separates tags"),
    "control in a tag": (message(tag="a\t"), Code.ILLEGAL_MESSAGE_TAG, r"tag 'a\t' holds"),
    "a blank key": (message(keys=["k", "\u3000"]), Code.ILLEGAL_MESSAGE_KEY, "is blank"),
    "control in a key": (message(keys=["k\x7f"]), Code.ILLEGAL_MESSAGE_KEY, r"key 'k\x7f' holds"),
    "too many bytes": (
        message(user={"n": "ä" * 8191}, tag="t", keys=["k"]),
        Code.MESSAGE_PROPERTIES_TOO_LARGE,
        "properties, tag and keys have 16385 bytes, at most 16384",
    ),
    "too many keys": (message(keys=[""] * 16_385), Code.MESSAGE_PROPERTIES_TOO_LARGE, "16385 keys"),
    "no message id": (message(message_id=""), Code.ILLEGAL_MESSAGE_ID, "no message id"),
    "a blank message id": (message(message_id=" "), Code.ILLEGAL_MESSAGE_ID, "blank"),
    "control in a message id": (message(message_id="1\x02"), Code.ILLEGAL_MESSAGE_ID, "control"),
    "nothing but topic and body": (
        m.Message(topic=m.Resource(name="orders"), body=b"x"),
        Code.ILLEGAL_MESSAGE_ID,
        "no message id",
    ),
    "a check-back too late": (
        transaction(seconds=3601),
        Code.BAD_REQUEST,
        "is 3601 s; it can be from 0 to 3600 s",
    ),
    "a check-back before": (transaction(seconds=-1), Code.BAD_REQUEST, "is -1 s"),
    "a check-back at no time": (transaction(nanos=-1), Code.BAD_REQUEST, "duration"),
    "a delivery too late": (
        message(delivery_timestamp=at(NOW + 86_400_001)),
        Code.ILLEGAL_DELIVERY_TIME,
        "in 86400001 ms is further away than 86400000 ms",
    ),
    "a delivery before all time": (
        message(delivery_timestamp=m.Timestamp(seconds=-1)),
        Code.ILLEGAL_DELIVERY_TIME,
        "of -1 s and 0 ns is no time",
    ),
    "a delivery after all time": (
        message(delivery_timestamp=m.Timestamp(seconds=2**63 - 1)),
        Code.ILLEGAL_DELIVERY_TIME,
        "no time",
    ),
    "a delivery at no time": (
        message(delivery_timestamp=m.Timestamp(seconds=1, nanos=1_000_000_000)),
        Code.ILLEGAL_DELIVERY_TIME,
        "no time",
    ),
    "a blank message group": (message(message_group=" "), Code.ILLEGAL_MESSAGE_GROUP, "blank"),
    "a long message group": (
        message(message_group="ä" * 32),
        Code.ILLEGAL_MESSAGE_GROUP,
        "has 64 bytes, fewer than 64",
    ),
    "control in a message group": (message(message_group="\x1f1"), Code.ILLEGAL_MESSAGE_GROUP, "control"),
    "control in a trace context": (
        message(trace_context="x\x02TRAN_MSG\x01true"),
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
        "trace context",
    ),
    "a long trace context": (
        message(trace_context="x" * 16_384),
        Code.MESSAGE_PROPERTIES_TOO_LARGE,
        "message id and trace context have 16388 bytes",
    ),
}


@pytest.mark.parametrize(("sent", "code", "text"), BAD.values(), ids=BAD)
def test_what_may_not_be_sent(sent: m.Message, code: m.Code, text: str):
    found, said = refusal(lambda: check_sends([sent], LIMITS, NOW))
    assert found == code
    assert text in said


def test_a_request_holds_messages_of_one_topic():
    assert refusal(lambda: check_sends([], LIMITS, NOW)) == (Code.MESSAGE_CORRUPTED, "no message to send")
    assert refusal(lambda: check_sends([message(), message("other")], LIMITS, NOW)) == (
        Code.MESSAGE_CORRUPTED,
        "messages of one request go to one topic, these to orders and 'other'",
    )


def test_each_message_is_looked_at():
    code, _ = refusal(lambda: check_sends([message(), message(tag="|")], LIMITS, NOW))
    assert code == Code.ILLEGAL_MESSAGE_TAG


def test_the_first_of_several_faults_is_told():
    faults = [
        ({"body": b""}, Code.MESSAGE_BODY_EMPTY),
        ({"user": {"TAGS": ""}}, Code.ILLEGAL_MESSAGE_PROPERTY_KEY),
        ({"tag": "|"}, Code.ILLEGAL_MESSAGE_TAG),
        ({"keys": [" "]}, Code.ILLEGAL_MESSAGE_KEY),
        ({"message_id": ""}, Code.ILLEGAL_MESSAGE_ID),
        (
            {
                "message_type": m.MessageType.TRANSACTION,
                "orphaned_transaction_recovery_duration": m.Duration(seconds=-1),
            },
            Code.BAD_REQUEST,
        ),
        ({"delivery_timestamp": m.Timestamp(nanos=-1)}, Code.ILLEGAL_DELIVERY_TIME),
        ({"message_group": " "}, Code.ILLEGAL_MESSAGE_GROUP),
    ]
    for number, (_, expected) in enumerate(faults):
        together = {name: value for fault, _ in faults[number:] for name, value in fault.items()}
        sent = message(**together)
        assert refusal(lambda sent=sent: check_sends([sent], LIMITS, NOW))[0] == expected


def test_limits_are_those_of_the_settings():
    low = SendLimits(
        body_bytes_max=1,
        properties_bytes_max=8,
        properties_max=1,
        group_bytes_max=2,
        delay_max_ms=10,
        recovery_max_ms=2000,
    )
    assert check_sends([message(user={"a": "b"}, message_group="g")], low, NOW) == "orders"
    for sent in (
        message(body=b"xy"),
        message(user={"a": "b", "c": "d"}),
        message(user={"a": "b" * 8}),
        message(message_group="gg"),
        message(delivery_timestamp=at(NOW + 11)),
        transaction(seconds=3),
    ):
        refusal(lambda sent=sent: check_sends([sent], low, NOW))


def test_times_are_read_in_milliseconds():
    assert delivery_ms(message().system_properties) is None
    assert delivery_ms(message(delivery_timestamp=at(NOW + 5)).system_properties) == NOW + 5
    assert recovery_seconds(message().system_properties, LIMITS) is None
    assert recovery_seconds(transaction(seconds=5, nanos=999_999_999).system_properties, LIMITS) == 5
