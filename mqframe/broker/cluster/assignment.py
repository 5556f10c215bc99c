"""Queues assigned by the broker, and whether they are pulled or popped (QUERY_ASSIGNMENT, …).

Source: QueryAssignmentProcessor.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.cluster.strategies import Strategies
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.assignment import POP, PULL, RequestModes, share_out
from mqframe.core.cluster.assignment_bodies import (
    Assignment,
    AssignmentsBody,
    QueryAssignmentBody,
    RequestModeBody,
)
from mqframe.core.cluster.client_registry import BROADCASTING
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import QueueBody
from mqframe.core.errors import BodyError, Refusal, RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.requests.assignment import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.serving import Answer, Call, Reply, serves
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger

log = get_logger("broker")

ROUTE_SECONDS: Final = 30.0
"""How long a route is trusted, as by clients."""
ROUTES_MAX: Final = 4096


class AssignmentProcessor(Processor):
    """Tells members their queues, of all brokers that have the topic."""

    def __init__(
        self,
        shared: Shared,
        modes: RequestModes,
        registration: NameServerRegistration,
        strategies: Strategies,
    ) -> None:
        super().__init__(shared)
        self._modes = modes
        self._registration = registration
        self._routes: dict[str, tuple[float, tuple[MessageQueue, ...]]] = {}
        self._strategies = strategies

    @serves(SetMessageRequestMode)
    def set_mode(self, fields: SetMessageRequestMode, call: Call) -> Reply:
        body = call.body(RequestModeBody)
        if body.topic.startswith(RETRY_PREFIX):
            raise Refusal(ResponseCode.NO_PERMISSION, f"retry topic {body.topic} is always pulled")
        self._topics.need(body.topic)
        self._groups.need(body.consumer_group, self._live.current.auto_create_groups)
        if body.mode not in (PULL, POP):
            raise Refusal(
                ResponseCode.INVALID_PARAMETER, f"mode {body.mode!r}: a topic is read by PULL or POP"
            )
        self._modes.put(body)
        return Reply()

    @serves(GetAllMessageRequestMode)
    def all_modes(self, fields: GetAllMessageRequestMode, call: Call) -> Answer:
        return self._modes.dump()

    @serves(QueryAssignment)
    async def assign(self, fields: QueryAssignment, call: Call) -> AssignmentsBody:
        body = call.body(QueryAssignmentBody)
        default, share = self._live.current.request_mode, self._live.current.pop_share_queues
        mode = self._modes.find(body.topic, body.consumer_group, default, share)
        queues = self._share(body, mode, await self._queues(body.topic))
        if queues is None:
            return AssignmentsBody()
        assignments = [Assignment(QueueBody.of(queue), mode.mode) for queue in queues]
        return AssignmentsBody(assignments)

    def _share(
        self, body: QueryAssignmentBody, mode: RequestModeBody, queues: tuple[MessageQueue, ...]
    ) -> Sequence[MessageQueue] | None:
        """The queues of the member; `None` when that cannot be told, and it keeps what it has."""
        if not queues or body.message_model == BROADCASTING:
            return queues or None
        group = self._clients.consumers.get(body.consumer_group)
        strategy = self._strategies.find(body.strategy_name)
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
        return tuple(self._queue(topic, number) for number in range(count))
