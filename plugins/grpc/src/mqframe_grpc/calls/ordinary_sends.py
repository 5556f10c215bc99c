"""Sends that compiled code reads: requests with one message of which nothing is out of the ordinary."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from mqframe.core.messages import properties as p
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.send_checks import OWN_NAMES, SendLimits
from mqframe_grpc.rules.sends import SendDraft


class OrdinarySend(NamedTuple):
    """A request that passes `check_sends`, if `name` is that of a topic; `draft`: what is to be stored."""

    name: str
    draft: SendDraft


class ReadsSends(Protocol):
    """`SentReader` of `mqframe-speedups`."""

    def read(self, request: bytes, /) -> tuple[str, str, str, str, bytes, int] | None:
        """Topic, message id, message group, properties, body, ms of the birth; `None`: Python has to look."""


class SendRequests:
    """Reads requests by the class `compiled`, in the place of protobuf's `SendMessageRequest`."""

    def __init__(self, compiled: Callable[..., ReadsSends], limits: SendLimits) -> None:
        bounds = (
            limits.body_bytes_max,
            limits.properties_bytes_max,
            limits.properties_max,
            limits.group_bytes_max,
        )
        self._read = compiled(OWN_NAMES, bounds).read

    def FromString(self, data: bytes) -> OrdinarySend | m.SendMessageRequest:  # noqa: N802 - as protobuf
        """What is asked. Raises `google.protobuf.message.DecodeError`."""
        found = self._read(data)
        if found is None:
            return m.SendMessageRequest.FromString(data)
        topic, message_id, group, text, body, born_ms = found
        properties = {p.SHARDING_KEY: group} if group else {}
        return OrdinarySend(topic, SendDraft(message_id, properties, body, 0, born_ms, group, text))
