"""Producers and consumers that are connected, as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mqframe.broker.metrics.naming import flag, is_system, language, version
from mqframe.broker.metrics.traffic import TURN_COUNTS
from mqframe.core.cluster.client_registry import ClientRegistry, Member
from mqframe.core.measuring.family import Family, Kind
from mqframe.core.requests.peer import Peer
from mqframe.net.turns import in_turns

_MODES = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
_PROTOCOL = "remoting"


async def connections(clients: ClientRegistry[Peer]) -> tuple[Family, Family]:
    """Members of producer groups, and of each consumer group."""
    producers = Family(
        "rocketmq_producer_connections",
        Kind.GAUGE,
        "Members of producer groups.",
        ("language", "version", "protocol_type"),
    )
    spoken_by: Counter[tuple[str, str]] = Counter()
    async for some in in_turns(tuple(clients.producers.values()), TURN_COUNTS):
        for members in some:
            spoken_by.update(await _kinds(members))
    for (spoken, which), count in spoken_by.items():
        producers.add(count, spoken, which, _PROTOCOL)
    consumers = Family(
        "rocketmq_consumer_connections",
        Kind.GAUGE,
        "Members of consumer groups.",
        ("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
    )
    async for some_groups in in_turns(tuple(clients.consumers.values()), TURN_COUNTS):
        for group in some_groups:
            mode = _MODES.get(group.consume_type or "", "other")
            for (spoken, which), count in (await _kinds(group.members)).items():
                system = flag(is_system("", group.name))
                consumers.add(count, group.name, spoken, which, mode, _PROTOCOL, system)
    return producers, consumers


async def _kinds(members: Mapping[Peer, Member[Peer]]) -> Counter[tuple[str, str]]:
    """How many members speak which language, in which version."""
    found: Counter[tuple[str, str]] = Counter()
    async for some in in_turns(tuple(members.values()), TURN_COUNTS):
        found.update((language(each.language), version(each.version)) for each in some)
    return found
