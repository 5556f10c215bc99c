"""TopicAdmin: `AsyncTopicAdmin` for plain threads.

Generated from mqframe_admin.client.topics, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping

from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe.core.messages.message import MessageQueue
from mqframe_admin.bodies import TopicOffset, TopicTotal
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.topics import AsyncTopicAdmin


class TopicAdmin(SyncSubject[AsyncTopicAdmin]):
    """Topics."""

    def create(
        self,
        topic: str,
        *,
        queues: int = 8,
        read_queues: int | None = None,
        write_queues: int | None = None,
        perm: int = PERM_READ | PERM_WRITE,
        order: bool = False,
        attributes: Mapping[str, str] | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> None:
        """Create `topic`, or change it, on all masters, on those of `cluster`, or on `broker`.

        `queues` on each broker; `read_queues` is what consumers see of them, `write_queues` what producers
        see. `perm`: 4 read, 2 write. `order`: mark it as ordered, with a fixed queue list in the name servers
        (used where they are set to: `orderMessageEnable`). `attributes`: those to set, such as
        `{"message.type": "FIFO"}`; `"+message.type"` is the same, `"-message.type"` takes one away. Raises
        `MessageError` for an illegal name, `AnswerError`. A name server that a broker did not reach in time
        hears of it later; the log (`mqframe.client`) says which.
        """
        self._call(
            self._client.create,
            topic,
            queues=queues,
            read_queues=read_queues,
            write_queues=write_queues,
            perm=perm,
            order=order,
            attributes=attributes,
            cluster=cluster,
            broker=broker,
        )

    def order_config(self, topic: str) -> dict[str, int]:
        """The fixed queue list of an ordered topic that operators made: queues by broker name, or nothing."""
        return self._call(self._client.order_config, topic)

    def set_order_config(self, topic: str, queues: Mapping[str, int]) -> None:
        """Give `topic` another fixed queue list in all name servers; without `queues` it has none."""
        self._call(self._client.set_order_config, topic, queues)

    def delete(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete `topic` and its messages on all masters, or those of `cluster`, and from name servers."""
        self._call(self._client.delete, topic, cluster=cluster)

    def list(self) -> builtins.list[str]:
        """All topics that brokers registered, sorted."""
        return self._call(self._client.list)

    def config(self, topic: str) -> dict[str, TopicConfig]:
        """The configuration of `topic` by broker name. Raises `RouteError` when nobody has it."""
        return self._call(self._client.config, topic)

    def route(self, topic: str) -> TopicRouteData:
        """Brokers and queues of `topic`. Raises `AnswerError` (17) when it does not exist."""
        return self._call(self._client.route, topic)

    def stats(self, topic: str) -> dict[MessageQueue, TopicOffset]:
        """Offsets of each queue of `topic`, and when something was stored there last."""
        return self._call(self._client.stats, topic)

    def totals(self, address: str) -> dict[str, TopicTotal] | None:
        """What each topic of the broker at `address` holds, by name, in one answer.

        `None` from one that does not tell, as Apache RocketMQ's; `stats` asks for one topic.
        """
        return self._call(self._client.totals, address)

    def groups(self, topic: str) -> builtins.list[str]:
        """Consumer groups that subscribe `topic` or have offsets in it, sorted.

        Of brokers of Apache RocketMQ 5.x only those with offsets, which a new group has some seconds after it
        began.
        """
        return self._call(self._client.groups, topic)
