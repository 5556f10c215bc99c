"""The text form of message properties: name 0x01 value 0x02, repeated (wire.md §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAME_END: Final = "\x01"
PAIR_END: Final = "\x02"
PROPERTIES_BYTES_MAX: Final = 32767

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
WAIT: Final = "WAIT"
DELAY: Final = "DELAY"
RETRY_TOPIC: Final = "RETRY_TOPIC"
REAL_TOPIC: Final = "REAL_TOPIC"
REAL_QUEUE_ID: Final = "REAL_QID"
TRANSACTION_PREPARED: Final = "TRAN_MSG"
PRODUCER_GROUP: Final = "PGROUP"
TRANSACTION_ID: Final = "__transactionId__"
CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
HALF_BATCH: Final = "HALF_BATCH"
"""On a half message: how many messages its body holds, as a batch. Only brokers of this project make such."""
MIN_OFFSET: Final = "MIN_OFFSET"
MAX_OFFSET: Final = "MAX_OFFSET"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
RECONSUME_TIME: Final = "RECONSUME_TIME"
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
MSG_REGION: Final = "MSG_REGION"
TRACE_ON: Final = "TRACE_ON"
UNIQUE_KEY: Final = "UNIQ_KEY"
CONSUME_START_TIME: Final = "CONSUME_START_TIME"
INSTANCE_ID: Final = "INSTANCE_ID"
BUYER_ID: Final = "BUYER_ID"
"""By whom a message was made, of units. The only name of the system's that applications may set."""
CLUSTER: Final = "CLUSTER"
SHARDING_KEY: Final = "__SHARDINGKEY"
POP_CHECK_POINT: Final = "POP_CK"
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
FIRST_POP_TIME: Final = "1ST_POP_TIME"
INNER_NUM: Final = "INNER_NUM"
CORRELATION_ID: Final = "CORRELATION_ID"
REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
TTL: Final = "TTL"
MESSAGE_TYPE: Final = "MSG_TYPE"
ARRIVE_TIME: Final = "ARRIVE_TIME"
PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"
TIMER_DELETE_KEY: Final = "TIMER_DEL_UNIQKEY"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
IDEMPOTENCE_KEY: Final = "IDEMPOTENCE_KEY"
"""The key that messages share which are one to their application. A name that applications may set."""

RESERVED: Final = frozenset(
    """KEYS TAGS WAIT DELAY RETRY_TOPIC REAL_TOPIC REAL_QID TRAN_MSG PGROUP MIN_OFFSET MAX_OFFSET BUYER_ID
    ORIGIN_MESSAGE_ID TRANSFER_FLAG CORRECTION_FLAG MQ2_FLAG RECONSUME_TIME MAX_RECONSUME_TIMES MSG_REGION
    TRACE_ON UNIQ_KEY EXTEND_UNIQ_INFO CONSUME_START_TIME INNER_NUM INNER_BASE DUP_INFO
    CHECK_IMMUNITY_TIME_IN_SECONDS TRAN_PREPARED_QUEUE_OFFSET __transactionId__ TRANSACTION_CHECK_TIMES
    INSTANCE_ID CORRELATION_ID REPLY_TO_CLIENT TTL ARRIVE_TIME PUSH_REPLY_TIME CLUSTER MSG_TYPE POP_CK
    POP_CK_OFFSET 1ST_POP_TIME __SHARDINGKEY PROPERTY_FORWARD_QUEUE_ID REDIRECT INNER_MULTI_DISPATCH
    INNER_MULTI_QUEUE_OFFSET TRACE_CONTEXT TIMER_DELAY_SEC TIMER_DELAY_MS TIMER_DELIVER_MS TIMER_ENQUEUE_MS
    TIMER_DEQUEUE_MS TIMER_ROLL_TIMES TIMER_OUT_MS TIMER_DEL_UNIQKEY TIMER_DELAY_LEVEL __BORNHOST
    BORN_TIMESTAMP __CRC32# DLQ_ORIGIN_TOPIC DLQ_ORIGIN_MESSAGE_ID""".split()
)
"""Names that applications may not set (source: MessageConst.java)."""


def encode_properties(properties: Mapping[str, str]) -> str:
    """The text form of `properties`, in their order. Pairs with an empty name or value are left out."""
    return "".join([f"{name}\x01{value}\x02" for name, value in properties.items() if name and value])


def plain_text(text: str, characters_max: int) -> str:
    """`text` as it may be the value of a property: in one line, cut off behind `characters_max`."""
    words = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return words if len(words) <= characters_max else words[: characters_max - 1] + "…"


def decode_properties(text: str) -> dict[str, str]:
    """The pairs in `text`; of a name that occurs twice the last value counts, as for every reader."""
    pairs = {}
    for pair in text.split(PAIR_END):
        name, found, value = pair.partition(NAME_END)
        if found and name and value:
            pairs[name] = value
    return pairs


def find_property(text: str, name: str) -> str | None:
    """The value of `name` in `text`, without splitting the rest; `None` when it is not there.

    Of several the last counts, as `decode_properties` has it.
    """
    wanted = f"{name}\x01"
    at = text.rfind(wanted)
    while at >= 0:
        if at == 0 or text[at - 1] == PAIR_END:
            start = at + len(wanted)
            end = text.find(PAIR_END, start)
            value = text[start:] if end < 0 else text[start:end]
            if value:
                return value
        at = text.rfind(wanted, 0, at)
    return None
