"""What a pop has found, as it is handed over; by compiled code where all of it is ordinary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from mqframe_pop.rules.receipt_handle import NORMAL, ReceiptHandle

from mqframe.core.messages import properties as p
from mqframe.core.requests.serving import Reply
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_grpc.rules.receives import DLQ_ORIGIN_MESSAGE_ID, DLQ_ORIGIN_TOPIC
from mqframe_grpc.rules.send_checks import OWN_NAMES

_LEFT: Final = frozenset(
    (
        p.POP_CHECK_POINT,
        p.RETRY_TOPIC,
        p.TRANSACTION_PREPARED,
        p.PRIORITY,
        p.DELAY,
        p.TIMER_DELIVER_MS,
        p.TIMER_DELAY_SEC,
        p.TIMER_DELAY_MS,
        p.TIMER_OUT_MS,
        DLQ_ORIGIN_TOPIC,
        DLQ_ORIGIN_MESSAGE_ID,
    )
)
"""With one of these a message says more than what compiled code knows of."""
_KINDS: Final = tuple(
    map(int, (m.DigestType.MD5, m.Encoding.IDENTITY, m.MessageType.NORMAL, m.MessageType.FIFO))
)


class Delivery(NamedTuple):
    """A message that a client is to get. `answer`: the one that has it, as it travels."""

    handle: DoorHandle
    message_id: str
    answer: bytes
    reconsume_times: int


class Translates(Protocol):
    """`ReceivedTranslator` of `mqframe-speedups`."""

    def translate(
        self, records: bytes, topic: str, resource: bytes, places: tuple[str, str], words: tuple[str, str], /
    ) -> list[tuple[bytes, str, int, int, int, int]] | None:
        """Answer, message id, start of the pop, queue id, queue offset and log offset of each message."""


class Translation:
    """Has pops translated by the class `compiled`. It knows messages that come for the first time, and
    nothing of tags: who asks sees to it that all are wanted."""

    def __init__(self, compiled: Callable[..., Translates]) -> None:
        self._translate = compiled(OWN_NAMES, _LEFT, _KINDS).translate

    def of(self, reply: Reply, topic: m.Resource, broker: str) -> list[Delivery] | None:
        """What `message_of` and `read_pop` make of the answer of `broker` to a pop of `topic`, where all of
        it is ordinary; else `None`."""
        said = reply.ext
        if reply.code or not said:
            return None
        try:
            popped, invisible, revive = said["popTime"], said["invisibleTime"], said["reviveQid"]
            places = said["startOffsetInfo"], said["msgOffsetInfo"]
            pop_time, invisible_ms, revive_queue = int(popped), int(invisible), int(revive)
        except (KeyError, ValueError):
            return None  # whoever reads it now says what is wrong with it
        found = self._translate(
            bytes(reply.joined_body()),
            topic.name,
            topic.SerializeToString(),
            places,
            (f"{popped} {invisible} {revive} {NORMAL}", broker),
        )
        if found is None:
            return None
        return [
            Delivery(
                DoorHandle(
                    ReceiptHandle(
                        start, pop_time, invisible_ms, revive_queue, NORMAL, broker, queue_id, offset
                    ),
                    log_offset,
                ),
                message_id,
                answer,
                0,
            )
            for answer, message_id, start, queue_id, offset, log_offset in found
        ]
