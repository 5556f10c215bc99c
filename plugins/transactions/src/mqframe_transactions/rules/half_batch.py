"""Half messages that hold a whole batch: what such a half must be, and what its end means to who sent it.

Apache's brokers know nothing of them and answer 3 to their request code; on a broker of this project one such
half stands for all messages of its batch, which are delivered together when it is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Final

import msgspec

from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.errors import (
    AnswerError,
    BodyError,
    ConnectError,
    MqframeError,
    Refusal,
    RetryError,
    RouteError,
    TooMuchInFlight,
)
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import ELEMENT_OVERHEAD_BYTES, decode_batch
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.retry.passing import PASSING_CODES
from mqframe.core.storage.record import HEADS
from mqframe_transactions.requests import SendHalfBatch

ELEMENTS_MAX: Final = 32767
"""Messages in one half, count."""
OP_RECORD_BYTES_MAX: Final = 1024
"""More than the record of an op message ever takes, and what a message grows by when it is committed."""
_REFUSED: Final = (p.DELAY, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS, p.TIMER_DELIVER_MS, p.TRANSACTION_PREPARED)
_REFUSED_WORDS: Final = tuple(f"{name}{p.NAME_END}".encode() for name in _REFUSED)
_FIXED_BYTES: Final = HEADS[True, True].size + 4
_NOTHING_DONE: Final = PASSING_CODES | {
    ResponseCode.SLAVE_NOT_AVAILABLE,
    ResponseCode.MESSAGE_ILLEGAL,
    ResponseCode.NO_PERMISSION,
}
_ABSENT: Final = (
    "no half message begins",
    "the half at commit-log offset",
    "Find prepared transaction message failed",
    "The producer group wrong",
    "The transaction state table offset wrong",
    "The commit log offset wrong",
)


class PreparedHalf(msgspec.Struct, frozen=True):
    """A half message that a broker holds until it learns how its transaction ended. JSON by msgspec.

    `topic`, `queue_id`: where its messages go; `queue_offset`: of the half in the broker's half queue;
    `commit_log_offset`: of the half, bytes; `count`: messages in it; `repeatable`: whether its end may be
    sent again without harm (a broker of this project says that it came before, Apache's would deliver twice).
    """

    broker_name: str
    topic: str
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    transaction_id: str
    count: int
    repeatable: bool


class EndStatus(Enum):
    """What a broker says to an end.

    DONE: it counts; ENDED_BEFORE: the half was committed, rolled back or discarded before (604); NOT_FOUND:
    the broker holds no such half, because it is too old or because the store is another one; UNCERTAIN: the
    end was sent, and nobody knows whether it arrived (only in `EndsUnfinished.statuses`).
    """

    DONE = "done"
    ENDED_BEFORE = "ended_before"
    NOT_FOUND = "not_found"
    UNCERTAIN = "uncertain"


class EndsUnfinished(RetryError):
    """Not all halves could be ended. `statuses`: of each half, in order; `None`: its broker did not get it.

    Those that are `None` can be ended again at any time, those that are UNCERTAIN when they are `repeatable`;
    others answer by themselves when their broker asks.
    """

    def __init__(self, words: str, statuses: Sequence[EndStatus | None]) -> None:
        super().__init__(words)
        self.statuses = list(statuses)


def status_of_failure(problem: MqframeError) -> EndStatus | None:
    """What is known of an end that met `problem`: `None` when its broker did not get it, or took nothing."""
    if isinstance(problem, ConnectError | TooMuchInFlight | RouteError):
        return None
    if isinstance(problem, AnswerError) and problem.code in _NOTHING_DONE:
        return None
    return EndStatus.UNCERTAIN


def end_status(code: int, remark: str | None) -> EndStatus | None:
    """What the answer to an end (37) means; `None` for any other failure.

    Code 1 stands for many things, and only its remark tells them apart (EndTransactionProcessor.java).
    """
    if code == ResponseCode.SUCCESS:
        return EndStatus.DONE
    if code == ResponseCode.ILLEGAL_OPERATION:
        return EndStatus.ENDED_BEFORE
    if code == ResponseCode.SYSTEM_ERROR and (remark or "").startswith(_ABSENT):
        return EndStatus.NOT_FOUND
    return None


def check_half_batch(
    fields: SendHalfBatch, batch: bytes, *, added_bytes: int, log_file_bytes: int
) -> dict[str, str]:
    """The properties of a half that may be stored with the body `batch`.

    `added_bytes`: what the broker adds to the properties of each message; `log_file_bytes`: of the store, for
    all messages are to lie in one file. Raises `Refusal` 13 for a half that could not be committed later.
    """
    properties = p.decode_properties(fields.properties or "")
    if properties.get(p.TRANSACTION_PREPARED, "").lower() != "true" or not properties.get(p.PRODUCER_GROUP):
        raise _illegal(f"a half needs {p.TRANSACTION_PREPARED}=true and {p.PRODUCER_GROUP}")
    for name in _REFUSED[:-1]:
        if name in properties:
            raise _illegal(f"a half that holds a batch cannot be delayed, its {name} is {properties[name]}")
    if fields.sys_flag & SysFlag.COMPRESSED:
        raise _illegal("the batch of a half cannot be compressed as a whole")
    try:
        count = count_elements(batch, p.PROPERTIES_BYTES_MAX - added_bytes - 1)
    except BodyError as problem:
        raise _illegal(str(problem)) from None
    said = properties.get(p.HALF_BATCH)
    if said != str(count):
        raise _illegal(f"the half holds {count} messages, its {p.HALF_BATCH} is {said}")
    size = stored_bytes(batch, count, fields.topic, added_bytes)
    if size > log_file_bytes:
        raise _illegal(
            f"{count} messages take {size} bytes, more than a commit-log file of {log_file_bytes} bytes holds"
        )
    return properties


def count_elements(batch: bytes, properties_bytes_max: int = p.PROPERTIES_BYTES_MAX) -> int:
    """How many messages `batch` holds.

    Raises `BodyError`: malformed, none or more than `ELEMENTS_MAX`, properties that are no text or longer
    than `properties_bytes_max`, a message that is delayed or itself a half.
    """
    suspicious = any(word in batch for word in _REFUSED_WORDS)
    count = 0
    for _, body, raw in decode_batch(batch):
        size = len(raw)
        if not body:
            raise BodyError(f"message {count} of the batch has no body")
        if size > properties_bytes_max:
            raise BodyError(
                f"the properties of message {count} of the batch have {size} bytes, "
                f"{properties_bytes_max} are allowed"
            )
        try:
            text = str(raw, "utf-8")
        except UnicodeDecodeError as problem:
            raise BodyError(f"message {count} of the batch: {problem}") from None
        if suspicious:
            _check_plain(p.decode_properties(text), count)
        count += 1
    if not 0 < count <= ELEMENTS_MAX:
        raise BodyError(f"the batch holds {count} messages; 1 to {ELEMENTS_MAX} are allowed")
    return count


def stored_bytes(batch: bytes, count: int, topic: str, added_bytes: int) -> int:
    """At most how many bytes of the log the `count` messages of `batch` take, with the op message."""
    return len(batch) + count * (_FIXED_BYTES + len(topic.encode()) + added_bytes + 1) + OP_RECORD_BYTES_MAX


def batch_from(batch: bytes, number: int) -> bytes:
    """The messages of `batch` from message `number` on; empty when it holds no more than that.

    Raises `BodyError` for a malformed batch.
    """
    at = 0
    for count, (_, body, raw) in enumerate(decode_batch(batch)):
        if count == number:
            return batch[at:]
        at += ELEMENT_OVERHEAD_BYTES + len(body) + len(raw)
    return b""


def stands_for(half: ReceivedMessage, delivered: Sequence[ReceivedMessage]) -> bool:
    """Whether `delivered`, stored for the half at its commit-log offset, are the first of its messages."""
    if p.HALF_BATCH not in half.properties:
        return len(delivered) == 1 and delivered[0].message_id == half.message_id
    try:
        wanted = list(islice(decode_batch(half.stored_body), len(delivered)))
    except BodyError:
        return False
    return len(wanted) == len(delivered) and all(
        message.stored_body == body for message, (_, body, _) in zip(delivered, wanted, strict=True)
    )


def added_properties(half: Mapping[str, str]) -> bytes:
    """What the messages of a committed half get besides their own properties: what its broker gave it."""
    names = (p.MSG_REGION, p.TRACE_ON, p.CLUSTER)
    return p.encode_properties({name: half[name] for name in names if name in half}).encode()


def _check_plain(properties: Mapping[str, str], number: int) -> None:
    for name in _REFUSED:
        if name in properties:
            raise BodyError(
                f"message {number} of the batch has the property {name}, which a half cannot hold"
            )


def _illegal(remark: str) -> Refusal:
    return Refusal(ResponseCode.MESSAGE_ILLEGAL, remark)
