"""Pulls whose records stay as brokers store them."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.core.consuming.pull import PullStatus, read_head
from mqframe.core.errors import BadAnswer
from mqframe.core.filtering.filter_expression import MessageChoice
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.frame import Body, Frame


class RawPull(NamedTuple):
    """What came of a pull, its records not taken apart: `records` back to back as brokers store them.

    The rest as in `PullResult`. Tags were compared by hash only.
    """

    status: PullStatus
    records: Body
    next_offset: int
    min_offset: int
    max_offset: int


def read_raw(
    frame: Frame, queue: MessageQueue, wanted: MessageChoice, address: str, offset: int = 0
) -> RawPull:
    """As `read_answer`, for readers that take many records apart at once, and have to look at them.

    Raises `BadAnswer` besides for an answer whose offsets are counted anew by a proxy.
    """
    status, answer = read_head(frame, queue, wanted, address, offset)
    if answer.offset_delta:
        raise BadAnswer(f"pull answer of {address} for {queue}: offsets moved by {answer.offset_delta}")
    records = frame.body if status is PullStatus.FOUND else b""
    return RawPull(status, records, answer.next_begin_offset, answer.min_offset, answer.max_offset)
