"""Queues assigned by the broker, and whether they are pulled or popped: 400 to 402.

Source: QueryAssignmentProcessor.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from mqframe.broker.identity import Identity
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part
from mqframe.broker.registration import Registration
from mqframe.core.bodies import QueueBody, TopicRouteData
from mqframe.core.client_registry import BROADCASTING, ClientRegistry
from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BodyError, PluginError, Refusal, RouteError, SettingError
from mqframe.core.group_table import GroupTable
from mqframe.core.loosejson import decode, dumps
from mqframe.core.message import MessageQueue
from mqframe.core.pop_assignment import POP, PULL, RequestModes, share_out
from mqframe.core.pop_bodies import (
    Assignment,
    AssignmentsBody,
    QueryAssignmentBody,
    RequestModeBody,
)
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.pop import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode
from mqframe.core.route import TopicRoute
from mqframe.core.topic_table import TopicTable
from mqframe.core.topics import RETRY_PREFIX
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.manager import default_manager
from mqframe.log import get_logger
from mqframe.net.call import Call, Handler, Reply
from mqframe.net.peer import Peer

log = get_logger("broker")

ROUTE_SECONDS: Final = 30.0
"""How long a route is trusted, as by clients."""
ROUTES_MAX: Final = 4096


class AssignmentProcessor(Part):
    """Tells members their queues, of all brokers that have the topic."""

    def __init__(
        self,
        modes: RequestModes,
        topics: TopicTable,
        groups: GroupTable,
        clients: ClientRegistry[Peer],
        registration: Registration,
        identity: Identity,
        live: LiveSettings,
        clock: Clock,
    ) -> None:
        self._modes = modes
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._registration = registration
        self._identity = identity
        self._live = live
        self._clock = clock
        self._routes: dict[str, tuple[float, tuple[MessageQueue, ...]]] = {}
        self._strategies: dict[str, AllocationStrategy] | None = None

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            QueryAssignment.CODE: self._assign,
            SetMessageRequestMode.CODE: self._set_mode,
            GetAllMessageRequestMode.CODE: self._all_modes,
        }

    def _set_mode(self, call: Call) -> Reply:
        body = decode(memoryview(call.frame.body), RequestModeBody)
        if body.topic.startswith(RETRY_PREFIX):
            raise Refusal(ResponseCode.NO_PERMISSION, f"retry topic {body.topic} is always pulled")
        if body.topic not in self._topics:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {body.topic} does not exist on this broker")
        if self._groups.find_or_create(body.consumer_group, self._live.current.auto_create_groups) is None:
            raise Refusal(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"consumer group {body.consumer_group} does not exist",
            )
        if body.mode not in (PULL, POP):
            raise Refusal(
                ResponseCode.INVALID_PARAMETER, f"mode {body.mode!r}: a topic is read by PULL or POP"
            )
        self._modes.put(body)
        return Reply()

    def _all_modes(self, call: Call) -> Reply:
        return Reply(body=dumps(self._modes.dump()))

    async def _assign(self, call: Call) -> Reply:
        body = decode(memoryview(call.frame.body), QueryAssignmentBody)
        settings = self._live.current
        mode = self._modes.find(
            body.topic, body.consumer_group, settings.request_mode, settings.pop_share_queues
        )
        queues = self._share(body, mode, await self._queues(body.topic))
        if queues is None:
            return Reply(body=dumps(AssignmentsBody()))
        assignments = [Assignment(QueueBody.of(queue), mode.mode) for queue in queues]
        return Reply(body=dumps(AssignmentsBody(assignments)))

    def _share(
        self, body: QueryAssignmentBody, mode: RequestModeBody, queues: tuple[MessageQueue, ...]
    ) -> Sequence[MessageQueue] | None:
        """The queues of the member; `None` when that cannot be told, and it keeps what it has."""
        if not queues or body.message_model == BROADCASTING:
            return queues or None
        group = self._clients.consumers.get(body.consumer_group)
        strategy = self._strategy(body.strategy_name)
        if group is None or strategy is None:
            log.warning(
                "no assignment",
                group=body.consumer_group,
                topic=body.topic,
                strategy=body.strategy_name,
                members=0 if group is None else len(group.members),
            )
            return None
        members = sorted(group.client_ids)
        split = partial(strategy.allocate, body.consumer_group)
        if mode.mode == POP:
            return share_out(body.client_id, queues, members, mode.pop_share_queue_num, split)
        return split(body.client_id, queues, members)

    async def _queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """All queues of a topic that can be read, sorted; those of this broker when nobody knows more."""
        now = self._clock.monotonic()
        known = self._routes.get(topic)
        if known is not None and now < known[0]:
            return known[1]
        answer = await self._registration.ask(GetRouteinfoByTopic(topic=topic))
        if answer is None or answer.code != ResponseCode.SUCCESS:
            return self._own_queues(topic)
        try:
            queues = TopicRoute(topic, decode(memoryview(answer.body), TopicRouteData)).read_queues()
        except (BodyError, RouteError) as problem:
            log.warning("route cannot be read", topic=topic, problem=str(problem))
            return self._own_queues(topic)
        if len(self._routes) >= ROUTES_MAX:
            self._routes.clear()
        self._routes[topic] = (now + ROUTE_SECONDS, queues)
        return queues

    def _own_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        found = self._topics.find(topic)
        count = 0 if found is None else found.read_queue_nums
        return tuple(MessageQueue(topic, self._identity.name, number) for number in range(count))

    def _strategy(self, wire_name: str | None) -> AllocationStrategy | None:
        """The installed strategy that RocketMQ knows under this name."""
        if self._strategies is None:
            manager = default_manager()
            self._strategies = {}
            for name in manager.names("allocation"):
                try:
                    strategy: AllocationStrategy = manager.create("allocation", name)
                except (PluginError, SettingError):
                    continue  # it needs options that only a client has
                self._strategies[strategy.wire_name] = strategy
        return self._strategies.get(wire_name or "")
