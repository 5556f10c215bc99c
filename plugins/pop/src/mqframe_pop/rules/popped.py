"""Messages that were popped: handed to one consumer, hidden from the others of its group for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BadAnswer, FixError, HeaderError, answer_error
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.messages.properties import FIRST_POP_TIME, POP_CHECK_POINT
from mqframe.core.requests.fields import decode_fields
from mqframe.core.storage.record import RecordError, decode_records
from mqframe.core.wire.frame import Frame
from mqframe_pop.requests import PopAnswer
from mqframe_pop.rules.receipt_handle import (
    NORMAL,
    HandleError,
    ReceiptHandle,
    parse_message_offsets,
    parse_order_counts,
    parse_start_offsets,
    retry_mark,
)

_NOTHING: Final = (
    ResponseCode.POLLING_FULL,
    ResponseCode.POLLING_TIMEOUT,
    ResponseCode.PULL_NOT_FOUND,
)


class PoppedMessage(ReceivedMessage):
    """A message that is ours until its time is over, unless it is acknowledged before.

    `receipt_handle`: names this delivery of the message; a new one after each change of the time. `deadline`:
    monotonic seconds of the consumer's clock at which the time is over for certain. `pause_ms`: in order, for
    how long its listener wants the queue to pause, if it said so.
    """

    __slots__ = ("acknowledged", "deadline", "pause_ms", "receipt_handle")

    def __init__(self, message: ReceivedMessage, receipt_handle: str, deadline: float) -> None:
        for name in ReceivedMessage.__slots__:
            setattr(self, name, getattr(message, name))
        self.receipt_handle = receipt_handle
        self.deadline = deadline
        self.acknowledged = False
        self.pause_ms: float | None = None

    @property
    def delivery_attempt(self) -> int:
        """How often the message was handed out, this time included."""
        return self.reconsume_times + 1

    def __repr__(self) -> str:
        return (
            f"<PoppedMessage {self.topic}/{self.queue_id}@{self.queue_offset} id={self.message_id}"
            f" attempt={self.delivery_attempt} {self.store_size} bytes>"
        )

    def hidden_anew(self, receipt_handle: str, deadline: float) -> None:
        """Its time was changed."""
        self.receipt_handle = receipt_handle
        self.properties[POP_CHECK_POINT] = receipt_handle
        self.deadline = deadline


class PopResult(NamedTuple):
    """What came of a pop. `full`: the broker lets no more wait; `rest`: messages that were left."""

    messages: list[PoppedMessage]
    rest: int
    full: bool = False


def read_pop(frame: Frame, broker_name: str, topic: str, address: str, deadline: float) -> PopResult:
    """What `frame` says, the answer of the broker at `address` to a pop of `topic`.

    The receipt handle and the time of the first pop are put into the properties POP_CK and 1ST_POP_TIME, and
    a message that comes again gets the topic that it was sent to (source: MQClientAPIImpl.java,
    processPopResponse). Raises `AnswerError` for a code that is no outcome of a pop, `BadAnswer` when the
    answer cannot be read, or holds messages of another topic.
    """
    if frame.code in _NOTHING:
        return PopResult([], 0, frame.code == ResponseCode.POLLING_FULL)
    if frame.code:
        raise answer_error(frame.code, frame.remark, address)
    try:
        answer = decode_fields(frame.ext, PopAnswer)
        records = list(decode_records(frame.body, broker_name))
        handles = _handles(answer, records, broker_name)
        counts = parse_order_counts(answer.order_count_info)
        for record in records:
            if record.topic != topic and not record.topic.startswith(RETRY_PREFIX):
                raise HeaderError(f"a message of topic {record.topic} was not asked for")
    except (HeaderError, RecordError, FixError) as problem:
        raise BadAnswer(f"pop answer of {address} for {topic}: {problem}") from problem
    messages = []
    for record, handle in zip(records, handles, strict=True):
        mark, queue_id = _key(answer, record)
        offset = record.queue_offset
        count = counts[1].get((mark, queue_id, offset), counts[0].get((mark, queue_id), 0))
        if count > 0:
            record.reconsume_times = count
        record.topic = topic
        record.properties[POP_CHECK_POINT] = handle
        record.properties.setdefault(FIRST_POP_TIME, str(answer.pop_time))
        messages.append(PoppedMessage(record, handle, deadline))
    return PopResult(messages, answer.rest_num)


def _handles(answer: PopAnswer, records: Sequence[ReceivedMessage], broker_name: str) -> list[str]:
    starts = parse_start_offsets(answer.start_offset_info)
    offsets = parse_message_offsets(answer.msg_offset_info)
    ranks: dict[tuple[str, int], list[int]] = {}
    first: dict[tuple[str, int], int] = {}
    for record in records:
        key = _key(answer, record)
        ranks.setdefault(key, []).append(record.queue_offset)
        first.setdefault(key, record.queue_offset)
    for known in ranks.values():
        known.sort()
    handles = []
    for record in records:
        given = _given(answer, record)
        if given is not None and starts:
            # The broker made this handle for the retry topic, which the record does not name any more.
            handles.append(given.text)
            continue
        key = _key(answer, record)
        start, offset = first[key], record.queue_offset
        if starts:
            # A record may say another offset than the queue that it was popped from (a queue of a multi
            # dispatch); the answer lists the right ones in the same order.
            try:
                start, offset = starts[key], offsets[key][ranks[key].index(offset)]
            except (KeyError, IndexError):
                raise HeaderError(
                    f"PopAnswer: no offsets of queue {key[1]}, mark {key[0]}, for the message at {offset}"
                ) from None
        handle = ReceiptHandle(
            start,
            answer.pop_time,
            answer.invisible_time,
            answer.revive_qid,
            key[0],
            broker_name,
            key[1],
            offset,
        )
        handles.append(handle.text)
    return handles


def _key(answer: PopAnswer, record: ReceivedMessage) -> tuple[str, int]:
    given = _given(answer, record)
    return retry_mark(record.topic) if given is None else given.mark, record.queue_id


def _given(answer: PopAnswer, record: ReceivedMessage) -> ReceiptHandle | None:
    """The handle that the broker put into a message that comes again, whose topic it restored.

    A message may bring one along from another pop, or from a stranger: that is none of this `answer`.
    """
    text = record.properties.get(POP_CHECK_POINT)
    if text is None:
        return None
    try:
        handle = ReceiptHandle.parse(text)
    except HandleError:
        return None  # an application's own, which must not keep the message from being received
    own = (answer.pop_time, answer.invisible_time, answer.revive_qid, record.queue_id, record.queue_offset)
    said = (handle.pop_time, handle.invisible_time, handle.revive_queue, handle.queue_id, handle.offset)
    return handle if handle.mark != NORMAL and said == own else None
