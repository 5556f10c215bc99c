"""The requests that a name server serves: registration, routes, key-value configuration (wire.md §3.4).

Sources: DefaultRequestProcessor.java, ClientRequestProcessor.java.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final

from mqframe.core.cluster.broker_registry import UNIT_FLAG, UNIT_SUB_FLAG, BrokerRegistry
from mqframe.core.cluster.order_config import ORDER_TOPIC_NAMESPACE
from mqframe.core.cluster.registration import BROKER_TIMEOUT_MS, MASTER_ID, Registered, Registration
from mqframe.core.cluster.registration_body import is_large, open_register_body
from mqframe.core.cluster.route_bodies import MemberGroupBody, TopicList, TopicRouteData
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig
from mqframe.core.codes import STRICT_ROUTE_VERSION, ResponseCode
from mqframe.core.config.live import CHANGED_SETTINGS
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.os_errors import told
from mqframe.core.requests import nameserver as ns
from mqframe.core.requests.serving import Answer, Call, Reply, serves
from mqframe.core.storage.record import body_crc
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import DataVersion, KVTable
from mqframe.nameserver.kv_config import KvConfig
from mqframe.nameserver.live_settings import LiveNameServerSettings
from mqframe.nameserver.ordered_topics import OrderedTopics
from mqframe.net.clock import LoopClock
from mqframe.turns import in_turns

TURN_TOPICS: Final = 1024
"""Topics of a registration that are read or entered in one turn of the loop."""
ZONE_FIELD: Final = "__ZONE_NAME"


class Handlers:
    """Answers requests from a registry and a key-value table. `port`: returns the one that is listened on."""

    def __init__(
        self,
        registry: BrokerRegistry,
        kv: KvConfig,
        live: LiveNameServerSettings,
        clock: LoopClock,
        port: Callable[[], int],
    ) -> None:
        self._registry = registry
        self._kv = kv
        self._ordered = OrderedTopics(kv)
        self._live = live
        self._clock = clock
        self._port = port
        self._started = clock.monotonic()
        self._large = asyncio.Lock()

    # Routes

    @serves(ns.GetRouteinfoByTopic)
    def route(self, fields: ns.GetRouteinfoByTopic, call: Call) -> Answer:
        waited = self._clock.monotonic() - self._started
        if self._live.current.need_wait_for_service and waited < self._live.current.wait_seconds_for_service:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "name server not ready")
        route = self._registry.route(fields.topic)
        if route is None:
            raise Refusal(
                ResponseCode.TOPIC_NOT_EXIST,
                f"No topic route info in name server for the topic: {fields.topic}",
            )
        route.order_topic_conf = self._ordered.queues_of(
            fields.topic, self._live.current.order_message_enable
        )
        if call.frame.version >= STRICT_ROUTE_VERSION or fields.accept_standard_json_only:
            return Reply(body=_strict(route))
        for queue in route.queue_datas:
            queue.topic_syn_flag = queue.topic_sys_flag
        return route

    @serves(ns.GetBrokerClusterInfo)
    def cluster_info(self, fields: ns.GetBrokerClusterInfo, call: Call) -> Answer:
        return self._registry.cluster_info()

    # Brokers

    @serves(ns.RegisterBroker)
    def register(self, fields: ns.RegisterBroker, call: Call) -> Reply | Awaitable[Reply]:
        frame = call.frame
        if fields.body_crc32 and fields.body_crc32 != body_crc(bytes(frame.body)):
            raise Refusal(ResponseCode.SYSTEM_ERROR, "crc32 not match")
        if fields.compressed and is_large(frame.body):
            return self._enter_large(fields, call)
        most = self._live.current.registration_bytes_max
        body, named = open_register_body(bytes(frame.body), frame.version, fields.compressed, most)
        steps_taken = list(islice(named, TURN_TOPICS))
        first = dict(filter(None, steps_taken))
        if len(steps_taken) == TURN_TOPICS:
            return self._enter_in_turns(fields, call, body, first, named)
        # At once: whoever hears of a new topic may ask for its route next.
        registered, steps, is_news = self._begin(fields, call, body, first)
        for _ in steps:
            pass
        if is_news and self._ordered.note(fields.broker_name, first):
            self._ordered.save()
        return self._registered(registered)

    async def _enter_large(self, fields: ns.RegisterBroker, call: Call) -> Reply:
        """What unpacks to much is unpacked in a thread, and one at a time: else a few take all memory."""
        data, version = bytes(call.frame.body), call.frame.version
        most = self._live.current.registration_bytes_max
        async with self._large:
            body, named = await asyncio.to_thread(open_register_body, data, version, True, most)
            return await self._enter_in_turns(fields, call, body, {}, named)

    async def _enter_in_turns(
        self,
        fields: ns.RegisterBroker,
        call: Call,
        body: RegisterBrokerBody,
        table: dict[str, TopicConfig],
        named: Iterator[tuple[str, TopicConfig] | None],
    ) -> Reply:
        """Tens of thousands of topics are read, entered and looked through in slices."""
        most, read = self._live.current.route_entries_max, len(table)
        async for some in in_turns(named, TURN_TOPICS):
            topics = list(filter(None, some))
            table.update(topics)
            read += len(topics)
            if read > most:
                raise Refusal(
                    ResponseCode.SYSTEM_BUSY,
                    f"registration of more than {most} topics (nameserver.route_entries_max)",
                )
        registered, steps, is_news = self._begin(fields, call, body, table)
        async for _ in in_turns(steps, TURN_TOPICS):
            pass
        changed = False
        if is_news:
            async for some in in_turns(table.items(), TURN_TOPICS):
                changed = self._ordered.note(fields.broker_name, dict(some)) or changed
        if changed:
            self._ordered.save()
        return self._registered(registered)

    def _begin(
        self, fields: ns.RegisterBroker, call: Call, body: RegisterBrokerBody, table: dict[str, TopicConfig]
    ) -> tuple[Registered, Iterator[None], bool]:
        """Enter the broker; its topics follow with the steps. Last: whether a master says anything new."""
        topics = body.topic_config_serialize_wrapper
        topics.topic_config_table = table
        news = self._registry.changed(fields.cluster_name, fields.broker_addr, topics.data_version)
        timeout_ms = fields.heartbeat_timeout_millis
        registered, steps = self._registry.register(
            Registration(
                cluster=fields.cluster_name,
                name=fields.broker_name,
                address=fields.broker_addr,
                broker_id=fields.broker_id,
                ha_address=fields.ha_server_addr,
                topics=topics,
                connection=call.peer,
                filter_servers=body.filter_server_list,
                zone=(call.frame.ext or {}).get(ZONE_FIELD),
                timeout_ms=BROKER_TIMEOUT_MS if timeout_ms is None else timeout_ms,
                acting_master=fields.enable_acting_master,
            ),
            self._clock.monotonic(),
        )
        return registered, steps, news and fields.broker_id == MASTER_ID and registered.holder is None

    def _registered(self, registered: Registered) -> Reply:
        answer = ns.RegisterBrokerAnswer(registered.ha_address, registered.master_address, registered.holder)
        order = self._kv.namespace(ORDER_TOPIC_NAMESPACE)
        if order is None or not self._live.current.return_order_topic_config_to_broker:
            return Reply(header=answer)
        return Reply(header=answer, body=loose_json.dumps(KVTable(order)))

    @serves(ns.UnregisterBroker)
    def unregister(self, fields: ns.UnregisterBroker, call: Call) -> Reply:
        self._registry.unregister(fields.cluster_name, fields.broker_name, fields.broker_addr)
        return Reply()

    @serves(ns.QueryDataVersion)
    def query_data_version(self, fields: ns.QueryDataVersion, call: Call) -> Reply:
        version = call.body(DataVersion)
        different = self._registry.changed(fields.cluster_name, fields.broker_addr, version)
        self._registry.heartbeat(fields.cluster_name, fields.broker_addr, self._clock.monotonic())
        held = self._registry.data_version(fields.cluster_name, fields.broker_addr)
        return Reply(header=ns.DataVersionAnswer(different), body=loose_json.dumps(held) if held else b"")

    @serves(ns.BrokerHeartbeat)
    def heartbeat(self, fields: ns.BrokerHeartbeat, call: Call) -> Reply:
        self._registry.heartbeat(fields.cluster_name, fields.broker_addr, self._clock.monotonic())
        return Reply()

    @serves(ns.GetBrokerMemberGroup)
    def members(self, fields: ns.GetBrokerMemberGroup, call: Call) -> MemberGroupBody:
        return MemberGroupBody(self._registry.members(fields.cluster_name, fields.broker_name))

    @serves(ns.WipeWritePermOfBroker)
    def wipe_write(self, fields: ns.WipeWritePermOfBroker, call: Call) -> ns.WipeAnswer:
        return ns.WipeAnswer(self._registry.set_writable(fields.broker_name, False))

    @serves(ns.AddWritePermOfBroker)
    def add_write(self, fields: ns.AddWritePermOfBroker, call: Call) -> ns.AddAnswer:
        return ns.AddAnswer(self._registry.set_writable(fields.broker_name, True))

    # Topics

    @serves(ns.GetAllTopicList)
    def all_topics(self, fields: ns.GetAllTopicList, call: Call) -> Reply:
        if not self._live.current.enable_all_topic_list:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "disable")
        return _topic_list(self._registry.topics())

    @serves(ns.GetTopicsByCluster)
    def topics_by_cluster(self, fields: ns.GetTopicsByCluster, call: Call) -> Reply:
        self._check_topic_lists()
        return _topic_list(self._registry.topics_of(fields.cluster))

    @serves(ns.GetUnitTopicList)
    def unit_topics(self, fields: ns.GetUnitTopicList, call: Call) -> Reply:
        return self._flagged_topics(UNIT_FLAG)

    @serves(ns.GetHasUnitSubTopicList)
    def subscribed_topics(self, fields: ns.GetHasUnitSubTopicList, call: Call) -> Reply:
        return self._flagged_topics(UNIT_SUB_FLAG)

    @serves(ns.GetHasUnitSubUnunitTopicList)
    def subscribed_plain_topics(self, fields: ns.GetHasUnitSubUnunitTopicList, call: Call) -> Reply:
        return self._flagged_topics(UNIT_SUB_FLAG, UNIT_FLAG)

    def _flagged_topics(self, flag: int, absent_flag: int = 0) -> Reply:
        self._check_topic_lists()
        return _topic_list(self._registry.unit_topics(flag, absent_flag))

    def _check_topic_lists(self) -> None:
        if not self._live.current.enable_topic_list:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "disable")

    @serves(ns.GetSystemTopicListFromNs)
    def system_topics(self, fields: ns.GetSystemTopicListFromNs, call: Call) -> Answer:
        return self._registry.system_topics()

    @serves(ns.DeleteTopicInNamesrv)
    def delete_topic(self, fields: ns.DeleteTopicInNamesrv, call: Call) -> Reply:
        self._registry.delete_topic(fields.topic, fields.cluster_name)
        if self._registry.route(fields.topic) is None:
            self._ordered.forget(fields.topic)
        return Reply()

    @serves(ns.RegisterTopicInNamesrv)
    def register_topic(self, fields: ns.RegisterTopicInNamesrv, call: Call) -> Reply:
        if call.frame.body:
            self._registry.register_topic(fields.topic, call.body(TopicRouteData).queue_datas)
        return Reply()

    # Key-value configuration and settings

    @serves(ns.PutKvConfig)
    def put_value(self, fields: ns.PutKvConfig, call: Call) -> Reply:
        with _writing("kvConfig.json"):
            self._kv.put(fields.namespace, fields.key, fields.value)
        return Reply()

    @serves(ns.GetKvConfig)
    def get_value(self, fields: ns.GetKvConfig, call: Call) -> ns.KvAnswer:
        value = self._kv.get(fields.namespace, fields.key)
        if value is None:
            raise Refusal(
                ResponseCode.QUERY_NOT_FOUND,
                f"No config item, Namespace: {fields.namespace} Key: {fields.key}",
            )
        return ns.KvAnswer(value)

    @serves(ns.DeleteKvConfig)
    def delete_value(self, fields: ns.DeleteKvConfig, call: Call) -> Reply:
        with _writing("kvConfig.json"):
            self._kv.delete(fields.namespace, fields.key)
        return Reply()

    @serves(ns.GetKvlistByNamespace)
    def list_values(self, fields: ns.GetKvlistByNamespace, call: Call) -> KVTable:
        table = self._kv.namespace(fields.namespace)
        if table is None:
            raise Refusal(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {fields.namespace}")
        return KVTable(table)

    @serves(ns.UpdateNamesrvConfig)
    def update_settings(self, fields: ns.UpdateNamesrvConfig, call: Call) -> Reply:
        try:
            lines = bytes(call.frame.body).decode()
        except UnicodeDecodeError as problem:
            raise BodyError(f"settings are not UTF-8: {problem}") from None
        with _writing(CHANGED_SETTINGS):
            self._live.change(lines)
        return Reply()

    @serves(ns.GetNamesrvConfig)
    def get_settings(self, fields: ns.GetNamesrvConfig, call: Call) -> Reply:
        return Reply(body=self._live.lines(self._port()).encode())


@contextmanager
def _writing(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"{name} cannot be written: {told(problem)}") from problem


def _topic_list(topics: Iterable[str]) -> Reply:
    return Reply(body=loose_json.dumps(TopicList(topic_list=list(topics))))


def _strict(route: TopicRouteData) -> bytes:
    """Quoted keys and ASCII only, which readers without the dialect need."""
    body = loose_json.dumps(route)
    return body if body.isascii() else json.dumps(json.loads(body), separators=(",", ":")).encode()
