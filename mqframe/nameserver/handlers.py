"""What a name server answers to each request kind (wire.md §3.4).

Sources: DefaultRequestProcessor.java, ClientRequestProcessor.java.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from mqframe.core import loosejson
from mqframe.core.bodies import DataVersion, KVTable, MemberGroupBody, TopicList, TopicRouteData
from mqframe.core.codes import STRICT_ROUTE_VERSION, ResponseCode
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.order_config import ORDER_TOPIC_NAMESPACE
from mqframe.core.record import body_crc
from mqframe.core.register_body import decode_register_body
from mqframe.core.registry import BROKER_TIMEOUT_MS, UNIT_FLAG, UNIT_SUB_FLAG, Registration, Registry
from mqframe.core.requests import nameserver as ns
from mqframe.core.route import MASTER_ID
from mqframe.nameserver.kv_config import KvConfig
from mqframe.nameserver.live_settings import as_lines, changed
from mqframe.nameserver.ordered_topics import OrderedTopics
from mqframe.nameserver.settings import NameServerSettings
from mqframe.net.call import Call, Handler, Reply
from mqframe.net.clock import LoopClock

ZONE_FIELD: Final = "__ZONE_NAME"
UNIT_TOPICS: Final = 311
UNIT_SUB_TOPICS: Final = 312
UNIT_SUB_UNUNIT_TOPICS: Final = 313


class Handlers:
    """Answers requests from a registry and a key-value table."""

    def __init__(
        self, registry: Registry, kv: KvConfig, settings: NameServerSettings, clock: LoopClock
    ) -> None:
        self._registry = registry
        self._kv = kv
        self._ordered = OrderedTopics(kv)
        self._settings = settings
        self._clock = clock
        self._started = clock.monotonic()

    def table(self) -> Mapping[int, Handler]:
        """The handlers by request code."""
        return {
            ns.GetRouteinfoByTopic.CODE: self._route,
            ns.GetBrokerClusterInfo.CODE: self._cluster_info,
            ns.RegisterBroker.CODE: self._register,
            ns.UnregisterBroker.CODE: self._unregister,
            ns.QueryDataVersion.CODE: self._query_data_version,
            ns.BrokerHeartbeat.CODE: self._heartbeat,
            ns.GetBrokerMemberGroup.CODE: self._members,
            ns.GetAllTopicList.CODE: self._all_topics,
            ns.GetTopicsByCluster.CODE: self._topics_by_cluster,
            ns.GetSystemTopicListFromNs.CODE: self._system_topics,
            UNIT_TOPICS: lambda call: self._unit_topics(UNIT_FLAG),
            UNIT_SUB_TOPICS: lambda call: self._unit_topics(UNIT_SUB_FLAG),
            UNIT_SUB_UNUNIT_TOPICS: lambda call: self._unit_topics(UNIT_SUB_FLAG, UNIT_FLAG),
            ns.WipeWritePermOfBroker.CODE: self._wipe_write,
            ns.AddWritePermOfBroker.CODE: self._add_write,
            ns.DeleteTopicInNamesrv.CODE: self._delete_topic,
            ns.RegisterTopicInNamesrv.CODE: self._register_topic,
            ns.PutKvConfig.CODE: self._put,
            ns.GetKvConfig.CODE: self._get,
            ns.DeleteKvConfig.CODE: self._delete,
            ns.GetKvlistByNamespace.CODE: self._list,
            ns.UpdateNamesrvConfig.CODE: self._update_settings,
            ns.GetNamesrvConfig.CODE: self._get_settings,
        }

    # Routes

    def _route(self, call: Call) -> Reply:
        wanted = call.fields(ns.GetRouteinfoByTopic)
        waited = self._clock.monotonic() - self._started
        if self._settings.need_wait_for_service and waited < self._settings.wait_seconds_for_service:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "name server not ready")
        route = self._registry.route(wanted.topic)
        if route is None:
            raise Refusal(
                ResponseCode.TOPIC_NOT_EXIST,
                f"No topic route info in name server for the topic: {wanted.topic}",
            )
        route.order_topic_conf = self._ordered.queues_of(wanted.topic, self._settings.order_message_enable)
        if call.frame.version >= STRICT_ROUTE_VERSION or wanted.accept_standard_json_only:
            return Reply(body=_strict(route))
        for queue in route.queue_datas:
            queue.topic_syn_flag = queue.topic_sys_flag
        return Reply(body=loosejson.dumps(route))

    def _cluster_info(self, call: Call) -> Reply:
        return Reply(body=loosejson.dumps(self._registry.cluster_info()))

    # Brokers

    def _register(self, call: Call) -> Reply:
        told = call.fields(ns.RegisterBroker)
        frame = call.frame
        if told.body_crc32 and told.body_crc32 != body_crc(bytes(frame.body)):
            raise Refusal(ResponseCode.SYSTEM_ERROR, "crc32 not match")
        body = decode_register_body(bytes(frame.body), frame.version, told.compressed)
        topics = body.topic_config_serialize_wrapper
        news = self._registry.changed(told.cluster_name, told.broker_addr, topics.data_version)
        timeout_ms = told.heartbeat_timeout_millis
        registered = self._registry.register(
            Registration(
                cluster=told.cluster_name,
                name=told.broker_name,
                address=told.broker_addr,
                broker_id=told.broker_id,
                ha_address=told.ha_server_addr,
                topics=topics,
                connection=call.peer,
                filter_servers=body.filter_server_list,
                zone=(frame.ext or {}).get(ZONE_FIELD),
                timeout_ms=BROKER_TIMEOUT_MS if timeout_ms is None else timeout_ms,
                acting_master=told.enable_acting_master,
            ),
            self._clock.now_ms(),
        )
        if news and told.broker_id == MASTER_ID:
            self._ordered.learn(told.broker_name, topics.topic_config_table)
        answer = ns.RegisterBrokerAnswer(registered.ha_address, registered.master_address)
        order = self._kv.namespace(ORDER_TOPIC_NAMESPACE)
        if order is None or not self._settings.return_order_topic_config_to_broker:
            return Reply(header=answer)
        return Reply(header=answer, body=loosejson.dumps(KVTable(order)))

    def _unregister(self, call: Call) -> Reply:
        told = call.fields(ns.UnregisterBroker)
        self._registry.unregister(told.cluster_name, told.broker_name, told.broker_addr)
        return Reply()

    def _query_data_version(self, call: Call) -> Reply:
        asked = call.fields(ns.QueryDataVersion)
        version = loosejson.decode(bytes(call.frame.body), DataVersion)
        different = self._registry.changed(asked.cluster_name, asked.broker_addr, version)
        self._registry.heartbeat(asked.cluster_name, asked.broker_addr, self._clock.now_ms())
        held = self._registry.data_version(asked.cluster_name, asked.broker_addr)
        return Reply(header=ns.DataVersionAnswer(different), body=loosejson.dumps(held) if held else b"")

    def _heartbeat(self, call: Call) -> Reply:
        told = call.fields(ns.BrokerHeartbeat)
        self._registry.heartbeat(told.cluster_name, told.broker_addr, self._clock.now_ms())
        return Reply()

    def _members(self, call: Call) -> Reply:
        asked = call.fields(ns.GetBrokerMemberGroup)
        group = self._registry.members(asked.cluster_name, asked.broker_name)
        return Reply(body=loosejson.dumps(MemberGroupBody(group)))

    def _wipe_write(self, call: Call) -> Reply:
        name = call.fields(ns.WipeWritePermOfBroker).broker_name
        return Reply(header=ns.WipeAnswer(self._registry.set_writable(name, False)))

    def _add_write(self, call: Call) -> Reply:
        name = call.fields(ns.AddWritePermOfBroker).broker_name
        return Reply(header=ns.AddAnswer(self._registry.set_writable(name, True)))

    # Topics

    def _all_topics(self, call: Call) -> Reply:
        if not self._settings.enable_all_topic_list:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "disable")
        return _topic_list(self._registry.topics())

    def _topics_by_cluster(self, call: Call) -> Reply:
        self._check_topic_lists()
        return _topic_list(self._registry.topics_of(call.fields(ns.GetTopicsByCluster).cluster))

    def _unit_topics(self, wanted: int, unwanted: int = 0) -> Reply:
        self._check_topic_lists()
        return _topic_list(self._registry.unit_topics(wanted, unwanted))

    def _check_topic_lists(self) -> None:
        if not self._settings.enable_topic_list:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "disable")

    def _system_topics(self, call: Call) -> Reply:
        return Reply(body=loosejson.dumps(self._registry.system_topics()))

    def _delete_topic(self, call: Call) -> Reply:
        asked = call.fields(ns.DeleteTopicInNamesrv)
        self._registry.delete_topic(asked.topic, asked.cluster_name)
        if self._registry.route(asked.topic) is None:
            self._ordered.forget(asked.topic)
        return Reply()

    def _register_topic(self, call: Call) -> Reply:
        topic = call.fields(ns.RegisterTopicInNamesrv).topic
        if call.frame.body:
            route = loosejson.decode(bytes(call.frame.body), TopicRouteData)
            self._registry.register_topic(topic, route.queue_datas)
        return Reply()

    # Key-value configuration and settings

    def _put(self, call: Call) -> Reply:
        asked = call.fields(ns.PutKvConfig)
        try:
            self._kv.put(asked.namespace, asked.key, asked.value)
        except OSError as problem:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"kvConfig.json cannot be written: {problem}"
            ) from problem
        return Reply()

    def _get(self, call: Call) -> Reply:
        asked = call.fields(ns.GetKvConfig)
        value = self._kv.get(asked.namespace, asked.key)
        if value is None:
            raise Refusal(
                ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {asked.namespace} Key: {asked.key}"
            )
        return Reply(header=ns.KvAnswer(value))

    def _delete(self, call: Call) -> Reply:
        asked = call.fields(ns.DeleteKvConfig)
        try:
            self._kv.delete(asked.namespace, asked.key)
        except OSError as problem:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"kvConfig.json cannot be written: {problem}"
            ) from problem
        return Reply()

    def _list(self, call: Call) -> Reply:
        namespace = call.fields(ns.GetKvlistByNamespace).namespace
        table = self._kv.namespace(namespace)
        if table is None:
            raise Refusal(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {namespace}")
        return Reply(body=loosejson.dumps(KVTable(table)))

    def _update_settings(self, call: Call) -> Reply:
        try:
            lines = bytes(call.frame.body).decode()
        except UnicodeDecodeError as problem:
            raise BodyError(f"settings are not UTF-8: {problem}") from None
        self._settings = changed(self._settings, lines)
        return Reply()

    def _get_settings(self, call: Call) -> Reply:
        return Reply(body=as_lines(self._settings).encode())


def _topic_list(topics: Iterable[str]) -> Reply:
    return Reply(body=loosejson.dumps(TopicList(topic_list=list(topics))))


def _strict(route: TopicRouteData) -> bytes:
    """Quoted keys and ASCII only, which readers without the dialect need."""
    body = loosejson.dumps(route)
    return body if body.isascii() else json.dumps(json.loads(body), separators=(",", ":")).encode()
