"""Acknowledgements that compiled code reads: requests for one message, by a handle as it was handed out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from mqframe_pop.rules.receipt_handle import ReceiptHandle

from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.acks import OK_STATUS, AllDone
from mqframe_grpc.rules.handles import DoorHandle

_Words = tuple[int, int, int, int, str, str, int, int]


class OrdinaryAck(NamedTuple):
    """A request for one message. `text`: its `handle` as it came; `done`: the answer where all goes well."""

    topic: str
    group: str
    message_id: str
    text: str
    handle: DoorHandle
    done: AllDone


class ReadsAcks(Protocol):
    """`AckReader` of `mqframe-speedups`."""

    def read(self, request: bytes, /) -> tuple[str, str, str, str, _Words, int, bytes] | None:
        """Topic, group, message id, receipt handle, its first eight words and its ninth, or -1, and the
        answer where all goes well; `None`: Python has to look."""


class AckRequests:
    """Reads requests by the class `compiled`, in the place of protobuf's `AckMessageRequest`."""

    def __init__(self, compiled: Callable[[bytes], ReadsAcks]) -> None:
        self._read = compiled(OK_STATUS).read

    def FromString(self, data: bytes) -> OrdinaryAck | m.AckMessageRequest:  # noqa: N802 - as protobuf
        """What is asked. Raises `google.protobuf.message.DecodeError`."""
        found = self._read(data)
        if found is None:
            return m.AckMessageRequest.FromString(data)
        topic, group, message_id, text, words, log_offset, done = found
        handle = DoorHandle(ReceiptHandle._make(words), log_offset)
        return OrdinaryAck(topic, group, message_id, text, handle, AllDone(done))
