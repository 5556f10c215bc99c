"""Puller: `AsyncPuller` for plain threads.

Generated from mqframe_pull.puller.puller, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mqframe.core.cluster.route import TopicRoute
from mqframe.core.consuming.pull import BYTES_MAX, MESSAGES_MAX, PullResult
from mqframe.core.filtering.filter_expression import Sql
from mqframe.core.messages.message import MessageQueue
from mqframe_pull.puller.blocking_transport import BlockingPullCalls
from mqframe_pull.puller.raw_pull import RawPull


class Puller(BlockingPullCalls):
    """Reads queues at any offset as `group`, without membership, balance or automatic commits.

    `timeout`: seconds that the answer to a pull may take beyond the time that the broker was allowed to wait.
    Servers that restart are waited for, at most `client.patience_seconds`.
    `nameserver`, `rpc_hooks`, `client`, `net`, `plugins`: as of `PushConsumer`.

    The calling thread itself writes to and waits at the socket; many threads may share one.
    """

    _section = "puller"

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        return self._call(self._client.max_offset, queue)

    def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset that can still be read."""
        return self._call(self._client.min_offset, queue)

    def offset_at(self, queue: MessageQueue, timestamp_ms: int | datetime) -> int:
        """The offset of the first message stored at `timestamp_ms` or later.

        `timestamp_ms`: since 1970, or a datetime with its zone. Raises `FixError` for another one.
        """
        return self._call(self._client.offset_at, queue, timestamp_ms)

    @property
    def group(self) -> str:
        """The consumer group that brokers take the reader for."""
        return self._client.group

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return self._call(self._client.queues, topic)

    def topics(self) -> list[str]:
        """The topics that name servers know, sorted, those of the system included. Raises `RouteError`."""
        return self._call(self._client.topics)

    def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`. Raises `RouteError` when no name server knows it or none answers."""
        return self._call(self._client.route, topic, refresh=refresh)

    def pull(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        wait: float = 0.0,
        bytes_max: int = BYTES_MAX,
    ) -> PullResult:
        """The messages of `queue` from `offset` on that `expression` chooses, `max_messages` at most.

        `expression`: "*", tags joined by "||", or `Sql`. `wait`: seconds that the broker may wait for the
        first one. Raises what a call raises, `AnswerError`, and `FixError` for numbers and expressions that
        make no sense; an offset that does not exist is no error but OFFSET_ILLEGAL.
        """
        return self._call(
            self._client.pull, queue, offset, max_messages, expression, wait=wait, bytes_max=bytes_max
        )

    def pull_raw(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        bytes_max: int = BYTES_MAX,
        bulk: bool = False,
    ) -> RawPull:
        """As `pull`, without waiting, with the records as they are: for readers of many messages at once.

        `bulk`: brokers of this project give more than to consumers, as their settings say.
        """
        return self._call(
            self._client.pull_raw, queue, offset, max_messages, expression, bytes_max=bytes_max, bulk=bulk
        )

    def pull_all_raw(
        self,
        queue: MessageQueue,
        asked: Sequence[tuple[int, int]],
        expression: str | Sql = "*",
        *,
        bytes_max: int = BYTES_MAX,
        bulk: bool = False,
    ) -> list[RawPull]:
        """Several pulls of `queue`, each (offset, most messages), sent at once; their answers in this order.

        Those behind one that failed in a way that may pass are left out. Raises as `pull_raw` when it is the
        first.
        """
        return self._call(self._client.pull_all_raw, queue, asked, expression, bytes_max=bytes_max, bulk=bulk)

    def committed(self, queue: MessageQueue) -> int | None:
        """The offset that the broker holds for the group; `None` when it holds none.

        Brokers before 5.0 say 0 for a new group on a queue that is short and still whole.
        """
        return self._call(self._client.committed, queue)

    def commit(self, queue: MessageQueue, offset: int) -> None:
        """Have the broker hold `offset` for the group, and return once it does.

        Raises `AnswerError` 26 for a group that the broker does not know; one that has pulled is known where
        brokers make groups by themselves.
        """
        self._call(self._client.commit, queue, offset)
