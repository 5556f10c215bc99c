"""Pulls: the request, the answer that a broker makes of what it read, and what that means (wire.md §7).

Source: PullMessageProcessor.java, PullAPIWrapper.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Final, NamedTuple

from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.errors import BadAnswer, HeaderError, answer_error
from mqframe.core.filtering.filter_expression import MessageChoice, check_version
from mqframe.core.messages.many import many_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import LitePullMessage, PullAnswer, PullFields, PullMessage
from mqframe.core.storage.record import RecordError, decode_records
from mqframe.core.wire.frame import Body, Frame

MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
"""Property of messages that lie in several queues at once (MessageConst.java)."""
MESSAGES_MAX: Final = 32
"""Messages that one pull asks for by default; brokers give no more by default."""
BYTES_MAX: Final = 256 * 1024
"""Bytes that one pull asks for; brokers give no more by default."""
DecodesRecords = Callable[[Body, str], Iterable[ReceivedMessage]]
"""What does as `decode_records`."""


class PullStatus(Enum):
    """What came of a pull."""

    FOUND = ResponseCode.SUCCESS
    NO_NEW_MSG = ResponseCode.PULL_NOT_FOUND
    NO_MATCHED_MSG = ResponseCode.PULL_RETRY_IMMEDIATELY
    OFFSET_ILLEGAL = ResponseCode.PULL_OFFSET_MOVED


_STATUS: Final[dict[int, PullStatus]] = {int(status.value): status for status in PullStatus}


class PullResult(NamedTuple):
    """What came of a pull.

    `messages`: those that the expression wants, by offset; may be empty though something was found.
    `next_offset`: where to go on; of OFFSET_ILLEGAL the nearest offset that exists. `min_offset`,
    `max_offset`: what the queue holds, the second exclusive. `broker_id`: whom the broker suggests to read
    from next.
    """

    status: PullStatus
    messages: Sequence[ReceivedMessage]
    next_offset: int
    min_offset: int
    max_offset: int
    broker_id: int = 0


def pull_request(
    group: str,
    queue: MessageQueue,
    offset: int,
    *,
    messages_max: int = MESSAGES_MAX,
    bytes_max: int = BYTES_MAX,
    expression: str | None = None,
    expression_type: str = "TAG",
    version: int = 0,
    wait_seconds: float = 0.0,
    commit_offset: int | None = None,
    lite: bool = False,
    bulk: bool = False,
) -> PullFields:
    """The request that reads `queue` from `offset` on.

    `expression`: sent along; `None`: the broker uses what the group's heartbeat said, of `version` (ms) at
    least; `expression_type`: TAG or SQL92, said in both cases. `wait_seconds`: how long the broker may wait
    for messages. `commit_offset`: stored on the way.
    `lite`: say that a lite pull consumer asks (source: PullAPIWrapper.java). `bulk`: say that a job asks, to
    which a broker of this project gives many messages at once.
    """
    flags = PullFlag.SUSPEND if wait_seconds > 0 else 0
    if expression is not None:
        flags |= PullFlag.SUBSCRIPTION
    if commit_offset is not None:
        flags |= PullFlag.COMMIT_OFFSET
    if lite:
        flags |= PullFlag.LITE_PULL
    return (LitePullMessage if lite else PullMessage)(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        queue_offset=offset,
        max_msg_nums=messages_max,
        sys_flag=flags,
        commit_offset=commit_offset or 0,
        suspend_timeout_millis=int(wait_seconds * 1000),
        sub_version=version,
        subscription=expression,
        expression_type=expression_type,
        max_msg_bytes=bytes_max,
        bname=queue.broker_name,
        # Left out unless true: other brokers need not see a field that they do not know.
        mqframe_bulk=bulk or None,
    )


def read_answer(
    frame: Frame,
    queue: MessageQueue,
    wanted: MessageChoice,
    address: str,
    offset: int = 0,
    decode: DecodesRecords = decode_records,
) -> PullResult:
    """What `frame`, the answer of the broker at `address` to a pull from `offset` on, says.

    Tags are compared by text here, since the broker compares hashes. Raises `AnswerError` for a code that is
    no outcome of a pull, `BadAnswer` when the answer cannot be read, or holds messages that were not asked
    for, `FixError` when the broker is too old to have chosen messages as `wanted` says.
    """
    status, answer = read_head(frame, queue, wanted, address, offset)
    messages: Sequence[ReceivedMessage] = ()
    if status is PullStatus.FOUND:
        try:
            found = list(decode(frame.body, queue.broker_name))
        except RecordError as problem:
            raise BadAnswer(f"pull answer of {address} for {queue}: {problem}") from problem
        if answer.offset_delta is not None:
            for message in found:
                message.queue_offset += answer.offset_delta
                message.queue_id = queue.queue_id  # a proxy counts queues anew, too (PullAPIWrapper.java)
        check_asked_for(found, queue, address, offset, answer.next_begin_offset)
        messages = wanted.choose(found)
    return PullResult(
        status,
        messages,
        answer.next_begin_offset,
        answer.min_offset,
        answer.max_offset,
        answer.suggest_which_broker_id,
    )


def check_asked_for(
    messages: Sequence[ReceivedMessage], queue: MessageQueue, address: str, first: int, end: int
) -> None:
    """Raise `BadAnswer` unless these are messages of `queue`, from `first` on, in order.

    They may lie behind `end`: where a log has lost messages, Apache RocketMQ builds queues without a gap, so
    that a message's own offset is higher than its place.
    """
    if many_of(messages).rise_in(messages, queue, first):
        return
    topic, _, queue_id = queue
    last = first - 1
    for message in messages:
        offset = message.queue_offset
        if message.topic != topic or message.queue_id != queue_id or offset <= last:
            if MULTI_DISPATCH in message.raw_properties:
                continue  # lies in this queue, too, and says only where it was sent to
            raise BadAnswer(
                f"pull answer of {address} for {queue}, offsets {first} to {end}: it holds the message at "
                f"{offset} of {message.topic}/{message.queue_id}"
            )
        last = offset


def read_head(
    frame: Frame, queue: MessageQueue, wanted: MessageChoice, address: str, offset: int
) -> tuple[PullStatus, PullAnswer]:
    """What the answer says but for its messages. Raises as `read_answer` does."""
    if wanted.expression_type != "TAG":
        check_version(wanted, frame.version, address)
    status = _STATUS.get(frame.code)
    if status is None:
        raise answer_error(frame.code, frame.remark, address)
    try:
        answer = decode_fields(frame.ext, PullAnswer)
    except HeaderError as problem:
        raise BadAnswer(f"pull answer of {address} for {queue}: {problem}") from problem
    going_on = answer.next_begin_offset
    if going_on < 0 or (status is PullStatus.FOUND and going_on <= offset):
        raise BadAnswer(
            f"pull answer of {address} for {queue}: asked from offset {offset}, "
            f"it says to go on at {going_on}"
        )
    if status is not PullStatus.OFFSET_ILLEGAL and going_on < offset:
        # A slave that is behind says so; going back would deliver again what was consumed.
        answer.next_begin_offset = offset
    return status, answer


OFFSET_RESET: Final = "OFFSET_RESET"
"""Status of a pull that is answered with an offset that an operator set."""

_CODES: Final = {
    "FOUND": ResponseCode.SUCCESS,
    "NO_MATCHED_MESSAGE": ResponseCode.PULL_RETRY_IMMEDIATELY,
    "MESSAGE_WAS_REMOVING": ResponseCode.PULL_RETRY_IMMEDIATELY,
    "OFFSET_FOUND_NULL": ResponseCode.PULL_NOT_FOUND,
    "OFFSET_OVERFLOW_ONE": ResponseCode.PULL_NOT_FOUND,
    "OFFSET_OVERFLOW_BADLY": ResponseCode.PULL_OFFSET_MOVED,
    "OFFSET_TOO_SMALL": ResponseCode.PULL_OFFSET_MOVED,
    OFFSET_RESET: ResponseCode.PULL_OFFSET_MOVED,
}
_NO_QUEUE: Final = ("NO_MATCHED_LOGIC_QUEUE", "NO_MESSAGE_IN_QUEUE")


def pull_code(status: str, requested_offset: int) -> ResponseCode:
    """The response code for a read with `status` (a name of GetMessageStatus.java) at `requested_offset`."""
    if status in _NO_QUEUE:
        return ResponseCode.PULL_OFFSET_MOVED if requested_offset else ResponseCode.PULL_NOT_FOUND
    return _CODES[status]


def pull_caps(wanted_count: int, wanted_bytes: int | None, count_max: int, bytes_max: int) -> tuple[int, int]:
    """How many messages and bytes a pull may get, of what it asks for and what the broker allows."""
    count = min(wanted_count, count_max) if wanted_count > 0 else count_max
    size = min(wanted_bytes, bytes_max) if wanted_bytes and wanted_bytes > 0 else bytes_max
    return count, size
