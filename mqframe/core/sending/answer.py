"""What a broker's answer to a send means (MQClientAPIImpl.processSendResponse)."""

from __future__ import annotations

from typing import Final

from mqframe.core.errors import HeaderError, answer_error
from mqframe.core.frame import Frame
from mqframe.core.message import MessageQueue, SendResult, SendStatus

_STATUS: Final = {status.value: status for status in SendStatus}
_DEFAULT_REGION: Final = "DefaultRegion"


def read_send_answer(frame: Frame, queue: MessageQueue, message_id: str, address: str) -> SendResult:
    """The result of sending `message_id` to `queue`.

    Raises the `AnswerError` that a refusal stands for, `HeaderError` for an answer without its fields.
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
        raise HeaderError(f"answer of {address} to a send: field {problem} is missing or no number") from None
    if queue_id != queue.queue_id:
        queue = MessageQueue(queue.topic, queue.broker_name, queue_id)
    return SendResult(
        status,
        message_id,
        queue,
        offset,
        offset_message_id,
        ext.get("transactionId"),
        ext.get("MSG_REGION") or _DEFAULT_REGION,
        ext.get("TRACE_ON") != "false",
        ext.get("recallHandle"),
    )


def split_send_result(result: SendResult, message_ids: list[str]) -> list[SendResult]:
    """The result of each message of a batch: its own ids, and offsets counting on from the first."""
    offset_ids = result.offset_message_id.split(",")
    if len(offset_ids) != len(message_ids):
        offset_ids = [""] * len(message_ids)
    status, queue, region, trace = result.status, result.queue, result.region_id, result.trace_on
    offset = result.queue_offset
    return [
        SendResult(status, message_id, queue, offset + number, offset_id, None, region, trace)
        for number, (message_id, offset_id) in enumerate(zip(message_ids, offset_ids, strict=True))
    ]
