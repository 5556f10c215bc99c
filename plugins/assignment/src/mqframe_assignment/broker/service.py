"""The broker service `assignment`: which queues members have, and whether they pull or pop them.

Source: QueryAssignmentProcessor.java.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mqframe.core.cluster.client_registry import BROADCASTING
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import QueueBody
from mqframe.core.errors import BodyError, Refusal, RouteError
from mqframe.core.measuring.budget import Budget
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.serving import Answer, Call, Reply, serves
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces import BrokerPort, BrokerService, Plugins, SavedTable
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe_assignment.broker.slave_copies import RequestModeCopies, saved_modes
from mqframe_assignment.broker.strategies import Strategies
from mqframe_assignment.requests import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode
from mqframe_assignment.rules.bodies import (
    Assignment,
    AssignmentsBody,
    QueryAssignmentBody,
    RequestModeBody,
)
from mqframe_assignment.rules.request_modes import POP, PULL, RequestModes, share_out
from mqframe_assignment.settings import AssignmentSettings

log = get_logger("broker")

ROUTE_SECONDS: Final = 30.0
"""How long a route is trusted, as by clients."""
ROUTES_MAX: Final = 4096


class AssignmentService(BrokerService):
    """Tells members their queues, of all brokers that have the topic."""

    at_slaves = True
    Settings = AssignmentSettings
    SlaveCopies = RequestModeCopies

    def __init__(self, port: BrokerPort, plugins: Plugins) -> None:
        """`plugins`: where allocation strategies come from."""
        self._port = port
        self._settings = port.settings(AssignmentSettings)
        self._modes = modes = RequestModes()
        self._budget = Budget(
            "request modes",
            "broker.group_rules_max",
            lambda: modes.count,
            lambda: port.administration.settings.group_rules_max,
        )
        modes.admit = self._budget.admit
        self._routes: dict[str, tuple[float, tuple[MessageQueue, ...]]] = {}
        self._strategies = Strategies(plugins)

    def tables(self) -> Sequence[SavedTable]:
        """How groups read topics."""
        return (saved_modes(self._modes),)

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """Offers "assignment.modes": the table of how groups read topics, which slaves copy into."""
        return {"assignment.modes": lambda: self._modes}

    def counters(self) -> Mapping[str, str]:
        """How many modes were set, and the most that may be."""
        return self._budget.counters()

    @serves(SetMessageRequestMode)
    def set_mode(self, fields: SetMessageRequestMode, call: Call) -> Reply:
        body = call.body(RequestModeBody)
        if body.topic.startswith(RETRY_PREFIX):
            raise Refusal(ResponseCode.NO_PERMISSION, f"retry topic {body.topic} is always pulled")
        self._port.topics.need(body.topic)
        administration = self._port.administration
        creates = administration.settings.auto_create_groups
        administration.tables.groups.need(body.consumer_group, creates)
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
        usual = self._settings.current
        mode = self._modes.find(body.topic, body.consumer_group, usual.request_mode, usual.pop_share_queues)
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
        group = self._port.clients.consumers.get(body.consumer_group)
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
        now = self._port.clock.monotonic()
        known = self._routes.get(topic)
        if known is not None and now < known[0]:
            return known[1]
        answer = await self._port.ask_nameservers(GetRouteinfoByTopic(topic=topic))
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
        found = self._port.topics.find(topic)
        count = 0 if found is None else found.read_queue_nums
        broker = self._port.identity.name
        return tuple(MessageQueue(topic, broker, number) for number in range(count))


@hookimpl
def register_broker_services() -> Factories:
    """`assignment`."""
    return {"assignment": AssignmentService}
