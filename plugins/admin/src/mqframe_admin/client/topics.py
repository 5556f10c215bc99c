"""Administration of topics."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping
from itertools import chain
from operator import itemgetter

from mqframe.core.cluster.order_config import ORDER_TOPIC_NAMESPACE, order_text, parse_order
from mqframe.core.cluster.route_bodies import TopicList, TopicRouteData
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.codes import PERM_READ, PERM_WRITE, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupTable
from mqframe.core.errors import AnswerError, MessageError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import DEFAULT_TOPIC, check_topic
from mqframe.core.requests.admin import (
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
    GetTopicConfig,
    UpdateAndCreateTopic,
)
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.nameserver import (
    DeleteKvConfig,
    DeleteTopicInNamesrv,
    GetAllTopicList,
    GetKvConfig,
    GetRouteinfoByTopic,
    KvAnswer,
    PutKvConfig,
)
from mqframe.core.requests.refusals import is_unserved
from mqframe.log import get_logger
from mqframe_admin.bodies import GroupList, TopicOffset, TopicStatsTable, TopicTotal, TopicTotals
from mqframe_admin.client.calls import AdminCalls, body_of, unless
from mqframe_admin.requests import (
    DeleteTopicInBroker,
    GetTopicStatsInfo,
    GetTopicTotals,
    QueryTopicConsumeByWho,
)

log = get_logger("client")

_NO_TOPIC = (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.QUERY_NOT_FOUND)


def topic_request(config: TopicConfig) -> UpdateAndCreateTopic:
    """The request that has a broker change a topic to `config`; attributes stay as they are."""
    return UpdateAndCreateTopic(
        str(config.topic_name),
        config.read_queue_nums,
        config.write_queue_nums,
        config.perm,
        default_topic=DEFAULT_TOPIC,
        topic_filter_type=config.topic_filter_type,
        topic_sys_flag=config.topic_sys_flag,
        order=config.order,
    )


class AsyncTopicAdmin:
    """Topics."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def create(
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
        check_topic(topic)
        if min(queues, queues if read_queues is None else read_queues) < 1:
            raise MessageError(f"topic {topic} needs at least one queue")
        request = UpdateAndCreateTopic(
            topic,
            queues if read_queues is None else read_queues,
            queues if write_queues is None else write_queues,
            perm,
            default_topic=DEFAULT_TOPIC,
            topic_sys_flag=0,
            order=order,
            attributes=_changes(attributes or {}),
        )
        masters = await self._calls.masters(cluster=cluster, broker=broker)
        answers = await self._calls.call_all(masters.values(), request)
        for name, answer in zip(masters, answers, strict=True):
            if answer.remark:  # only mqframe's brokers say something of a success
                log.warning("topic was made", topic=topic, broker=name, but=answer.remark)
        if order:
            made = await self.order_config(topic)
            await self.set_order_config(topic, made | dict.fromkeys(masters, request.write_queue_nums))

    async def order_config(self, topic: str) -> dict[str, int]:
        """The fixed queue list of an ordered topic that operators made: queues by broker name, or nothing."""
        asked = self._calls.instance.call_nameserver(GetKvConfig(ORDER_TOPIC_NAMESPACE, topic))
        answer = await unless((ResponseCode.QUERY_NOT_FOUND,), asked)
        return {} if answer is None else parse_order(topic, decode_fields(answer.ext, KvAnswer).value or "")

    async def set_order_config(self, topic: str, queues: Mapping[str, int]) -> None:
        """Give `topic` another fixed queue list in all name servers; without `queues` it has none."""
        if queues:
            await self._calls.call_nameservers(PutKvConfig(ORDER_TOPIC_NAMESPACE, topic, order_text(queues)))
        else:
            await self._calls.call_nameservers(DeleteKvConfig(ORDER_TOPIC_NAMESPACE, topic))

    async def delete(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete `topic` and its messages on all masters, or those of `cluster`, and from name servers."""
        masters = await self._calls.masters(cluster=cluster)
        forget = DeleteTopicInNamesrv(topic, cluster)
        await self._calls.check_understood(
            self._calls.instance.routes.nameservers, forget
        )  # before anything is gone
        await self._calls.call_all(masters.values(), DeleteTopicInBroker(topic))
        await self._calls.call_nameservers(forget)
        if cluster is None:
            await self.set_order_config(topic, {})

    async def list(self) -> builtins.list[str]:
        """All topics that brokers registered, sorted."""
        answer = await self._calls.instance.call_nameserver(GetAllTopicList())
        return sorted(body_of(answer, TopicList).topic_list)

    async def config(self, topic: str) -> dict[str, TopicConfig]:
        """The configuration of `topic` by broker name. Raises `RouteError` when nobody has it."""
        masters = await self._calls.topic_masters(topic)
        found = await asyncio.gather(*[self._topic_config(topic, each) for each in masters.values()])
        return {name: config for name, config in zip(masters, found, strict=True) if config is not None}

    async def _topic_config(self, topic: str, address: str) -> TopicConfig | None:
        """What the broker at `address` says of `topic`; `None` where it has no such topic any more."""
        try:
            return await self._calls.ask(address, GetTopicConfig(topic), TopicConfig)
        except AnswerError as refused:
            if not is_unserved(refused):
                raise
        # Brokers before 5.0.0 tell of all topics at once.
        table = await self._calls.ask(address, GetAllTopicConfig(), TopicConfigTable)
        return table.topic_config_table.get(topic)

    async def route(self, topic: str) -> TopicRouteData:
        """Brokers and queues of `topic`. Raises `AnswerError` (17) when it does not exist."""
        return body_of(
            await self._calls.instance.call_nameserver(GetRouteinfoByTopic(topic, True)), TopicRouteData
        )

    async def stats(self, topic: str) -> dict[MessageQueue, TopicOffset]:
        """Offsets of each queue of `topic`, and when something was stored there last."""
        found = await self._calls.ask_topic(topic, GetTopicStatsInfo(topic), TopicStatsTable)
        stats = chain.from_iterable(each.offset_table.items() for each in found.values())
        return dict(sorted(stats, key=itemgetter(0)))

    async def totals(self, address: str) -> dict[str, TopicTotal] | None:
        """What each topic of the broker at `address` holds, by name, in one answer.

        `None` from one that does not tell, as Apache RocketMQ's; `stats` asks for one topic.
        """
        try:
            return (await self._calls.ask(address, GetTopicTotals(), TopicTotals)).topics
        except AnswerError as refused:
            if not is_unserved(refused):
                raise
            return None

    async def groups(self, topic: str) -> builtins.list[str]:
        """Consumer groups that subscribe `topic` or have offsets in it, sorted.

        Of brokers of Apache RocketMQ 5.x only those with offsets, which a new group has some seconds after it
        began.
        """
        groups: set[str] = set()
        for address in (await self._calls.topic_masters(topic)).values():
            answer = await unless(_NO_TOPIC, self._calls.call(address, QueryTopicConsumeByWho(topic)))
            if answer is None:
                continue
            names = set(body_of(answer, GroupList).group_list)
            if topic in names:  # which those of 5.x name in the place of subscribers (ConsumerManager.java)
                table = await self._calls.ask(
                    address, GetAllSubscriptionGroupConfig(), SubscriptionGroupTable
                )
                if topic not in table.subscription_group_table:
                    names.discard(topic)
            groups |= names
        return sorted(groups)


def _changes(attributes: Mapping[str, str]) -> str | None:
    """`attributes` as a broker reads them (AttributeParser.java)."""
    changes = [
        name if name.startswith("-") else f"+{name.removeprefix('+')}={value}"
        for name, value in attributes.items()
    ]
    return ",".join(changes) or None
