"""The send hook `expiry`: all messages of a producer expire, unless they say when themselves."""

from __future__ import annotations

import time

import attrs

from mqframe.core.errors import SettingError
from mqframe.hooks.interfaces import HookPort, SendHook, SendOperation
from mqframe_expiry.moment import EXPIRES, moment


@attrs.frozen
class ExpiryOptions:
    """When the messages of a producer expire."""

    seconds: float = attrs.field(metadata={"doc": "how long after the send, s"})
    topics: tuple[str, ...] = attrs.field(
        default=(), metadata={"doc": "only messages of these topics; none named: of all"}
    )

    def __attrs_post_init__(self) -> None:
        if not 0 < self.seconds < float("inf"):
            raise SettingError(f"seconds = {self.seconds:g}: must be above 0")


class SetsExpiry(SendHook):
    """Sets when messages expire that do not say so; they are told by the clock of the producer."""

    name = "expiry"
    Options = ExpiryOptions

    def __init__(self, options: ExpiryOptions) -> None:
        self._options = options
        self._port: HookPort | None = None

    def attach(self, port: HookPort) -> None:
        """Go by the clock of the client."""
        self._port = port

    def prepare(self, operation: SendOperation) -> None:
        """Set the property of those that have none."""
        now = time.time_ns() // 1_000_000 if self._port is None else self._port.now_ms()
        topics = self._options.topics
        for index, message in enumerate(operation.messages):
            if EXPIRES not in message.properties and (not topics or message.topic in topics):
                operation.set_property(EXPIRES, moment(now, self._options.seconds), index)
