"""Traces: who sent and who consumed a message, in the text form of the trace topic's messages.

A record is a line of fields, ended by 0x02, its fields ended by 0x01; nothing is written as "null". Several
records make the body of one message, whose keys are the ids and keys of all messages that they are about.
Source: TraceDataEncoder.java, AsyncTraceDispatcher.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, IntEnum
from typing import Final

import msgspec

FIELD_END: Final = "\x01"
RECORD_END: Final = "\x02"
NOTHING: Final = "null"
BODY_BYTES_MAX: Final = 128_000
"""A trace message is closed once its body is this long."""
KEYS_BYTES_MAX: Final = 24_000
"""And once its keys are, since properties have a limit of their own."""


class TraceKind(Enum):
    """What happened to a message (TraceType.java)."""

    PUB = "Pub"
    RECALL = "Recall"
    SUB_BEFORE = "SubBefore"
    SUB_AFTER = "SubAfter"
    END_TRANSACTION = "EndTransaction"


class TraceMessageType(IntEnum):
    """What kind of message was sent (the order in MessageType.java)."""

    NORMAL = 0
    TRANSACTION_HALF = 1
    TRANSACTION_COMMIT = 2
    DELAY = 3
    ORDER = 4


class ConsumeCode(IntEnum):
    """How a listener ended (the order in ConsumeReturnType.java)."""

    SUCCESS = 0
    TIMEOUT = 1
    EXCEPTION = 2
    NULL = 3
    FAILED = 4


class TraceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to one message. Which fields mean something depends on `kind`.

    `time_ms`: when it began, ms since 1970 (0: not told); `cost_ms`: how long it took; `request_id`: the same
    before and after one call of a listener; `client_host`: where the record came from, known to readers.
    """

    kind: TraceKind
    message_id: str
    time_ms: int = 0
    region: str = ""
    group: str = ""
    topic: str = ""
    tags: str = ""
    keys: str = ""
    store_host: str = ""
    body_length: int = 0
    cost_ms: int = 0
    message_type: int = TraceMessageType.NORMAL
    offset_message_id: str = ""
    success: bool = True
    request_id: str = ""
    retry_times: int = 0
    consume_code: int = ConsumeCode.SUCCESS
    transaction_id: str = ""
    transaction_state: str = ""
    from_check: bool = False
    client_host: str = ""


_FORMS: Final[dict[TraceKind, tuple[str, ...]]] = {
    TraceKind.PUB: tuple(
        "time_ms region group topic message_id tags keys store_host body_length cost_ms message_type"
        " offset_message_id success".split()
    ),
    TraceKind.RECALL: ("time_ms", "region", "group", "topic", "message_id", "success"),
    TraceKind.SUB_BEFORE: (
        "time_ms", "region", "group", "request_id", "message_id", "retry_times", "keys",
    ),
    TraceKind.SUB_AFTER: (
        "request_id", "message_id", "cost_ms", "success", "keys", "consume_code", "time_ms", "group",
    ),
    TraceKind.END_TRANSACTION: tuple(
        "time_ms region group topic message_id tags keys store_host message_type transaction_id"
        " transaction_state from_check".split()
    ),
}  # fmt: skip
"""The fields of each kind, in their order. Later versions append; readers stop where a record ends."""
_READ: Final[dict[str, Callable[[str], object]]] = {
    **dict.fromkeys(
        ("time_ms", "body_length", "cost_ms", "message_type", "retry_times", "consume_code"), int
    ),
    **dict.fromkeys(("success", "from_check"), lambda text: text.lower() == "true"),
}
_LEAST: Final = {TraceKind.SUB_AFTER: 5, TraceKind.PUB: 12}
"""Older versions wrote fewer fields of these kinds."""


def encode_record(record: TraceRecord) -> str:
    """`record` as it stands in a trace message."""
    fields = [record.kind.value, *(_text(getattr(record, name)) for name in _FORMS[record.kind])]
    return FIELD_END.join(fields) + RECORD_END


def decode_records(text: str, client_host: str = "") -> list[TraceRecord]:
    """The records in a trace message's body. One that cannot be read does not hide the others."""
    found = (_decode(line, client_host) for line in text.split(RECORD_END) if line)
    return [record for record in found if record is not None]


def keys_of(record: TraceRecord) -> list[str]:
    """Keys by which a trace message with `record` is found."""
    return [record.message_id, *record.keys.split()]


def pack(records: Iterable[TraceRecord]) -> Iterator[tuple[str, list[str]]]:
    """Bodies and keys of as few messages as the limits allow, in order."""
    body: list[str] = []
    keys: dict[str, None] = {}
    body_bytes = key_bytes = 0
    for record in records:
        text = encode_record(record)
        size, new = len(text.encode()), [key for key in keys_of(record) if key not in keys]
        more = sum(len(key.encode()) + 1 for key in new)
        if body and (body_bytes + size > BODY_BYTES_MAX or key_bytes + more > KEYS_BYTES_MAX):
            yield "".join(body), list(keys)
            body, keys, body_bytes, key_bytes = [], {}, 0, 0
            new = keys_of(record)
            more = sum(len(key.encode()) + 1 for key in new)
        body.append(text)
        keys.update(dict.fromkeys(new))
        body_bytes += size
        key_bytes += more
    if body:
        yield "".join(body), list(keys)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(int(value))
    text = str(value).replace(FIELD_END, " ").replace(RECORD_END, " ")
    return text or NOTHING


def _decode(line: str, client_host: str) -> TraceRecord | None:
    kind_name, *values = line.split(FIELD_END)
    try:
        kind = TraceKind(kind_name)
        names = _FORMS[kind]
        if kind is TraceKind.PUB and len(values) == _LEAST[kind]:
            names = (*names[:-2], names[-1])  # before there was an offset message id
        if len(values) < _LEAST.get(kind, len(names)):
            return None
        fields = {
            name: _READ.get(name, str)("" if value == NOTHING else value)
            for name, value in zip(names, values, strict=False)
        }
        return msgspec.convert({**fields, "kind": kind, "client_host": client_host}, TraceRecord)
    except (ValueError, msgspec.ValidationError):
        return None
