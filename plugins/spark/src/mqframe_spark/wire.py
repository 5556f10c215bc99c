"""What the source asks of name servers and brokers. The only module here that knows how they are reached."""

from __future__ import annotations

from typing import Final, Protocol

from mqframe import BlockingPuller
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, FixError, RouteError
from mqframe.core.message import MessageQueue
from mqframe.core.pull import PullResult
from mqframe.core.route import TopicRoute

PULL_MESSAGES: Final = 4096
PULL_BYTES: Final = 4 * 1024 * 1024
"""Asked for in one pull; brokers give what they are configured to, 32 messages by default."""


class Wire(Protocol):
    """Calls that block. They raise errors of `mqframe.core.errors`; a `RetryError` may be tried again."""

    def route(self, topic: str) -> TopicRoute:
        """Where `topic` lives, asked now. Raises `FixError` when nobody has it, `RouteError` otherwise."""
        ...

    def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset that the broker still holds of `queue`."""
        ...

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        ...

    def pull(self, queue: MessageQueue, offset: int) -> PullResult:
        """Messages of `queue` from `offset` on, without waiting for any."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class Remoting:
    """`Wire` over the remoting protocol."""

    def __init__(self, nameserver: str, group: str) -> None:
        self._nameserver = nameserver
        self._puller = BlockingPuller(nameserver, group)
        self.min_offset = self._puller.min_offset
        self.max_offset = self._puller.max_offset
        self.close = self._puller.close

    def route(self, topic: str) -> TopicRoute:
        """See `Wire`."""
        try:
            return self._puller.route(topic, refresh=True)
        except RouteError as problem:
            cause = problem.__cause__
            if isinstance(cause, AnswerError) and cause.code == ResponseCode.TOPIC_NOT_EXIST:
                raise FixError(
                    f"option topic = {topic!r}: the name server at {cause.address} knows no such topic"
                ) from problem
            raise RouteError(f"option nameserver = {self._nameserver!r}: {problem}") from problem

    def pull(self, queue: MessageQueue, offset: int) -> PullResult:
        """See `Wire`."""
        return self._puller.pull(queue, offset, PULL_MESSAGES, bytes_max=PULL_BYTES)


def connect(nameserver: str, group: str) -> Wire:
    """A wire through `nameserver`, asking in the name of `group`. Connections open when first needed."""
    return Remoting(nameserver, group)
