"""The members of a group, as those see each other who share a topic."""

from __future__ import annotations

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.cluster.client_bodies import ConsumerList
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import MqframeError, RouteError
from mqframe.core.requests.consumers import GetConsumerListByGroup
from mqframe.core.wire import loose_json


async def group_members(instance: ClientInstance, group: str, route: TopicRoute) -> list[str]:
    """Client ids, by the first broker of the topic that answers. Raises what the last did, if none does."""
    request = GetConsumerListByGroup(group)
    problem: MqframeError = RouteError(f"the route of topic {route.topic} names no broker")
    for broker_name in sorted(route.addresses()):
        address = route.any_address(broker_name)
        if address is None:
            continue
        try:
            answer = await instance.call(address, request)
        except MqframeError as failure:
            problem = failure
            continue
        return loose_json.decode(bytes(answer.body), ConsumerList).consumer_id_list
    raise problem
