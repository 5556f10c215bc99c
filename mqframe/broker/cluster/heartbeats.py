"""Heartbeats of clients, members of groups, and the notices of their changes (wire.md §4).

Source: ClientManageProcessor.java.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from mqframe.broker.consuming.filters import Filters
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.client_bodies import CheckClientBody, ConsumerData, ConsumerList, HeartbeatData
from mqframe.core.cluster.client_registry import BROADCASTING, Member
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import retry_queues
from mqframe.core.errors import ConnectionLost, Refusal, TooMuchInFlight
from mqframe.core.messages.names import retry_topic
from mqframe.core.requests.consumers import (
    CheckClientConfig,
    GetConsumerListByGroup,
    HeartBeat,
    NotifyConsumerIdsChanged,
    UnregisterClient,
)
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import Periodic
from mqframe.log import get_logger

log = get_logger("broker")

SCAN_SECONDS = 10.0
NAME_CHARS_MAX: Final = 1024
"""Longest client id, and longest name of a producer group."""
NOTICES: Final = 128
"""Members that are notified of a change in one turn of the loop."""
_UNIT_SUBSCRIPTION = 2  # TopicSysFlag.java


class HeartbeatProcessor(Processor):
    """Keeps the registry of clients, and notifies the members of a group when it changes."""

    def __init__(self, shared: Shared, filters: Filters) -> None:
        super().__init__(shared)
        self._filters = filters
        self._changed: dict[str, None] = {}
        self._to_notify: deque[tuple[str, Peer]] = deque()
        self._notices_left = NOTICES

    def periodic(self) -> list[Periodic]:
        """Looks for clients whose heartbeats stopped."""
        return [Periodic(SCAN_SECONDS, self.close_silent, "silent clients")]

    def connection_closed(self, peer: Peer) -> None:
        """Let the client behind `peer` go from all its groups."""
        for name in self._clients.drop(peer):
            self._left(name)
            self._notify(name)

    def close_silent(self) -> None:
        """Close the connections of clients whose heartbeats stopped."""
        seconds = self._live.current.client_silent_ms / 1000
        for peer in self._clients.silent(seconds):
            log.warning("client is silent", peer=peer.address)
            self.connection_closed(peer)
            peer.close(f"no heartbeat for {seconds:g} s")

    @serves(HeartBeat)
    def heartbeat(self, fields: HeartBeat, call: Call) -> Reply:
        beat = call.body(HeartbeatData)
        self._check(beat)
        frame, peer = call.frame, call.peer
        fingerprint = beat.heartbeat_fingerprint
        changed = False
        for data in beat.consumer_data_set:
            if fingerprint and self._clients.fingerprint_changed(data.group_name, fingerprint):
                changed = True
            member = Member(peer, beat.client_id, peer.address, frame.language, frame.version)
            self._register_consumer(data, member, without_sub=beat.without_sub and fingerprint != 0)
        for producer in beat.producer_data_set:
            member = Member(peer, beat.client_id, peer.address, frame.language, frame.version)
            self._clients.register_producer(producer.group_name, member)
        return Reply(
            ext={
                "IS_SUPPORT_HEART_BEAT_V2": "true",
                # To the plain form of a heartbeat Apache RocketMQ always says that something changed.
                "IS_SUB_CHANGE": "true" if changed or not fingerprint else "false",
            }
        )

    def _check(self, beat: HeartbeatData) -> None:
        """Raise `Refusal` 29 for a heartbeat that names more than one may."""
        settings = self._live.current
        groups = len(beat.consumer_data_set) + len(beat.producer_data_set)
        subscriptions = [item for data in beat.consumer_data_set for item in data.subscription_data_set]
        chars = sum(len(item.sub_string or "") for item in subscriptions)
        names = [beat.client_id, *(producer.group_name for producer in beat.producer_data_set)]
        for what, found, limit, setting in (
            ("groups", groups, settings.heartbeat_groups_max, "heartbeat_groups_max"),
            ("subscriptions", len(subscriptions), settings.heartbeat_subscriptions_max,
             "heartbeat_subscriptions_max"),
            ("characters of expressions", chars, 4 * settings.expression_chars_max,
             "four times expression_chars_max"),
            ("characters of a name", max(map(len, names)), NAME_CHARS_MAX, "fixed"),
        ):  # fmt: skip
            if found > limit:
                raise Refusal(
                    ResponseCode.INVALID_PARAMETER,
                    f"heartbeat of client {beat.client_id[:NAME_CHARS_MAX]}: {found} {what}, at most {limit} "
                    f"are taken (broker.{setting})",
                )
        for item in subscriptions:
            self._filters.check_length(item.sub_string)

    def _register_consumer(self, data: ConsumerData, member: Member[Peer], *, without_sub: bool) -> None:
        name = data.group_name
        group = self._groups.find_or_create(name, self._live.current.auto_create_groups)
        if group is None:
            return  # its pulls will be told that the group does not exist
        order = any(
            topic is not None and topic.order
            for topic in (self._topics.find(item.topic) for item in data.subscription_data_set)
        )
        self._topics.ensure(
            retry_topic(name),
            retry_queues(group),
            order=order,
            sys_flag=_UNIT_SUBSCRIPTION if data.unit_mode else 0,
        )
        changed = self._clients.register_consumer(data, member, without_sub=without_sub)
        if not without_sub:
            self._filters.table.register(name, data.subscription_data_set)
        if changed and group.notify_consumer_ids_changed_enable:
            self._notify(name)

    @serves(UnregisterClient)
    def unregister(self, fields: UnregisterClient, call: Call) -> Reply:
        if fields.producer_group:
            self._clients.unregister_producer(fields.producer_group, call.peer)
        name = fields.consumer_group
        if name and self._clients.unregister_consumer(name, call.peer):
            self._left(name)
            group = self._groups.find(name)
            if group is None or group.notify_consumer_ids_changed_enable:
                self._notify(name)
        return Reply(ext={})

    @serves(GetConsumerListByGroup)
    def members(self, fields: GetConsumerListByGroup, call: Call) -> Reply:
        name = fields.consumer_group
        group = self._clients.consumers.get(name)
        if group is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"consumer group {name} has no member here")
        return Reply(ext={}, body=dumps(ConsumerList(consumer_id_list=group.client_ids)))

    @serves(CheckClientConfig)
    def check(self, fields: CheckClientConfig, call: Call) -> Reply:
        if call.frame.body:
            subscription = call.body(CheckClientBody).subscription_data
            if subscription is not None:
                self._filters.check(subscription)
        return Reply()

    def _left(self, name: str) -> None:
        if name not in self._clients.consumers:
            self._filters.table.unregister(name)

    def _notify(self, name: str) -> None:
        """The members of a group hear of a change: at once, but if there are thousands, in later turns."""
        self._changed[name] = None
        self._send_notices()

    def _send_notices(self) -> None:
        if self._notices_left == NOTICES:
            asyncio.get_running_loop().call_soon(self._send_more_notices)
        while self._notices_left and (self._to_notify or self._changed):
            if not self._to_notify:
                name = next(iter(self._changed))
                del self._changed[name]
                group = self._clients.consumers.get(name)
                if group is not None and group.message_model != BROADCASTING:
                    self._to_notify.extend((name, peer) for peer in group.members)
                continue
            name, peer = self._to_notify.popleft()
            self._notices_left -= 1
            try:
                peer.oneway(NotifyConsumerIdsChanged(consumer_group=name))
            except (ConnectionLost, TooMuchInFlight):
                continue  # it rebalances by itself every 20 s

    def _send_more_notices(self) -> None:
        self._notices_left = NOTICES
        if self._to_notify or self._changed:
            self._send_notices()
