"""What the source asks of name servers and brokers. The only module here that knows how they are reached."""

from __future__ import annotations

from typing import Final, Protocol

from mqframe_pull.puller.raw_pull import RawPull

from mqframe import Admin, Puller, Sql
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, FixError, RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe_spark.access import Access
from mqframe_spark.pull_window import Asked

PULL_BYTES: Final = 1 << 20
"""Asked for in one pull; brokers give what they are configured to: 256 KiB, where they are Apache's."""


class Wire(Protocol):
    """Calls that block. They raise errors of `mqframe.core.errors`; a `RetryError` may be tried again."""

    def topics(self) -> list[str]:
        """All topics that name servers know."""
        ...

    def route(self, topic: str) -> TopicRoute:
        """Where `topic` lives, asked now. Raises `FixError` when nobody has it, `RouteError` otherwise."""
        ...

    def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset that the broker still holds of `queue`."""
        ...

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        ...

    def offset_at(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """The offset of the first message stored at `timestamp_ms` or later."""
        ...

    def group_offset(self, group: str, queue: MessageQueue) -> int | None:
        """Where a consumer group is in `queue`."""
        ...

    def groups_of(self, topic: str) -> list[str]:
        """The consumer groups that have offsets in `topic`, or subscribe it."""
        ...

    def groups(self) -> list[str]:
        """The consumer groups that brokers have a configuration of."""
        ...

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Store where a consumer group is."""
        ...

    def pull(self, queue: MessageQueue, asked: Asked, expression: str | Sql) -> list[RawPull]:
        """Messages of `queue`, without waiting for any: the answers to the first of `asked`, one at least."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class Remoting:
    """`Wire` over the remoting protocol."""

    def __init__(self, nameserver: str, group: str, access: Access) -> None:
        self._nameserver = nameserver
        self._access = access
        self._puller = Puller(group, nameserver=nameserver, **access.client_arguments())
        self._groups: dict[str, Puller] = {}
        self.topics = self._puller.topics
        self.min_offset = self._puller.min_offset
        self.max_offset = self._puller.max_offset
        self.offset_at = self._puller.offset_at

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

    def group_offset(self, group: str, queue: MessageQueue) -> int | None:
        """See `Wire`."""
        return self._of(group).committed(queue)

    def groups_of(self, topic: str) -> list[str]:
        """See `Wire`."""
        with Admin(nameserver=self._nameserver, **self._access.client_arguments()) as admin:
            return admin.topics.groups(topic)

    def groups(self) -> list[str]:
        """See `Wire`."""
        with Admin(nameserver=self._nameserver, **self._access.client_arguments()) as admin:
            return admin.groups.list()

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """See `Wire`. A group that never pulled is made known to the broker first."""
        puller = self._of(group)
        try:
            puller.commit(queue, offset)
        except AnswerError as problem:
            if problem.code != ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST:
                raise
            # Brokers that make groups by themselves do so when one pulls.
            puller.pull_raw(queue, offset, 1)
            puller.commit(queue, offset)

    def _of(self, group: str) -> Puller:
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = Puller(
                group, nameserver=self._nameserver, **self._access.client_arguments()
            )
        return found

    def pull(self, queue: MessageQueue, asked: Asked, expression: str | Sql) -> list[RawPull]:
        """See `Wire`."""
        return self._puller.pull_all_raw(queue, asked, expression, bytes_max=PULL_BYTES, bulk=True)

    def close(self) -> None:
        """See `Wire`."""
        for puller in (self._puller, *self._groups.values()):
            puller.stop()


def connect(nameserver: str, group: str, access: Access) -> Wire:
    """A wire through `nameserver`, asking in the name of `group`. Connections open when first needed."""
    return Remoting(nameserver, group, access)
