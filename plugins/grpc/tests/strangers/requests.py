"""What strangers ask of a door: requests of every kind, as clients make them, then bent in any field."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any, Final

from fuzz import values
from google.protobuf.descriptor import FieldDescriptor
from mqframe_grpc.door import SERVICE
from mqframe_grpc.proto import messages as m
from strangers.guest import LATER, ORDERED, PLAIN
from strangers.learned import Learned

RPCS: Final = [path.removeprefix(SERVICE) for path in m.METHODS]
TYPED: Final = {"fuzz-fifo": "FIFO", "fuzz-later": "DELAY", "fuzz-half": "TRANSACTION"}
"""Topics of strangers that are of a type, beside those of `values`."""
_SECONDS: Final = (0, 1, -1, 5, 30, 60, 86_400, 10**9, 2**31, -(2**31), 253402300800, -62135596801, 2**63 - 1)
_NANOS: Final = (0, 0, 1, -1, 999_999_999, 10**9, 2**31 - 1, -(2**31))
_RANGES: Final = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_KINDS: Final = {
    "receipt_handle": "handle",
    "message_id": "message",
    "transaction_id": "transaction",
    "recall_handle": "recall",
    "nonce": "nonce",
}
_HARMLESS: Final = ("ReceiveMessage", "PullMessage", "QueryRoute", "GetOffset", "UpdateOffset", "QueryOffset")
"""What may be asked of topics of others, in a group of one's own."""
_OF_DELIVERIES: Final = ("AckMessage", "ChangeInvisibleDuration", "ForwardMessageToDeadLetterQueue")
_DEPTHS: Final = (10, 99, 101, 5_000)


@cache
def bomb(size: int) -> bytes:
    """A gzip that unpacks to so much."""
    return gzip.compress(b"\0" * size, 6)


class RequestMaker:
    """Makes requests. `learned`: what answers to earlier ones said."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._count = 0

    def request(self, rpc: str, chance: Random, now_ms: int) -> bytes:
        """The bytes of a request, whole and without their prefix."""
        odd = chance.choice((0.0, 0.0, 0.05, 0.2, 0.6))
        asked = self._usual(rpc, chance, now_ms)
        if asked is None:
            asked = self._filled(m.METHODS[SERVICE + rpc][0].DESCRIPTOR, "", chance, now_ms, 0.3, 0)
        if odd:
            self._bend(asked, chance, now_ms, odd)
        raw: bytes = asked.SerializeToString()
        return _strange(raw, chance) if values.flip(chance, odd * 0.3) else raw

    # As clients make them

    def _usual(self, rpc: str, chance: Random, now_ms: int) -> Any:
        def handle() -> str:
            return self._learned.some(chance, "handle", 0.1)

        def message_id() -> str:
            return self._learned.some(chance, "message", 0.1)

        topic = m.Resource(name=chance.choice((*values.TOPICS, *values.TOPICS, *TYPED)))
        group = m.Resource(name=chance.choice((values.GROUPS[0], *values.GROUPS)))
        if rpc in _HARMLESS and values.flip(chance, 0.15):
            topic = m.Resource(name=chance.choice((PLAIN, ORDERED, LATER)))
        if rpc in _OF_DELIVERIES and self._learned.deliveries and values.flip(chance, 0.7):
            return self._of_delivery(rpc, group, chance)
        broker = m.Broker(name="broker-a")
        queue = m.MessageQueue(topic=topic, broker=broker, id=chance.choice((-1, 0, 1)))
        every = m.FilterExpression(type=m.FilterType.TAG, expression="*")
        seconds = m.Duration(seconds=chance.choice((5, 10, 20)))
        makers: dict[str, Callable[[], Any]] = {
            "QueryRoute": lambda: m.QueryRouteRequest(topic=topic),
            "QueryAssignment": lambda: m.QueryAssignmentRequest(topic=topic, group=group),
            "SendMessage": lambda: m.SendMessageRequest(messages=self._messages(topic, chance, now_ms)),
            "RecallMessage": lambda: m.RecallMessageRequest(
                topic=topic, recall_handle=self._learned.some(chance, "recall", 0.1)
            ),
            "ReceiveMessage": lambda: m.ReceiveMessageRequest(
                group=group,
                message_queue=queue,
                filter_expression=every,
                batch_size=chance.choice((1, 4, 32)),
                invisible_duration=m.Duration(seconds=chance.choice((10, 30, 600))),
                auto_renew=values.flip(chance, 0.5),
                long_polling_timeout=seconds,
            ),
            "AckMessage": lambda: m.AckMessageRequest(
                group=group,
                topic=topic,
                entries=[
                    m.AckMessageEntry(message_id=message_id(), receipt_handle=handle())
                    for _ in range(chance.choice((1, 1, 2, 5)))
                ],
            ),
            "ChangeInvisibleDuration": lambda: m.ChangeInvisibleDurationRequest(
                group=group,
                topic=topic,
                receipt_handle=handle(),
                invisible_duration=m.Duration(seconds=chance.choice((0, 1, 30))),
                message_id=message_id(),
            ),
            "ForwardMessageToDeadLetterQueue": lambda: m.ForwardMessageToDeadLetterQueueRequest(
                group=group, topic=topic, receipt_handle=handle(), message_id=message_id()
            ),
            "EndTransaction": lambda: m.EndTransactionRequest(
                topic=topic,
                message_id=message_id(),
                transaction_id=self._learned.some(chance, "transaction", 0.1),
                resolution=chance.choice((1, 2)),
                source=chance.choice((1, 2)),
            ),
            "Heartbeat": lambda: m.HeartbeatRequest(group=group, client_type=chance.choice((1, 2, 3, 4))),
            "NotifyClientTermination": lambda: m.NotifyClientTerminationRequest(group=group),
            "PullMessage": lambda: m.PullMessageRequest(
                group=group,
                message_queue=queue,
                offset=chance.choice((0, 1, 10)),
                batch_size=chance.choice((1, 32)),
                filter_expression=every,
                long_polling_timeout=seconds,
            ),
            "UpdateOffset": lambda: m.UpdateOffsetRequest(
                group=group, message_queue=queue, offset=chance.choice((0, 1, 5))
            ),
            "GetOffset": lambda: m.GetOffsetRequest(group=group, message_queue=queue),
            "QueryOffset": lambda: m.QueryOffsetRequest(
                message_queue=queue, query_offset_policy=chance.choice((0, 1, 2))
            ),
            "Telemetry": lambda: self._command(topic, group, chance),
        }
        return makers[rpc]() if rpc in makers else None

    def _of_delivery(self, rpc: str, group: m.Resource, chance: Random) -> Any:
        """What is said of a message that was received."""
        known = self._learned.deliveries
        if self._learned.others and values.flip(chance, 0.2):
            known = self._learned.others
        topic, message_id, handle = chance.choice(known)
        given = {"message_id": message_id, "receipt_handle": handle}
        if rpc == "AckMessage":
            entries = [m.AckMessageEntry(**given)] * chance.choice((1, 1, 2))
            return m.AckMessageRequest(group=group, topic=m.Resource(name=topic), entries=entries)
        asked: Any = m.METHODS[SERVICE + rpc][0](group=group, topic=m.Resource(name=topic), **given)
        if rpc == "ChangeInvisibleDuration":
            asked.invisible_duration.seconds = chance.choice((0, 1, 30))
        return asked

    def _messages(self, topic: m.Resource, chance: Random, now_ms: int) -> list[Any]:
        return [self._message(topic, chance, now_ms) for _ in range(chance.choice((1, 1, 1, 3)))]

    def _message(self, topic: m.Resource, chance: Random, now_ms: int) -> Any:
        self._count += 1
        said = m.SystemProperties(message_id=f"01{self._count:032X}", message_type=m.MessageType.NORMAL)
        if values.flip(chance, 0.1):
            said.message_id = self._learned.some(chance, "message", 0.0)
        match TYPED.get(topic.name):
            case "FIFO":
                said.message_group = chance.choice("ab")
            case "DELAY":
                said.delivery_timestamp.seconds = now_ms // 1000 + chance.choice((1, 5, 60))
            case "TRANSACTION":
                said.message_type = m.MessageType.TRANSACTION
        body = b"body %d" % self._count
        if values.flip(chance, 0.2):
            said.body_encoding, body = m.Encoding.GZIP, gzip.compress(body, 1)
        return m.Message(topic=topic, system_properties=said, body=body)

    def _command(self, topic: m.Resource, group: m.Resource, chance: Random) -> Any:
        nonce = self._learned.some(chance, "nonce", 0.2)
        match chance.randrange(6):
            case 0:
                return m.TelemetryCommand(thread_stack_trace=m.ThreadStackTrace(nonce=nonce))
            case 1:
                return m.TelemetryCommand(verify_message_result=m.VerifyMessageResult(nonce=nonce))
        timeout = m.Duration(seconds=3)
        if values.flip(chance, 0.5):
            publishing = m.Publishing(topics=[topic])
            said = m.Settings(
                client_type=m.ClientType.PRODUCER, request_timeout=timeout, publishing=publishing
            )
        else:
            entry = m.SubscriptionEntry(
                topic=topic, expression=m.FilterExpression(type=m.FilterType.TAG, expression="*")
            )
            said = m.Settings(
                client_type=chance.choice((m.ClientType.PUSH_CONSUMER, m.ClientType.SIMPLE_CONSUMER)),
                request_timeout=timeout,
                subscription=m.Subscription(group=group, subscriptions=[entry]),
            )
        return m.TelemetryCommand(settings=said)

    # With anything in them

    def _bend(self, asked: Any, chance: Random, now_ms: int, odd: float) -> None:
        """Change fields of `asked`, each by a chance of `odd`, at any depth."""
        for field in asked.DESCRIPTOR.fields:
            if values.flip(chance, odd):
                self._put(asked, field, chance, now_ms, odd, 0)
            elif values.flip(chance, odd * 0.2):
                asked.ClearField(field.name)
            elif field.message_type is not None and not _is_map(field):
                value = getattr(asked, field.name)
                if field.is_repeated:
                    for each in value:
                        self._bend(each, chance, now_ms, odd)
                elif asked.HasField(field.name):
                    self._bend(value, chance, now_ms, odd)

    def _filled(self, kind: Any, name: str, chance: Random, now_ms: int, odd: float, depth: int) -> Any:
        found = m.__dict__[kind.name]()
        for field in kind.fields:
            if values.flip(chance, 0.7 if depth < 3 else 0.3):
                self._put(found, field, chance, now_ms, odd, depth)
        if kind.name == "Resource":
            maker = values.group if "group" in name else values.topic
            found.name = maker(chance, odd).encode("utf-8", "replace").decode()
        return found

    def _put(self, into: Any, field: Any, chance: Random, now_ms: int, odd: float, depth: int) -> None:
        name = field.name
        if _is_map(field):
            entries = getattr(into, name)
            for _ in range(chance.choice((1, 3, 130))):
                entries[_text(values.text(chance))] = _text(values.text(chance))
            return
        many = chance.choice((0, 1, 2, 40)) if field.is_repeated else 1
        made = [self._value(field, chance, now_ms, odd, depth) for _ in range(min(many, 40 // 4**depth or 1))]
        if field.is_repeated:
            del getattr(into, name)[:]
            getattr(into, name).extend(made)
        elif field.message_type is not None:
            getattr(into, name).CopyFrom(made[0])
        else:
            setattr(into, name, made[0])

    def _value(self, field: Any, chance: Random, now_ms: int, odd: float, depth: int) -> Any:
        name, kind = field.name, field.cpp_type
        if field.message_type is not None:
            if field.message_type.name in ("Timestamp", "Duration"):
                soon = now_ms // 1000 if field.message_type.name == "Timestamp" else 0
                seconds = chance.choice((*_SECONDS, soon, soon + 5, soon - 5))
                return m.__dict__[field.message_type.name](seconds=seconds, nanos=chance.choice(_NANOS))
            return self._filled(field.message_type, name, chance, now_ms, odd, depth + 1)
        if kind in _RANGES:
            low, high = _RANGES[kind]
            return max(low, min(high, values.number(chance)))
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return chance.choice((0, 1, 2, 3, 4, 5, 6, 7, -1, 99, 2**31 - 1, -(2**31)))
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return values.flip(chance, 0.5)
        if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
            return chance.choice((0.0, -1.0, 2.0, 1e30, float("inf"), float("nan")))
        if field.type == FieldDescriptor.TYPE_BYTES:
            return chance.choice(
                (values.some_bytes(chance), bomb(1 << 20), bomb(16 << 20)[: chance.choice((None, 50))])
            )
        return _text(self._text(name, chance, odd))

    def _text(self, name: str, chance: Random, odd: float) -> str:
        if name in _KINDS:
            return self._learned.some(chance, _KINDS[name], odd)
        if name == "expression":
            return chance.choice(values.EXPRESSIONS)
        if name == "name":
            return chance.choice(("broker-a", "broker-b", "", values.text(chance)))
        if name == "attempt_id":
            return chance.choice(("1", "2", values.text(chance)))
        return values.text(chance)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _strange(raw: bytes, chance: Random) -> bytes:
    """`raw` with what protobuf lets stand, or does not: unknown fields, groups, depths, cuts, wrong bits."""
    depth, at = chance.choice(_DEPTHS), chance.randrange(len(raw) + 1)
    nested = b""
    for _ in range(min(depth, 200)):
        nested = b"\x0a" + _varint(len(nested)) + nested
    return chance.choice(
        (
            raw + b"\x0b" * depth + b"\x0c" * depth,
            raw + nested,
            nested + raw,
            raw + _varint(1000 << 3 | 2) + _varint(3) + b"abc",
            raw + _varint(1000 << 3) + b"\xff" * 9 + b"\x01",
            raw[:at],
            raw[:at] + chance.randbytes(1) + raw[at + 1 :],
            raw[:at] + raw[at // 2 :],
            raw + raw,
            b"\xff" * 20,
            raw + b"\x00",
            raw + _varint(1 << 3 | 2) + _varint(2**31),
        )
    )


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
