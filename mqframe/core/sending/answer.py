"""What a broker's answer to a send means (MQClientAPIImpl.processSendResponse)."""

from __future__ import annotations

from typing import Final

from mqframe.core.errors import BadAnswer, answer_error
from mqframe.core.messages.message import MessageQueue, SendResult, SendStatus
from mqframe.core.wire.frame import Frame

_STATUS: Final = {status.value: status for status in SendStatus}
DEFAULT_REGION: Final = "DefaultRegion"


def read_send_answer(frame: Frame, queue: MessageQueue, message_id: str, address: str) -> SendResult:
    """The result of sending `message_id` to `queue`.

    An answer that names another message, in `transactionId`, says that the broker had that one already and
    stored nothing: the result is that one's. Of a batch it names none. Raises the `AnswerError` that a
    refusal stands for, `BadAnswer` for an answer without its fields: the message is probably stored.
    """
    status = _STATUS.get(frame.code)
    if status is None:
        raise answer_error(frame.code, frame.remark, address)
    ext = frame.ext or {}
    try:
        queue_id = int(ext["queueId"])
        offset = int(ext["queueOffset"])
        offset_message_id = ext["msgId"]
    except (KeyError, ValueError) as problem:
        raise BadAnswer(f"answer of {address} to a send: field {problem} is missing or no number") from None
    if queue_id != queue.queue_id:
        queue = MessageQueue(queue.topic, queue.broker_name, queue_id)
    transaction_id = ext.get("transactionId")
    if transaction_id and "," not in message_id:
        message_id = transaction_id
    return SendResult(
        status,
        message_id,
        queue,
        offset,
        offset_message_id,
        transaction_id,
        ext.get("MSG_REGION") or DEFAULT_REGION,
        ext.get("TRACE_ON") != "false",
        ext.get("recallHandle"),
        ext.get("batchPlaces"),
    )


def split_send_result(result: SendResult, message_ids: list[str]) -> list[SendResult]:
    """The result of each message of a batch: its own ids, and where it lies.

    Offsets count on from the first, unless the broker says otherwise. Raises `BadAnswer` when it says that
    for another number of messages.
    """
    offset_ids = result.offset_message_id.split(",")
    if len(offset_ids) != len(message_ids):
        offset_ids = [""] * len(message_ids)
    status, queue, region, trace = result.status, result.queue, result.region_id, result.trace_on
    if result.batch_places is not None:
        return [
            SendResult(status, message_id, place, offset, offset_id, None, region, trace)
            for message_id, offset_id, (place, offset) in zip(
                message_ids, offset_ids, _places(queue, result.batch_places, len(message_ids)), strict=True
            )
        ]
    offset = result.queue_offset
    return [
        SendResult(status, message_id, queue, offset + number, offset_id, None, region, trace)
        for number, (message_id, offset_id) in enumerate(zip(message_ids, offset_ids, strict=True))
    ]


def _places(queue: MessageQueue, text: str, count: int) -> list[tuple[MessageQueue, int]]:
    try:
        pairs = [place.split(":") for place in text.split(",")]
        found = [(MessageQueue(queue.topic, queue.broker_name, int(id_)), int(at)) for id_, at in pairs]
    except ValueError:
        found = []
    if len(found) != count:
        raise BadAnswer(f"an answer to a batch of {count} messages says that they lie at {text!r}")
    return found
