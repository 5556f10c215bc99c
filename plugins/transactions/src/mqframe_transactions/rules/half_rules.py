"""What is decided about one half message.

Sources: TransactionalMessageServiceImpl.java, TransactionalMessageBridge.java, EndTransactionProcessor.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC, is_closed_topic, is_queue_place
from mqframe.core.requests.messages import EndTransaction
from mqframe.core.sending.transaction_outcome import TransactionOutcome

CHECK_GROUP: Final = "CID_RMQ_SYS_TRANS"
"""The group under which a broker keeps how far both queues are worked off."""
_DIGITS_MAX: Final = 20
REMOVE_TAG: Final = "d"
"""Tag of the op messages that end halves."""


class Step(Enum):
    """What a check does with an open half.

    ============  =================================================================================
    step          when
    ============  =================================================================================
    DISCARD       asked `times_max` times already, or older than `keep_ms`
    IMMUNE        CHECK_IMMUNITY_TIME_IN_SECONDS is set and not over: left alone, others may be due
    YOUNG         not older than `timeout_ms`: those behind it are younger, so the check ends here
    CHECK         everything else: stored again at the end of the queue, and its producers asked
    ============  =================================================================================
    """

    DISCARD = "discard"
    IMMUNE = "immune"
    YOUNG = "young"
    CHECK = "check"


class CheckLimits(NamedTuple):
    """`timeout_ms`: age of the first check; `times_max`: checks of one half; `keep_ms`: its longest life."""

    timeout_ms: int
    times_max: int
    keep_ms: int


def hold(properties: dict[str, str], topic: str, queue_id: int) -> None:
    """Note in a half's properties where its message goes when it is committed.

    What only a broker may say of a half, its sender does not say: that it is the copy of another one.
    """
    for name in (p.PREPARED_QUEUE_OFFSET, p.CHECK_TIMES):
        properties.pop(name, None)
    unique = properties.get(p.UNIQUE_KEY)
    if unique:
        properties[p.TRANSACTION_ID] = unique
    properties[p.REAL_TOPIC] = topic
    properties[p.REAL_QUEUE_ID] = str(queue_id)


def real_place(properties: Mapping[str, str]) -> tuple[str, int] | None:
    """Topic and queue that a half was sent to; `None` when it does not say, or names what none is sent to."""
    topic, queue_id = properties.get(p.REAL_TOPIC, ""), _number(properties.get(p.REAL_QUEUE_ID, ""), -1)
    return (topic, queue_id) if is_queue_place(topic, queue_id) and not is_closed_topic(topic) else None


def root_of(half: ReceivedMessage) -> int:
    """The queue offset that names the transaction of `half`: its own, or that of the first of its copies.

    A copy lies behind its first: what says otherwise is none.
    """
    own, first = half.queue_offset, half.properties.get(p.PREPARED_QUEUE_OFFSET)
    return own if first is None else min(_number(first, own), own)


def times_checked(properties: Mapping[str, str]) -> int:
    """How often the producers of a half were asked."""
    return max(0, _number(properties.get(p.CHECK_TIMES, ""), 0))


class Age(NamedTuple):
    """How long ago a half was stored, ms. `seen_ms`: how much of that this process saw pass by itself."""

    ms: int
    seen_ms: int


def next_step(half: ReceivedMessage, age: Age, limits: CheckLimits) -> Step:
    """What a check does with the open `half`.

    Ages are the broker's own, not counted from the birth that its producer's clock gave it, and nothing is
    given up for an age that this process did not see pass: a clock that was set ends no transaction.
    """
    if times_checked(half.properties) >= limits.times_max or age.seen_ms > limits.keep_ms:
        return Step.DISCARD
    immunity = half.properties.get(p.CHECK_IMMUNITY_SECONDS)
    if immunity is not None:
        seconds = _number(immunity, -1)
        return (
            Step.IMMUNE if age.ms <= (seconds * 1000 if seconds >= 0 else limits.timeout_ms) else Step.CHECK
        )
    return Step.YOUNG if age.ms <= limits.timeout_ms else Step.CHECK


def copy_properties(half: ReceivedMessage, times: int | None) -> dict[str, str]:
    """Properties of the copy of `half` at the end of the queue; `times`: checks from now on, if changed."""
    copy = dict(half.properties)
    copy[p.PREPARED_QUEUE_OFFSET] = str(root_of(half))
    if times is not None:
        copy[p.CHECK_TIMES] = str(times)
    return copy


def final_properties(half: ReceivedMessage) -> dict[str, str]:
    """Properties of the message that a committed `half` becomes. TRAN_MSG stays: clients look for it."""
    final = dict(half.properties)
    final.pop(p.PREPARED_QUEUE_OFFSET, None)
    return final


def check_end(
    fields: EndTransaction, half: ReceivedMessage | None, age: Age, timeout_ms: int
) -> TransactionOutcome:
    """How the transaction of `half`, of this `age` and found at the request's commit-log offset, is to end.

    Raises `Refusal`: 1 for a number that is no outcome, for an offset at which no half lies, for another
    group's half and for offsets that do not belong together; 604 for an end that is not the answer to a check
    and comes after the time that the half's CHECK_IMMUNITY_TIME_IN_SECONDS gave it (which of a half that
    holds a batch says only when to ask first).
    """
    try:
        outcome = TransactionOutcome(fields.commit_or_rollback)
    except ValueError:
        raise _wrong(
            f"commitOrRollback is {fields.commit_or_rollback}: 8 commits, 12 rolls back, 0 leaves open"
        ) from None
    if outcome is TransactionOutcome.UNKNOWN:
        return outcome  # it changes nothing, so nothing is to be found wrong with it
    at = fields.commit_log_offset
    if half is None or half.topic != HALF_TOPIC or half.commit_log_offset != at:
        raise _wrong(f"no half message begins at commit-log offset {at}")
    # A check may be on its way by then: its answer counts, or one transaction could end in two ways.
    if not fields.from_transaction_check and _is_late(half, age, timeout_ms):
        raise Refusal(
            ResponseCode.ILLEGAL_OPERATION,
            f"the end of {fields.msg_id} came after the immunity that it asked for; answer the next check",
        )
    group = half.properties.get(p.PRODUCER_GROUP)
    if group != fields.producer_group:
        raise _wrong(f"the half at commit-log offset {at} is of producer group {group}, not of the sender's")
    # Both offsets are of one record; where they are not, the sender means the half of another store.
    if half.queue_offset != fields.tran_state_table_offset:
        raise _wrong(
            f"the half at commit-log offset {at} has queue offset {half.queue_offset}, "
            f"not {fields.tran_state_table_offset}"
        )
    if real_place(half.properties) is None:
        raise _wrong(f"the half at commit-log offset {at} does not say where its message goes")
    return outcome


ENDED_ALREADY: Final = ResponseCode.ILLEGAL_OPERATION
"""The code that says so."""


def ended_already(fields: EndTransaction) -> Refusal:
    """The answer to an end of a transaction that was committed, rolled back or discarded before."""
    name = fields.transaction_id or fields.msg_id
    return Refusal(ENDED_ALREADY, f"transaction {name} was committed, rolled back or discarded before")


def op_body(half_offset: int) -> bytes:
    """Body of an op message. One offset without a comma: brokers before 5.0 read it as a number."""
    return str(half_offset).encode()


def parse_op(body: bytes) -> list[int]:
    """The half offsets that an op message names, one or, comma-separated, many; what is no number is not."""
    return [int(word) for word in body.split(b",") if word.isdigit() and len(word) < _DIGITS_MAX]


def _is_late(half: ReceivedMessage, age: Age, timeout_ms: int) -> bool:
    immunity = half.properties.get(p.CHECK_IMMUNITY_SECONDS)
    if not immunity or p.HALF_BATCH in half.properties:
        return False
    return age.ms > max(_number(immunity, 0) * 1000, timeout_ms)


def _wrong(remark: str) -> Refusal:
    return Refusal(ResponseCode.SYSTEM_ERROR, remark)


def _number(text: str, default: int) -> int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS_MAX else default
