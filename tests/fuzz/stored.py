"""Messages as they may lie in a store that somebody else wrote, or that a broker once let in."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from fuzz import values
from fuzz.properties import properties_text

from mqframe.core.storage.record import encode_record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
TASK_TOPICS = (
    "SCHEDULE_TOPIC_XXXX",
    "rmq_sys_wheel_timer",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "rmq_sys_REVIVE_LOG_DefaultCluster",
    "%RETRY%fuzz-g",
    "%RETRY%fuzz-g_fuzz-a",
    "%DLQ%fuzz-g",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "DefaultCluster_REPLY_TOPIC",
)
"""Topics whose messages the broker itself reads and acts upon."""


def stored_message(chance: Random, now_ms: int, odd: float) -> dict[str, Any]:
    """The fields of an `Incoming`; body as Latin-1 text, so that it can be written as JSON."""
    topic = chance.choice(TASK_TOPICS) if values.flip(chance, 0.85) else values.topic(chance, 0.3)
    properties = properties_text(chance, odd)
    if topic.startswith("rmq_sys_REVIVE"):
        properties = f"TAGS\x01{chance.choice(('ck', 'ack', 'bAck', 'x'))}\x02" + properties
    elif topic.endswith("OP_HALF_TOPIC"):
        properties = f"TAGS\x01{chance.choice(('d', 'd', 'x'))}\x02" + properties
    elif values.flip(chance, 0.7):
        properties = _placed(chance, now_ms, odd) + properties
    raw = properties.encode("utf-8", "replace")[:32_767]
    return {
        "topic": topic[:127],
        "queue_id": chance.choice((0, 0, 0, 1, 2, 3, 17, -1)) if values.flip(chance, 0.9) else 99,
        "body": _body(topic, chance, now_ms, odd),
        "properties": raw.decode("utf-8", "ignore"),
        "born_timestamp": chance.choice((now_ms, 0, -1, now_ms - 10_000, now_ms + 10_000, 2**63 - 1)),
        "flag": chance.choice((0, -1, 2**31 - 1)),
        "sys_flag": chance.choice((0, 0, 0, 4, 8, 12, 2, 1, 0x301, 0x80)),
        "reconsume_times": chance.choice((0, 0, 1, 16, 17, -1, 2**31 - 1, -(2**31))),
        "prepared_transaction_offset": chance.choice((0, 0, 1, -1, 2**63 - 1)),
    }


def _placed(chance: Random, now_ms: int, odd: float) -> str:
    """Where a message that waits is to go, and when."""
    pairs = {
        "REAL_TOPIC": values.topic(chance, odd),
        "REAL_QID": values.number_text(chance) if values.flip(chance, odd) else chance.choice("0123"),
        "DELAY": values.number_text(chance) if values.flip(chance, odd) else chance.choice(("1", "2", "3")),
        "TIMER_OUT_MS": values.number_text(chance)
        if values.flip(chance, odd)
        else str(now_ms + chance.choice((-1000, 0, 1000, 5000, 3_600_000))),
        "PGROUP": values.group(chance, odd),
    }
    chosen = [name for name in pairs if values.flip(chance, 0.8)]
    return "".join(f"{name}\x01{pairs[name]}\x02" for name in chosen)


def _body(topic: str, chance: Random, now_ms: int, odd: float) -> str:
    if topic.startswith("rmq_sys_REVIVE"):
        return _pop_body(chance, now_ms, odd)
    if topic.endswith("OP_HALF_TOPIC"):
        # Small offsets would end halves of others, as such a record rightly does.
        offsets = [str(chance.choice((10**6, 10**12, 2**63, -1, -(2**63)))) for _ in "123"]
        return chance.choice((",".join(offsets), offsets[0], "", "x", "1,,2", "ü", "1" * 9000, "," * 3000))
    return chance.choice(("", "x", "body", "\x00" * 50, "é" * 100))


def _pop_body(chance: Random, now_ms: int, odd: float) -> str:
    def some(*usual: int) -> int:
        return values.number(chance) if values.flip(chance, odd * 0.5) else chance.choice(usual)

    body: dict[str, Any] = {
        "t": values.topic(chance, odd * 0.5),
        "c": values.group(chance, odd * 0.5),
        "q": some(0, 1),
        "so": some(0, 1, 2),
        "pt": some(now_ms, now_ms - 1000, now_ms - 60_000, 0),
        "it": some(1000, 5000, 60_000),
        "n": some(1, 2, 32),
        "bm": some(0, 1, 3),
        "ro": some(0, 1),
        "d": [some(0, 1, 2) for _ in range(chance.choice((0, 1, 2, 40)))],
        "bn": "broker-a",
        "ao": some(0, 1),
        "aol": [some(0, 1, 2) for _ in range(3)],
        "rp": chance.choice(("1", "x", "999999999999")),
    }
    for name in list(body):
        if values.flip(chance, 0.15):
            body[name] = None if values.flip(chance, 0.5) else "x"
    raw = json.dumps(body)
    return raw[: chance.randrange(len(raw))] if values.flip(chance, odd * 0.3) else raw


def record_bytes(chance: Random, odd: float) -> bytes:
    """One record as requests hand them on, whole or bent."""
    raw = encode_record(
        topic="fuzz-a",
        queue_id=0,
        queue_offset=0,
        physical_offset=0,
        body=b"x",
        properties=properties_text(chance, odd).encode("utf-8", "replace")[:32_767],
        born_timestamp=0,
        born_host=HOST,
        store_timestamp=0,
        store_host=HOST,
    )
    return raw[: chance.randrange(len(raw))] if values.flip(chance, odd) else raw
